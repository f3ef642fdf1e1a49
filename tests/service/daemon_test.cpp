#include "plugin/service/daemon.h"

#include "common/node/attachments.h"
#include "common/unique_fd.h"
#include "plugin/observe/events/event_throttle.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"
#include "tests/support/write_attachment.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr const char* kHostdev = "nvidia.com/hostdev";

// A daemon on a thread of its own; what it finds on the node is for the test to say.
class Running {
 public:
  Running(const TempDir& folder, Registration registration, std::vector<Pool> first,
          const std::string& log = "/dev/null", Daemon::Options::CareForFreed care_for_freed = {})
      : pools_(std::move(first)),
        config_(any_config(folder.path("config.json"))),
        kubelet_({.kubelet_root = folder.path(),
                  .registration = registration,
                  .places = {.sys = SysRoot(folder.path()),
                             .device_info_dir = folder.path("di"),
                             .run_dir = folder.path("run")},
                  .stream_patience = milliseconds{50}},
                 log_),
        daemon_({.publishers = {&kubelet_},
                 .times = {.ask_while_waiting = milliseconds{100}, .orphaned_after = milliseconds{1}},
                 .rescan_interval = std::chrono::hours{1},
                 .cni_state_dir = folder.path("cni"),
                 .sweep_program = folder.path("sweep"),
                 .read_pools = [this](const Config&, const Changed&) { return read_pools(); },
                 .care_for_freed = std::move(care_for_freed),
                 .config = config_,
                 .status = &status_},
                log_) {
    (void)log_.open_file(log);
    thread_ = std::thread([this] { started_ = bool(daemon_.run()); });
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { stop(); }

  size_t orphaned() const { return status_.get()->orphans.size(); }

  void now(std::vector<Pool> pools) {
    {
      const std::lock_guard lock(mutex_);
      pools_ = std::move(pools);
      broken_ = false;
    }
    daemon_.rescan();
  }
  int scans() const { return scans_; }
  // A device that the node has and nobody can read.
  void now_unread(std::vector<Pool> pools, const std::string& id) {
    {
      const std::lock_guard lock(mutex_);
      unread_ = {{id, "EIO"}};
    }
    now(std::move(pools));
  }
  void break_scan() {
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    daemon_.rescan();
  }
  void stop() {
    daemon_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Result<Pools> read_pools() {
    const std::lock_guard lock(mutex_);
    ++scans_;
    if (broken_) return Error{Errc::system, 0, "no sysfs today"};
    Pools out;
    out.pools = pools_;
    out.unread = unread_;
    return out;
  }

  std::mutex mutex_;
  std::vector<Pool> pools_;
  std::vector<UnreadDevice> unread_;
  bool broken_ = false;
  std::atomic<int> scans_{0};
  bool started_ = false;
  Log log_;
  LiveStatus status_;
  ConfigSource config_;
  KubeletPublisher kubelet_;
  Daemon daemon_;
  std::thread thread_;
};

std::string socket_of(const TempDir& folder, Registration registration) {
  return socket_folder(folder.path(), registration) + "/nvidia.com_hostdev.sock";
}

bool registered_again(const TestKubelet& kubelet, int times, size_t devices) {
  return kubelet.wait(kDeadline, [&](const KubeletNode& node) {
    const auto at = node.find(kHostdev);
    return at != node.end() && at->second.registrations >= times && at->second.connected &&
           at->second.allocatable() == devices;
  });
}

bool says(const TempDir& folder, const std::string& text) {
  return eventually([&] { return read_text(folder.path("log")).find(text) != std::string::npos; });
}

const std::vector<std::string> kTwo{"0000:03:02.1", "0000:03:02.2"};

}  // namespace

TEST_CASE("a preference that a changed configuration adds or removes reaches kubelet") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Pool pool = make_pool(kTwo);
  Running plugin(folder, way, {pool});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  CHECK_FALSE(kubelet.node().at(kHostdev).prefers);
  const auto reported = [&](bool prefers) {
    return kubelet.wait(kDeadline, [&](const KubeletNode& node) {
      const KubeletResource& resource = node.at(kHostdev);
      return resource.prefers == prefers && resource.connected && resource.allocatable() == 2;
    });
  };
  pool.config.preference = Preference::pack;
  plugin.now({pool});
  CHECK(reported(true));
  pool.config.preference = Preference::none;
  plugin.now({pool});
  CHECK(reported(false));
}

TEST_CASE("a record that outlives its pod is logged with the pod's name, and swept, once") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  const Attachments attachments(folder.path("cni"));
  Record record;
  record.attachment = {"c1", "net1"};
  record.network = "rail0";
  record.device_key = kTwo[0];
  record.cni_args = "K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0";
  write_attachment(attachments, record);
  std::ofstream(folder.path("sweep")) << "#!/bin/sh\necho $1 >> " << folder.path("swept") << '\n';
  fs::permissions(folder.path("sweep"), fs::perms::owner_all);
  const Pool two = make_pool(kTwo);
  Running plugin(folder, Registration::watcher, {two}, folder.path("log"));
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  bool swept = false;
  for (int i = 0; i < 10 && !swept; ++i) swept = eventually([&] { return fs::exists(folder.path("swept")); });
  CHECK(swept);
  CHECK(eventually([&] { return plugin.orphaned() == 1; }));
  // Which devices are attached cannot be read any more: what is known of them stays.
  fs::rename(folder.path("cni/devices"), folder.path("cni/aside"));
  std::ofstream(folder.path("cni/devices")) << "no folder";
  // Kubelet is asked again when a list changes.
  for (const Pool& pool : {make_pool({kTwo[0]}), two}) {
    plugin.now({pool});
    REQUIRE(kubelet.wait_for(kHostdev, pool.devices.size(), kDeadline));
  }
  CHECK(eventually([&] {
    return read_text(folder.path("log")).find("cannot read which devices are attached") != std::string::npos;
  }));
  CHECK(plugin.orphaned() == 1);
  plugin.stop();
  CHECK(read_text(folder.path("swept")) == "sweep\n");
  CHECK(read_text(folder.path("log")).find("net1 of pod demo/trainer-0, network rail0") != std::string::npos);
}

TEST_CASE(
    "files of freed devices are cared for after each answer of kubelet, and it is asked again for them") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  DevicesInUse in_use;
  in_use.resources[kHostdev][kTwo[1]] = {"default", "p", "c"};
  kubelet.pod_resources().set(in_use);
  Record record;
  record.attachment = {"c1", "net1"};
  record.device_key = kTwo[1];
  write_attachment(Attachments(folder.path("cni")), record);
  std::atomic<int> calls{0};
  std::atomic<bool> knew{true};
  const auto care = [&](const DevicesInUse& now, const AttachedDevices& attached,
                        Daemon::Time asked) -> std::optional<Daemon::Time> {
    const bool knows = now.find(kHostdev, kTwo[1]) != nullptr && attached.contains(kTwo[1]);
    knew = knew && knows && asked <= std::chrono::steady_clock::now();
    ++calls;
    return std::chrono::steady_clock::now() + milliseconds{10};
  };
  Running plugin(folder, Registration::watcher, {make_pool(kTwo)}, "/dev/null", care);
  CHECK(eventually([&] { return calls >= 3; }));
  CHECK(knew);
  // Not knowing what is attached is no reason to remove anything.
  fs::rename(folder.path("cni/devices"), folder.path("cni/aside"));
  std::ofstream(folder.path("cni/devices")) << "no folder";
  const int answered = kubelet.pod_resources().calls();
  for (const Pool& pool : {make_pool({kTwo[1]}), make_pool(kTwo)}) {
    plugin.now({pool});
    REQUIRE(kubelet.wait_for(kHostdev, pool.devices.size(), kDeadline));
  }
  CHECK(eventually([&] { return kubelet.pod_resources().calls() > answered; }));
  plugin.stop();
  CHECK(knew);
}

TEST_CASE("a pod gets the devices that the resource's preference proposes") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Pool pool = make_pool({"0000:03:02.1", "0000:03:02.2", "0000:41:02.1", "0000:41:02.2"});
  for (PoolDevice& device : pool.devices) device.facts.pf = PciAddress{0, device.facts.address.bus, 0, 0};
  Pool other = pool;
  other.config.name = "other";
  pool.config.preference = Preference::distinct_pf;
  const Running plugin(folder, way, {pool, other});
  REQUIRE(kubelet.wait_for(kHostdev, 4, kDeadline));
  REQUIRE(kubelet.wait_for("nvidia.com/other", 4, kDeadline));
  CHECK(kubelet.choose(kHostdev, 2) == std::vector<std::string>{"0000:03:02.1", "0000:41:02.1"});
  CHECK(kubelet.choose(kHostdev, 4).size() == 4);
  // Without a preference it is not asked.
  CHECK_FALSE(kubelet.node().at("nvidia.com/other").prefers);
  CHECK(kubelet.choose("nvidia.com/other", 2) == std::vector<std::string>{"0000:03:02.1", "0000:03:02.2"});
}

TEST_CASE("a resource is registered, in both ways") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  const Running plugin(folder, way,
                       {make_pool(kTwo), make_pool({"0000:03:02.3"}, "other"), make_pool({}, "none")});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  REQUIRE(kubelet.wait_for("nvidia.com/other", 1, kDeadline));
  CHECK(kubelet.node().at(kHostdev).devices[1].id == "0000:03:02.2");
  CHECK(kubelet.node().count("nvidia.com/none") == 0);
  CHECK(mode_of(socket_of(folder, way)) == 0600);
}

TEST_CASE("a restarted kubelet gets every resource again") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  const Running plugin(folder, way, {make_pool(kTwo), make_pool({"0000:03:02.3"}, "other")});
  REQUIRE(kubelet.wait_for("nvidia.com/other", 1, kDeadline));
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  for (int round = 2; round < 5; ++round) {
    kubelet.restart();
    CHECK(registered_again(kubelet, round, 2));
    CHECK(kubelet.wait_for("nvidia.com/other", 1, kDeadline));
  }
}

TEST_CASE("a kubelet that is killed and starts later finds the socket that was there") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  const Running plugin(folder, Registration::watcher, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  const FileIdentity before = identify(socket_of(folder, Registration::watcher));
  kubelet.stop();
  // What a process leaves that is killed.
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  kubelet_socket(folder.path()).copy(address.sun_path, sizeof address.sun_path - 1);
  {
    const UniqueFd dead(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  std::this_thread::sleep_for(milliseconds{300});  // several times the patience of this plugin
  CHECK(identify(socket_of(folder, Registration::watcher)) == before);
  fs::remove(address.sun_path);
  kubelet.start();
  CHECK(registered_again(kubelet, 2, 2));
  CHECK(identify(socket_of(folder, Registration::watcher)) == before);
}

TEST_CASE("a socket that is removed is created and registered again") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  const Running plugin(folder, way, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  for (int round = 2; round < 5; ++round) {
    REQUIRE(fs::remove(socket_of(folder, way)));
    CHECK(registered_again(kubelet, round, 2));
  }
}

TEST_CASE("a folder that is created again gets its sockets again") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  const Running plugin(folder, way, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  kubelet.stop();
  fs::rename(socket_folder(folder.path(), way), folder.path("old"));
  fs::create_directory(socket_folder(folder.path(), way));
  kubelet.start();
  CHECK(registered_again(kubelet, 2, 2));
}

TEST_CASE("a refused registration is tried again") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  kubelet.refuse(2);
  const Running plugin(folder, way, {make_pool(kTwo)});
  CHECK(kubelet.wait_for(kHostdev, 2, kDeadline));
  CHECK(kubelet.node().at(kHostdev).registrations == 1);
}

TEST_CASE("a kubelet that comes after the plugin is found") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  fs::create_directory(socket_folder(folder.path(), way));
  const Running plugin(folder, way, {make_pool(kTwo)});
  REQUIRE(eventually([&] { return fs::exists(socket_of(folder, way)); }));
  const TestKubelet kubelet(folder.path());
  CHECK(kubelet.wait_for(kHostdev, 2, kDeadline));
}

TEST_CASE("kubelet follows the devices of the node") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running plugin(folder, Registration::watcher, {make_pool({})});
  plugin.now({make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  plugin.now({make_pool({"0000:03:02.1", "0000:03:02.2", "0000:03:02.3"})});
  CHECK(kubelet.wait_for(kHostdev, 3, kDeadline));
  plugin.break_scan();
  plugin.now({make_pool({})});
  CHECK(kubelet.wait_for(kHostdev, 0, kDeadline));
  CHECK(kubelet.node().at(kHostdev).connected);
  plugin.now({make_pool(kTwo)});
  CHECK(kubelet.wait_for(kHostdev, 2, kDeadline));
  CHECK(kubelet.node().at(kHostdev).registrations == 1);
  CHECK(kubelet.node().at(kHostdev).lists == 4);
}

TEST_CASE("in the host's network namespace events take the place of frequent scans, elsewhere they do not") {
  const bool is_host = GENERATE(true, false);
  const TempDir folder;
  fs::create_directories(folder.path("plugins_registry"));
  Log log;
  (void)log.open_file("/dev/null");
  KernelEvents events(log);
  ConfigSource config = any_config(folder.path("config.json"));
  std::atomic<int> scans{0};
  const auto count = [&](const Config&, const Changed&) -> Result<Pools> {
    ++scans;
    return Pools();
  };
  // Which of the two intervals is the one: with the other there is one scan, and those that the machine's own
  // events bring about, which the throttle keeps below kMany until the deadline.
  constexpr milliseconds kShort{1};
  constexpr milliseconds kLong = std::chrono::hours{1};
  constexpr auto kMany = kDeadline / EventThrottle::kApart + 2;
  Daemon daemon({.publishers = {},
                 .rescan_interval = is_host ? kLong : kShort,
                 .quiet_interval = is_host ? kShort : kLong,
                 .own_netns_is_host = is_host,
                 .read_pools = count,
                 .config = config,
                 .events = &events},
                log);
  std::thread thread([&] { (void)daemon.run(); });
  CHECK(eventually([&] { return scans >= kMany; }));
  daemon.stop();
  thread.join();
}

namespace {

// Something that happens all the time to one device, by an eventfd that is always readable.
class Restless : public EventSource {
 public:
  std::vector<int> fds() const override { return {fd_.get()}; }
  std::optional<Event> read() override { return Event{"again", {.devices = {"0000:03:02.1"}}}; }

 private:
  const UniqueFd fd_{::eventfd(1, EFD_CLOEXEC)};
};

}  // namespace

TEST_CASE("a scan after an event is about its device, and a storm does not postpone that of the whole node") {
  const TempDir folder;
  Log log;
  (void)log.open_file("/dev/null");
  KernelEvents events(log);
  events.add(std::make_unique<Restless>());
  ConfigSource config = any_config(folder.path("config.json"));
  std::atomic<int> whole{0};
  std::atomic<int> of_device{0};
  const auto count = [&](const Config&, const Changed& changed) -> Result<Pools> {
    ++(changed.everything ? whole : of_device);
    if (!changed.everything) CHECK(changed.devices.contains("0000:03:02.1"));
    return Pools();
  };
  // The timer alone would let an hour pass, because the events cover what changes.
  Daemon daemon({.publishers = {},
                 .rescan_interval = milliseconds{2000},
                 .quiet_interval = std::chrono::hours{1},
                 .own_netns_is_host = true,
                 .read_pools = count,
                 .config = config,
                 .events = &events},
                log);
  std::thread thread([&] { (void)daemon.run(); });
  CHECK(eventually([&] { return whole >= 3; }));
  CHECK(of_device > whole);
  daemon.stop();
  thread.join();
}

TEST_CASE("a node that cannot be read changes nothing") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running plugin(folder, Registration::watcher, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  plugin.break_scan();
  plugin.now({make_pool({"0000:03:02.1"})});
  REQUIRE(kubelet.wait_for(kHostdev, 1, kDeadline));
  CHECK(kubelet.node().at(kHostdev).lists == 2);
}

TEST_CASE(
    "a device that cannot be read stays in the list, the others are updated, and the log has the reason") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running plugin(folder, Registration::watcher, {make_pool(kTwo)}, folder.path("log"));
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  plugin.now_unread({make_pool({kTwo[1], "0000:03:02.3", "0000:03:02.4"})}, kTwo[0]);
  CHECK(kubelet.wait_for(kHostdev, 4, kDeadline));
  CHECK(says(folder, kTwo[0] + ": EIO"));
}

TEST_CASE("a shared pool keeps its units while its only device cannot be read") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  const auto shared = [](const std::vector<std::string>& devices) {
    Pool out = make_pool(devices, "hca");
    out.config.unit = UnitKind::shared;
    out.config.units = 100;
    return out;
  };
  Running plugin(folder, Registration::watcher, {shared({"0000:05:00.0"}), make_pool(kTwo)});
  REQUIRE(kubelet.wait_for("nvidia.com/hca", 100, kDeadline));
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  plugin.now_unread({shared({}), make_pool({kTwo[0], kTwo[1], "0000:03:02.3"})}, "0000:05:00.0");
  REQUIRE(kubelet.wait_for(kHostdev, 3, kDeadline));
  plugin.now({shared({}), make_pool({kTwo[0], kTwo[1], "0000:03:02.3", "0000:03:02.4"})});
  REQUIRE(kubelet.wait_for(kHostdev, 4, kDeadline));
  CHECK(kubelet.node().at("nvidia.com/hca").allocatable() == 100);
  CHECK(kubelet.node().at("nvidia.com/hca").lists == 1);
}

namespace {

// A container has the first of two devices, which scans no longer see.
struct VanishedDevice {
  const TempDir folder;
  TestKubelet kubelet{folder.path()};
  Running plugin{folder, Registration::watcher, {make_pool(kTwo)}};

  VanishedDevice() {
    REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
    kubelet.give(kHostdev, {kTwo[0]}, {"default", "p", "c"});
    const int before = plugin.scans();
    plugin.now({make_pool({kTwo[1]})});
    // The scan that does not see it, and the next one, which kubelet's answer brings about.
    for (int i = 0; i < 60 && plugin.scans() < before + 2; ++i)
      (void)eventually([&] { return plugin.scans() >= before + 2; });
    REQUIRE(plugin.scans() >= before + 2);
  }
};

}  // namespace

TEST_CASE("the device of a container stays in the list while it moves, though no scan sees it") {
  VanishedDevice node;
  node.plugin.now({make_pool({kTwo[0], kTwo[1], "0000:03:02.3"})});
  REQUIRE(node.kubelet.wait_for(kHostdev, 3, kDeadline));
  CHECK(node.kubelet.node().at(kHostdev).lists == 2);
}

TEST_CASE("a device that has vanished leaves the list soon after its container, without any event") {
  VanishedDevice node;
  CHECK(node.kubelet.node().at(kHostdev).devices.size() == 2);
  // The calls that a change brings about are fewer.
  const int asked = node.kubelet.pod_resources().calls();
  REQUIRE(eventually([&] { return node.kubelet.pod_resources().calls() >= asked + 5; }));
  node.kubelet.free({kTwo[0]});
  CHECK(eventually([&] { return node.kubelet.node().at(kHostdev).devices.size() == 1; }));
}

TEST_CASE(
    "at start a device of a pod that another resource would offer is with its own from the first list") {
  const TempDir folder;
  std::mutex mutex;
  std::set<std::string> events;
  TestKubelet kubelet(folder.path(), [&](const std::string& event) {
    const std::lock_guard lock(mutex);
    events.insert(event);
  });
  DevicesInUse in_use;
  in_use.resources[kHostdev][kTwo[0]] = {"default", "p", "c"};
  kubelet.pod_resources().set(in_use);
  Pool own = make_pool({kTwo[1]});
  own.config.selectors.resize(1);
  Pool rest = make_pool({"0000:03:02.3", kTwo[0]}, "rest");
  rest.devices[1].facts.driver = Driver("mlx5_core");  // and no interface
  const Running daemon(folder, Registration::watcher, {own, rest});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  REQUIRE(kubelet.wait_for("nvidia.com/rest", 1, kDeadline));
  const std::lock_guard lock(mutex);
  CHECK_FALSE(events.contains("nvidia.com/rest: 2 devices"));
}

TEST_CASE("kubelet opens a stream again that it dropped") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  const Running plugin(folder, Registration::legacy, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  kubelet.drop_streams();
  REQUIRE(kubelet.wait(kDeadline, [](const KubeletNode& node) { return !node.at(kHostdev).connected; }));
  kubelet.restart();
  CHECK(registered_again(kubelet, 2, 2));
}

TEST_CASE("a kubelet that dropped a stream, and stays, gets the resource again") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  const Running plugin(folder, way, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  for (int round = 2; round < 5; ++round) {
    kubelet.drop_streams();
    CHECK(kubelet.wait(kDeadline, [&](const KubeletNode& node) {
      return node.at(kHostdev).registrations >= round && node.at(kHostdev).allocatable() == 2;
    }));
  }
}

TEST_CASE("a resource that is no longer configured gets an empty list, and then its socket is removed") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running plugin(folder, way, {make_pool(kTwo), make_pool({"0000:03:02.3"}, "other")});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  REQUIRE(kubelet.wait_for("nvidia.com/other", 1, kDeadline));
  plugin.now({make_pool({"0000:03:02.3"}, "other")});
  // The list came before the stream ended: a stream that just ends leaves kubelet with unhealthy devices.
  CHECK(kubelet.wait(kDeadline, [](const KubeletNode& node) {
    return node.at(kHostdev).capacity() == 0 && node.at(kHostdev).lists == 2 && !node.at(kHostdev).connected;
  }));
  CHECK(eventually([&] { return !fs::exists(socket_of(folder, way)); }));
  CHECK(kubelet.node().at("nvidia.com/other").registrations == 1);
  CHECK(kubelet.node().at("nvidia.com/other").lists == 1);
  plugin.now({make_pool({"0000:03:02.3"}, "other"), make_pool(kTwo)});
  CHECK(kubelet.wait_for(kHostdev, 2, kDeadline));
  CHECK(kubelet.node().at("nvidia.com/other").lists == 1);
}

TEST_CASE("stopping removes our sockets and nothing else") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  const std::string foreign = socket_folder(folder.path(), way) + "/somebody.sock";
  std::ofstream(foreign) << "";
  Running plugin(folder, way, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  plugin.stop();
  CHECK_FALSE(fs::exists(socket_of(folder, way)));
  CHECK(fs::exists(foreign));
}

TEST_CASE("a second instance takes over, and the first comes back when it is gone") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running first(folder, way, {make_pool(kTwo)});
  REQUIRE(kubelet.wait_for(kHostdev, 2, kDeadline));
  Running second(folder, way, {make_pool({"0000:03:02.7"})});
  REQUIRE(kubelet.wait_for(kHostdev, 1, kDeadline));
  SECTION("the first stops") {
    first.stop();
    CHECK(fs::exists(socket_of(folder, way)));
    CHECK(kubelet.wait_for(kHostdev, 1, kDeadline));
  }
  SECTION("the second stops") {
    second.stop();
    CHECK(kubelet.wait_for(kHostdev, 2, kDeadline));
  }
}

TEST_CASE("another process that serves the resource is named, with what to do about it") {
  const TempDir folder;
  const TestKubelet kubelet(folder.path());
  Running plugin(folder, Registration::watcher, {make_pool(kTwo)}, folder.path("log"));
  REQUIRE(registered_again(kubelet, 1, 2));
  const std::string path = socket_of(folder, Registration::watcher);
  const std::string other = path + ".other";
  UniqueFd served(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  other.copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(served.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(served.get(), 8) == 0);
  fs::rename(other, path);
  const std::string owner = "by=\"process " + std::to_string(::getpid()) + " (service_tests)\"";
  CHECK(says(folder, "another process serves the resource now, waiting until its socket goes"));
  CHECK(says(folder, owner));
  CHECK(says(folder, "check=\"another DaemonSet"));
  served = UniqueFd();  // the test kubelet has been waiting for its answer
  fs::remove(path);
  CHECK(registered_again(kubelet, 2, 2));
}

TEST_CASE("a kubelet that restarts is not a warning, one that keeps dropping the resource is") {
  const auto way = GENERATE(Registration::watcher, Registration::legacy);
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  Running plugin(folder, way, {make_pool(kTwo)}, folder.path("log"));
  REQUIRE(registered_again(kubelet, 1, 2));
  kubelet.restart();
  REQUIRE(registered_again(kubelet, 2, 2));
  CHECK(says(folder, "info kubelet has restarted"));
  CHECK(read_text(folder.path("log")).find(" warning ") == std::string::npos);
  for (int i = 0; i < 3; ++i) {
    kubelet.drop_streams();
    REQUIRE(registered_again(kubelet, 3 + i, 2));
  }
  CHECK(says(
      folder,
      "warning kubelet repeatedly closed the stream of this resource; another plugin probably registers it"));
  CHECK(says(folder, "check=\"another DaemonSet"));
}

}  // namespace vfrail::test
