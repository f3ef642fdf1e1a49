// `vfrail serve` as kubelet's node runs it: the real program on a fake node.
#include "common/json.h"
#include "common/unique_fd.h"
#include "plugin/observe/metrics/listen_address.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/http_client.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"
#include "tests/support/places.h"

#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <signal.h>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr const char* kHostdev = "nvidia.com/hostdev";

constexpr const char* kConfig =
    R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
  "selectors": {"vendors": ["8086"], "isRdma": true}}]})";

std::vector<std::string> flags(const IgbNode& node, const std::string& config = kConfig) {
  std::ofstream(node.path("config.json")) << config;
  return {"--config-file",     node.path("config.json"), "--root",
          node.root(),         "--kubelet-root",         node.path("k"),
          "--device-info-dir", node.device_info_dir(),   "--run-dir",
          node.run_dir()};
}

std::vector<std::string> with(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Inode numbers of the process's sockets, as /proc/net/* has them.
std::set<std::string> sockets_of(pid_t pid) {
  std::set<std::string> out;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone);
    if (target.rfind("socket:[", 0) == 0) out.insert(target.substr(8, target.size() - 9));
  }
  return out;
}

std::set<std::string> inodes_in(const std::string& table) {
  std::set<std::string> out;
  std::istringstream lines(read_text(table));
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    for (int i = 0; i < 10; ++i) words >> word;  // "inode" is the tenth column
    out.insert(word);
  }
  return out;
}

}  // namespace

TEST_CASE("serve registers, allocates, and leaves the files of pods when it ends") {
  const std::string way = GENERATE("watcher", "legacy");
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const std::string sockets = node.path("k") + (way == "watcher" ? "/plugins_registry" : "/device-plugins");
  std::ofstream(sockets + "/somebody.sock") << "";
  Program program(node, with(flags(node), {"--registration", way}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  const auto devices = kubelet.node().at(kHostdev).devices;
  CHECK(devices.front().id == "0000:21:10.0");
  CHECK(devices.front().numa == std::vector<int64_t>{0});
  CHECK(devices.back().id == "0000:41:10.6");
  CHECK(devices.back().numa == std::vector<int64_t>{1});

  v1beta1::AllocateResponse response;
  REQUIRE(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
  CHECK(response.container_responses(0).devices_size() == 3);
  CHECK(mode_of(sockets + "/nvidia.com_hostdev.sock") == 0600);

  program.signal(way == "watcher" ? SIGTERM : SIGINT);
  CHECK(program.wait(kDeadline) == 0);
  CHECK_FALSE(fs::exists(sockets + "/nvidia.com_hostdev.sock"));
  CHECK(fs::exists(sockets + "/somebody.sock"));
  CHECK(node.written() ==
        std::vector<std::string>{"0000:21:10.2.json", "nvidia.com-hostdev-0000:21:10.2-device.json"});
}

TEST_CASE("QUIT ends serve as TERM does") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  Program program(node, flags(node));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  program.signal(SIGQUIT);
  CHECK(program.wait(kDeadline) == 0);
  CHECK_FALSE(fs::exists(node.path("k/plugins_registry/nvidia.com_hostdev.sock")));
}

TEST_CASE("with CDI the runtime gets the nodes from the spec, which is removed after its device, once free") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const auto words = with(flags(node), {"--use-cdi", "--cdi-dir", node.cdi_dir()});
  {
    Program program(node, words);
    REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
    v1beta1::AllocateResponse response;
    REQUIRE(kubelet.allocate(kHostdev, {{"0000:21:10.2"}, {"0000:21:10.4"}}, response).ok());
    CHECK(response.container_responses(0).devices_size() == 0);
    CHECK(response.container_responses(0).cdi_devices(0).name() == "nvidia.com/net-pci=0000:21:10.2");
    program.signal(SIGTERM);
    REQUIRE(program.wait(kDeadline) == 0);
  }
  const std::string text = read_text(node.cdi_spec("0000:21:10.2"));
  CHECK(fs::exists(node.cdi_spec("0000:21:10.4")));
  node.remove_device("0000:21:10.4");
  kubelet.free({"0000:21:10.4"});
  const Program next(node, words);
  REQUIRE(kubelet.wait_for(kHostdev, 7, kDeadline));
  CHECK(eventually([&] { return !fs::exists(node.cdi_spec("0000:21:10.4")); }));
  CHECK(read_text(node.cdi_spec("0000:21:10.2")) == text);
}

TEST_CASE("the CDI specs of a bundle's devices stay while a container has the unit") {
  constexpr const char* kRails = "nvidia.com/rails";
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const auto words = with(flags(node, R"({"resourceList": [{"resourcePrefix": "nvidia.com",
    "resourceName": "rails", "bundle": true, "selectors": {"vendors": ["8086"], "isRdma": true}}]})"),
                          {"--use-cdi", "--cdi-dir", node.cdi_dir(), "--rescan-interval", "1"});
  {
    Program program(node, words);
    REQUIRE(kubelet.wait_for(kRails, 4, kDeadline));
    v1beta1::AllocateResponse response;
    REQUIRE(kubelet.allocate(kRails, {{"bundle-1"}, {"bundle-2"}}, response).ok());
    program.signal(SIGTERM);
    REQUIRE(program.wait(kDeadline) == 0);
  }
  for (const char* device : {"0000:21:10.2", "0000:41:10.2", "0000:21:10.4", "0000:41:10.4"}) {
    REQUIRE(fs::exists(node.cdi_spec(device)));
    node.remove_device(device);
  }
  kubelet.free({"bundle-2"});
  const Program next(node, words);
  CHECK(eventually([&] {
    return !fs::exists(node.cdi_spec("0000:21:10.4")) && !fs::exists(node.cdi_spec("0000:41:10.4"));
  }));
  CHECK(fs::exists(node.cdi_spec("0000:21:10.2")));
  CHECK(fs::exists(node.cdi_spec("0000:41:10.2")));
}

// Of another file system than /, as a folder of the host that is mounted in a container.
struct MountedFolder {
  std::string path = "/dev/shm/vfrail-cdi-" + std::to_string(::getpid());
  MountedFolder() { fs::create_directories(path); }
  ~MountedFolder() { fs::remove_all(path); }
};

// Reads each spec of the folder, as CDI's library does in a runtime.
class CdiReader {
 public:
  explicit CdiReader(std::string folder)
      : thread_([this, folder = std::move(folder)] {
          for (; !ended_; std::this_thread::sleep_for(milliseconds{2})) {
            std::error_code error;
            for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
              (void)read_text(at->path());
          }
        }) {}
  CdiReader(const CdiReader&) = delete;
  CdiReader& operator=(const CdiReader&) = delete;
  ~CdiReader() {
    ended_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

TEST_CASE("CDI is used where the runtime's configuration says so, in the folder that it reads") {
  const IgbNode node;
  node.fill();
  const MountedFolder mounted;
  TestKubelet kubelet(node.path("k"));
  const auto configure = [&](const std::string& text) {
    fs::create_directories(node.root() + "/etc/containerd");
    std::ofstream(node.root() + "/etc/containerd/config.toml") << text;
  };
  const auto devices = [&](const std::vector<std::string>& words, const std::string& said) {
    Program program(node, with(flags(node), words));
    REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
    v1beta1::AllocateResponse response;
    REQUIRE(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
    program.signal(SIGTERM);
    REQUIRE(program.wait(kDeadline) == 0);
    INFO(program.log());
    CHECK(program.log().find(said) != std::string::npos);
    return response.container_responses(0).devices_size();
  };
  const std::string elsewhere = "version = 3\n[plugins.x]\ncdi_spec_dirs = [\"" + mounted.path + "\"]\n";
  SECTION("nothing is known of the runtime") {
    CHECK(devices({}, "device nodes go by kubelet, without CDI reason=\"whether the container runtime has") ==
          3);
  }
  SECTION("its folder is mounted here") {
    configure(elsewhere);
    CHECK(devices({}, "device nodes go by CDI folder=" + mounted.path) == 0);
    CHECK(fs::exists(mounted.path + "/vfrail-nvidia.com-net-pci-0000:21:10.2.json"));
  }
  // Of containerd 1.7, and of 1.6, which ignores it.
  const std::string older =
      "version = 2\n[plugins.x]\nenable_cdi = true\ncdi_spec_dirs = [\"" + mounted.path + "\"]\n";
  SECTION("an older runtime reads what is written there") {
    configure(older);
    const CdiReader runtime(mounted.path);
    CHECK(devices({}, "device nodes go by CDI folder=" + mounted.path) == 0);
  }
  SECTION("an older runtime reads nothing there, whatever it is configured to") {
    configure(older);
    CHECK(devices({}, "no container runtime has read a spec that was written there") == 3);
    CHECK(fs::is_empty(mounted.path));
  }
  SECTION("its folder is not mounted here") {
    configure("version = 3\n[plugins.x]\ncdi_spec_dirs = [\"" + node.cdi_dir() + "\"]\n");
    CHECK(devices({}, "of the host is not mounted here, at the same path") == 3);
  }
  SECTION("it reads another folder than is asked for") {
    configure(elsewhere);
    CHECK(devices({"--use-cdi", "--cdi-dir", node.cdi_dir()}, "CDI is asked for and cannot work") == 3);
  }
  SECTION("without the peers' flag it is off") {
    configure(elsewhere);
    CHECK(devices({"--use-cdi=false"}, "device nodes go by kubelet, without CDI") == 3);
  }
}

TEST_CASE("a word of --use-cdi that is none is refused") {
  const IgbNode node;
  node.fill();
  Program program(node, with(flags(node), {"--use-cdi=maybe"}));
  CHECK(program.wait(kDeadline) == 2);
  CHECK(program.log().find("--use-cdi: must be one of auto, true, false") != std::string::npos);
}

TEST_CASE("a CDI folder that cannot be created stops serve with the remedy") {
  const IgbNode node;
  node.fill();
  fs::create_directories(node.path("k/plugins_registry"));
  Program program(node, with(flags(node), {"--use-cdi", "--cdi-dir", node.path("config.json/cdi")}));
  CHECK(program.wait(kDeadline) == 1);
  CHECK(program.log().find("--cdi-dir") != std::string::npos);
}

TEST_CASE("HUP rescans the devices") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const Program program(node, flags(node));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  node.remove_device("0000:21:10.4");
  program.signal(SIGHUP);
  CHECK(kubelet.wait_for(kHostdev, 7, kDeadline));
}

TEST_CASE("serve rescans the devices periodically") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const Program program(node, with(flags(node), {"--rescan-interval", "1"}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  node.remove_device("0000:21:10.4");
  CHECK(kubelet.wait_for(kHostdev, 7, kDeadline));
}

TEST_CASE("serve logs every kubelet call, once") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  Program program(node, with(flags(node), {"--log-format", "json"}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  REQUIRE(logs(program, "registered with kubelet"));  // which the list comes before
  v1beta1::AllocateResponse response;
  REQUIRE(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
  REQUIRE_FALSE(kubelet.allocate(kHostdev, {{"0000:21:10.3"}}, response).ok());
  program.signal(SIGTERM);
  REQUIRE(program.wait(kDeadline) == 0);
  std::map<std::string, int> lines;
  std::istringstream log(program.log());
  for (std::string line; std::getline(log, line);) {
    const auto json = Json::parse(line);
    INFO(line);
    REQUIRE(json);
    const std::string message = *json->find("msg")->as_text();
    ++lines[message];
    if (message == "allocated") {
      CHECK(*json->find("resource")->as_text() == kHostdev);
      CHECK(*json->find("devices")->as_text() == "0000:21:10.2");
      std::string nodes;
      for (const auto& one : response.container_responses(0).devices())
        nodes += (nodes.empty() ? "" : ",") + one.container_path();
      CHECK(*json->find("nodes")->as_text() == nodes);
    }
    if (message == "allocate refused") CHECK(*json->find("devices")->as_text() == "0000:21:10.3");
  }
  CHECK(lines["registered with kubelet"] == 1);
  CHECK(lines["kubelet watches the devices"] == 1);
  CHECK(lines["allocated"] == 1);
  CHECK(lines["allocate refused"] == 1);
}

TEST_CASE("serve has metrics at --metrics-address, in a form that promtool accepts") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const auto where = parse_listen_address("unix:" + node.path("m.sock"));
  REQUIRE(where);
  Program program(node, with(flags(node), {"--metrics-address", where->text()}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  CHECK(get(*where, "/healthz").status == 200);
  std::ofstream(node.path("metrics")) << get(*where, "/metrics").body;
  const std::string command = test::source_path("build/tools/promtool") + " check metrics < " +
                              node.path("metrics") + " > " + node.path("said") + " 2>&1";
  INFO("tests/setup fetches promtool");
  CHECK(std::system(command.c_str()) == 0);
  CHECK(read_text(node.path("said")).empty());
  program.signal(SIGTERM);
  CHECK(program.wait(kDeadline) == 0);
  CHECK_FALSE(fs::exists(where->path));
}

TEST_CASE("serve has the reports of inspect and doctor beside its metrics") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const auto where = parse_listen_address("unix:" + node.path("m.sock"));
  REQUIRE(where);
  const Program program(node, with(flags(node), {"--metrics-address", where->text()}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  const HttpAnswer inspect = get(*where, "/inspect");
  INFO(inspect.body);
  CHECK(inspect.status == 200);
  const auto report = Json::parse_object(inspect.body, 8 << 20);
  REQUIRE(report);
  REQUIRE(report->find("resources"));
  REQUIRE(report->find("resources")->as_array()->size() == 1);
  const Json& resource = report->find("resources")->as_array()->front();
  CHECK(*resource.find("name")->as_text() == kHostdev);
  CHECK(resource.find("devices")->as_array()->size() == 8);
  const HttpAnswer doctor = get(*where, "/doctor");
  CHECK(doctor.status == 200);
  const auto checks = Json::parse_object(doctor.body, 8 << 20);
  REQUIRE(checks);
  CHECK_FALSE(checks->find("checks")->as_array()->empty());
}

TEST_CASE("an invalid --metrics-address, or one in use, stops serve with the reason") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  Program wrong(node, with(flags(node), {"--metrics-address", "somewhere"}));
  CHECK(wrong.wait(kDeadline) == 2);
  CHECK(wrong.log().find("--metrics-address") != std::string::npos);
  std::ofstream(node.path("file")) << "precious";
  Program taken(node, with(flags(node), {"--metrics-address", "unix:" + node.path("file")}));
  CHECK(taken.wait(kDeadline) == 1);
  CHECK(taken.log().find("is not a socket") != std::string::npos);
  CHECK(read_text(node.path("file")) == "precious");
}

TEST_CASE("the flag --probe-address serves health and readiness, and neither metrics nor reports") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  const auto where = parse_listen_address("unix:" + node.path("p.sock"));
  REQUIRE(where);
  Program program(node, with(flags(node), {"--probe-address", where->text()}));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  CHECK(get(*where, "/healthz").status == 200);
  // The list comes before kubelet's word that it has registered us.
  CHECK(eventually([&] { return get(*where, "/readyz").status == 200; }));
  // Those have names of pods and devices.
  for (const char* page : {"/metrics", "/inspect", "/doctor"}) CHECK(get(*where, page).status == 404);
  CHECK(get(*where, "/readyz").body == "ok\n");
  Program both(node, with(flags(node), {"--probe-address", where->text(), "--metrics-address", ":0"}));
  CHECK(both.wait(kDeadline) == 2);
  CHECK(both.log().find("--probe-address: --metrics-address serves") != std::string::npos);
  Program wrong(node, with(flags(node), {"--probe-address", "somewhere"}));
  CHECK(wrong.wait(kDeadline) == 2);
  CHECK(wrong.log().find("--probe-address: 'somewhere' is not one of") != std::string::npos);
}

TEST_CASE("a second serve takes over, and its socket survives the end of the first") {
  const IgbNode node;
  node.fill();
  TestKubelet kubelet(node.path("k"));
  Program first(node, flags(node));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  const Program second(node, flags(node), "second.log");
  REQUIRE(
      kubelet.wait(kDeadline, [](const KubeletNode& now) { return now.at(kHostdev).registrations == 2; }));
  first.signal(SIGTERM);
  CHECK(first.wait(kDeadline) == 0);
  CHECK(fs::is_socket(node.path("k") + "/plugins_registry/nvidia.com_hostdev.sock"));
  v1beta1::AllocateResponse response;
  CHECK(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
}

TEST_CASE("serve after a crash replaces the stale socket") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  {
    const Program killed(node, flags(node));
    REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  }
  REQUIRE(fs::is_socket(node.path("k") + "/plugins_registry/nvidia.com_hostdev.sock"));
  const Program next(node, flags(node));
  CHECK(kubelet.wait(kDeadline, [](const KubeletNode& now) {
    return now.at(kHostdev).registrations == 2 && now.at(kHostdev).allocatable() == 8;
  }));
}

TEST_CASE(
    "an interface of a shared device that is down and cannot be brought up is in the log, with the reason") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  // A name that the machine of the test does not have.
  const std::string folder = node.root() + "/sys/bus/pci/devices/0000:21:10.0/net/";
  fs::rename(folder + "eth2", folder + "vfrail-none2");
  fs::remove(node.root() + "/sys/class/net/eth2");
  fs::remove(folder + "vfrail-none2/carrier");  // cannot be read of an interface that is down
  write_tree(node.root(),
             "sys/class/net/vfrail-none2 -> ../../bus/pci/devices/0000:21:10.0/net/vfrail-none2\n");
  std::string why = "it cannot be brought up from here, which is not the host's network namespace";
  SECTION("where the host's network namespace is another one") {}
  SECTION("in the host's network namespace, though --root is not /") {
    write_tree(node.root(), "proc/1/net -> /proc/self/net\n");
    // It is in the tree alone.
    why = "it cannot be brought up: vfrail-none2 is not in this network namespace";
  }
  const Program program(node, flags(node, R"({"configList": [{"resourceName": "hca", "rdmaHcaMax": 4,
    "selectors": {"ifNames": ["vfrail-none2"]}}]})"));
  REQUIRE(kubelet.wait_for("rdma/hca", 4, kDeadline));
  CHECK(logs(program,
             "rdma/hca shares 0000:21:10.0, whose interface vfrail-none2 is administratively down, "
             "and RDMA over Ethernet needs it up: " +
                 why +
                 " (ip link set vfrail-none2 up) resource=rdma/hca device=0000:21:10.0 id=VF-ADMIN-DOWN"));
}

TEST_CASE("without knowing whether this is the host's network namespace serve says so") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  write_tree(node.root(), "proc/1/net/dev -> dev\n");
  const Program program(node, flags(node));
  CHECK(logs(program, "whether this is the host's network namespace is not known"));
  CHECK(program.log().find("proc/1/net/dev: ELOOP") != std::string::npos);
}

TEST_CASE("a device that the host uses is in the log with the reason, and a resource without devices") {
  const IgbNode node;
  node.fill();
  fs::create_directories(node.path("k/plugins_registry"));
  write_tree(node.root(),
             "proc/1/net/route = Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n"
             "proc/1/net/fib_trie = Main:\n");
  std::ofstream(node.root() + "/proc/1/net/route", std::ios::app)
      << "\neth2 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n";
  const Program program(node, flags(node, R"({"resourceList": [{"resourcePrefix": "nvidia.com",
    "resourceName": "uplink", "selectors": {"pciAddresses": ["0000:21:10.0"]}}]})"));
  CHECK(logs(program, "0000:21:10.0 is not advertised: "));
  const std::string log = program.log();
  INFO(log);
  CHECK(log.find("eth2 carries the IPv4 default route (table main)") != std::string::npos);
  CHECK(log.find(" id=VF-HOST-USES-DEVICE") != std::string::npos);
  CHECK(log.find("[VF-") == std::string::npos);
  CHECK(logs(program, "no device of this node matches the resource resource=nvidia.com/uplink"));
}

TEST_CASE("serve opens nothing on the network") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const Program program(node, flags(node));
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  const auto sockets = sockets_of(program.pid());
  CHECK_FALSE(sockets.empty());
  for (const std::string table : {"/proc/net/tcp", "/proc/net/tcp6", "/proc/net/udp", "/proc/net/udp6"}) {
    if (!fs::exists(table)) continue;
    for (const std::string& inode : inodes_in(table)) CHECK(sockets.count(inode) == 0);
  }
}

TEST_CASE("what the peers' DaemonSets start serves: their flags without a subcommand, or their command") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  const std::string vfrail = test::program_path("vfrail");
  const auto named = [&](const std::string& name) {
    fs::create_symlink(vfrail, node.path(name));
    return node.path(name);
  };
  const auto serves = [&](const std::string& command, const std::vector<std::string>& words) {
    // Theirs come first, as the entry point makes it.
    std::vector<std::string> all = words;
    for (const std::string& word : flags(node)) all.push_back(word);
    const Program program(node, all, "serve.log", {command});
    const bool registered = kubelet.wait_for(kHostdev, 8, kDeadline);
    INFO(program.log());
    CHECK(registered);
    return program.log();
  };
  SECTION("sriov-network-device-plugin's, and the network operator's") {
    const std::string log = serves(vfrail, {"--log-dir=sriovdp", "--log-level=10"});
    CHECK(log.find("flag has no effect here, the log goes to stderr flag=--log-dir") != std::string::npos);
    CHECK(log.find(" debug ") != std::string::npos);
  }
  SECTION("with all flags of the entry point") {
    serves(vfrail,
           {"--log-dir=sriovdp", "--log-level=10", "--resource-prefix=mellanox.com", "--use-cdi=false"});
  }
  SECTION("all of glog's") {
    const std::string log = serves(
        vfrail, {"-logtostderr", "-alsologtostderr=false", "-stderrthreshold=2", "-v=10", "-vmodule=a=1",
                 "-log_dir=/var/log", "-log_backtrace_at=a.go:1", "-log_link", "/tmp", "-logbuflevel=-1"});
    CHECK(log.find(" debug ") != std::string::npos);
  }
  SECTION("a log level given by name precedes glog's") {
    CHECK(serves(vfrail, {"-v=10", "--log-level=info"}).find(" debug ") == std::string::npos);
  }
  SECTION("by its path") { serves(named("sriovdp"), {"-logtostderr", "-v", "2"}); }
  SECTION("k8s-rdma-shared-dev-plugin's") { serves(named("k8s-rdma-shared-dp"), {}); }
}

TEST_CASE("a mistake of the administrator is one message and exit code 2") {
  const IgbNode node;
  fs::create_directories(node.path("k/plugins_registry"));
  const auto refused = [&](const std::vector<std::string>& words) {
    Program program(node, words);
    CHECK(program.wait(kDeadline) == 2);
    return program.log();
  };
  const auto one_line = [](const std::string& log) { return std::count(log.begin(), log.end(), '\n') == 1; };
  SECTION("a missing configuration") {
    const std::string log = refused({"--config-file", node.path("none.json")});
    CHECK(log.find("none.json") != std::string::npos);
    CHECK(one_line(log));
  }
  SECTION("a wrong configuration") {
    const std::string log =
        refused(flags(node, R"({"resourceList": [{"resourceName": "a b", "selectors": {}}]})"));
    CHECK(log.find("config.json") != std::string::npos);
    CHECK(one_line(log));
  }
  SECTION("a socket path that is too long") {
    const std::string deep = node.path("k/" + std::string(90, 'x'));
    const std::string log = refused(with(flags(node), {"--kubelet-root", deep}));
    CHECK(log.find("107") != std::string::npos);
    CHECK(one_line(log));
  }
  SECTION("a log level") {
    CHECK(refused(with(flags(node), {"--log-level", "loud"})).find("loud") != std::string::npos);
  }
  SECTION("a log format") {
    CHECK(refused(with(flags(node), {"--log-format", "xml"})).find("xml") != std::string::npos);
  }
  SECTION("a registration mode") {
    CHECK(refused(with(flags(node), {"--registration", "x"})).find("auto") != std::string::npos);
  }
  SECTION("an interval") { refused(with(flags(node), {"--rescan-interval", "0"})); }
  SECTION("a flag") { refused({"--bogus"}); }
}

}  // namespace vfrail::test
