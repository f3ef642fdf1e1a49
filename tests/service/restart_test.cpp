// A thousand restarts of either side, at random: of the plugin, in this process and the program itself,
// killed, and of kubelet; with devices in pods. After each of them kubelet's list and the files of pods are
// what they were.
#include "plugin/device/config/formats/source.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/service/daemon.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/program.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <random>
#include <signal.h>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr const char* kConfig = R"({"resourceList": [
    {"resourcePrefix": "nvidia.com", "resourceName": "rail0",
     "selectors": {"vendors": ["8086"], "isRdma": true, "rootDevices": ["0000:21:00.0"]}},
    {"resourcePrefix": "nvidia.com", "resourceName": "rail1",
     "selectors": {"vendors": ["8086"], "isRdma": true, "rootDevices": ["0000:41:00.0"]}}]})";

// The plugin on threads of this process.
class InProcess {
 public:
  InProcess(const IgbNode& node, Registration way)
      : sys_(node.root()),
        config_(open_config(node.path("config.json"))),
        kubelet_({.kubelet_root = node.path("k"),
                  .registration = way,
                  .places = node.places(),
                  .stream_patience = milliseconds{150}},
                 log_),
        daemon_({.publishers = {&kubelet_},
                 .rescan_interval = std::chrono::hours{1},
                 .read_pools = [this](const Config& config, const Changed&) { return read_pools(config); },
                 .config = config_},
                log_) {
    (void)log_.open_file(node.path("serve.log"));
    thread_ = std::thread([this] { (void)daemon_.run(); });
  }
  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;
  ~InProcess() {
    daemon_.stop();
    thread_.join();
  }

 private:
  Result<Pools> read_pools(const Config& config) const { return match(config, TRY(scan(sys_, nullptr))); }

  const SysRoot sys_;
  Log log_;
  ConfigSource config_;
  KubeletPublisher kubelet_;
  Daemon daemon_;
  std::thread thread_;
};

// What must be the same after everything.
struct Seen {
  std::map<std::string, std::vector<std::string>> lists;  // "0000:21:10.0 Healthy 0"
  std::map<std::string, std::string> files;               // of pods: name and content
  bool operator==(const Seen&) const = default;
};

std::map<std::string, std::vector<std::string>> lists_of(const KubeletNode& node) {
  std::map<std::string, std::vector<std::string>> out;
  for (const auto& [name, resource] : node) {
    for (const KubeletDevice& device : resource.devices) {
      out[name].push_back(device.id + " " + device.health + (resource.connected ? "" : " away"));
      for (const int64_t cell : device.numa) out[name].back() += " " + std::to_string(cell);
    }
  }
  return out;
}

// A node with a kubelet and a plugin, and everything that can happen to them.
class Site {
 public:
  Site(Registration way, unsigned seed) : way_(way), random_(seed), kubelet_(node_.path("k")) {
    node_.fill();
    std::ofstream(node_.path("config.json")) << kConfig;
  }

  void start(bool as_program) {
    if (as_program) {
      program_ = std::make_unique<Program>(node_, flags());
    } else {
      plugin_ = std::make_unique<InProcess>(node_, way_);
    }
  }
  // Both rails, and two devices of pods.
  void settle() {
    REQUIRE(kubelet_.wait_for("nvidia.com/rail0", 4, kDeadline));
    REQUIRE(kubelet_.wait_for("nvidia.com/rail1", 4, kDeadline));
    v1beta1::AllocateResponse response;
    REQUIRE(kubelet_.allocate("nvidia.com/rail0", {{"0000:21:10.2"}}, response).ok());
    REQUIRE(kubelet_.allocate("nvidia.com/rail1", {{"0000:41:10.6"}}, response).ok());
    before_ = {lists_of(kubelet_.node()), files()};
    REQUIRE(before_.files.size() == 4);
  }

  // Something happens; its name. Afterwards everything is as before.
  std::string round() {
    const KubeletNode then = kubelet_.node();
    if (chance(3)) swap_pod();
    const std::string what = act();
    const auto registered_again = [&](const KubeletNode& now) {
      return std::all_of(now.begin(), now.end(), [&](const auto& one) {
        return one.second.registrations > then.at(one.first).registrations;
      });
    };
    const bool healed = kubelet_.wait(kDeadline, [&](const KubeletNode& now) {
      return registered_again(now) && lists_of(now) == before_.lists;
    });
    kubelet_.slow(milliseconds{0});
    kubelet_.refuse(0);
    INFO("after: " << what << "; the log:\n" << read_text(node_.path("serve.log")));
    CHECK(lists_of(kubelet_.node()) == before_.lists);
    CHECK(files() == before_.files);
    REQUIRE(healed);
    return what;
  }

 private:
  bool chance(unsigned in) { return random_() % in == 0; }

  std::string act() {
    if (program_) return act_on_program();
    switch (random_() % 9) {
      case 0:
        kubelet_.restart();
        return "kubelet restarted";
      case 1: {
        kubelet_.stop();
        restart();
        kubelet_.start();
        return "kubelet was away while the plugin restarted";
      }
      case 2:
        remove_sockets();
        return "the sockets were removed";
      case 3: {
        // A rolling update: the next one is there before the last one goes.
        auto next = std::make_unique<InProcess>(node_, way_);
        if (chance(2)) std::this_thread::yield();
        plugin_ = std::move(next);
        return "an instance took over";
      }
      case 4:
        if (!chance(3)) break;
        kubelet_.drop_streams();
        return "the streams were dropped";
      case 5:
        kubelet_.refuse(static_cast<int>(random_() % 3));
        restart();
        return "the plugin restarted and was refused";
      case 6:
        kubelet_.slow(milliseconds{random_() % 50});
        if (chance(2)) {
          restart();
        } else {
          kubelet_.restart();
        }
        return "kubelet answered slowly after a restart";
      case 7:
        register_twice();
        return "registered twice";
      default:
        break;
    }
    restart();
    return "the plugin restarted";
  }

  std::string act_on_program() {
    switch (random_() % 4) {
      case 0:
        kubelet_.restart();
        return "kubelet restarted";
      case 1:
        kubelet_.stop();
        program_.reset();
        program_ = std::make_unique<Program>(node_, flags());
        kubelet_.start();
        return "kubelet was away while the program was killed";
      case 2:
        remove_sockets();
        return "the sockets were removed";
      default:
        program_.reset();  // SIGKILL
        program_ = std::make_unique<Program>(node_, flags());
        return "the program was killed";
    }
  }

  void restart() {
    plugin_.reset();
    plugin_ = std::make_unique<InProcess>(node_, way_);
  }

  std::vector<std::string> sockets() const {
    std::vector<std::string> out;
    for (const char* name : {"/nvidia.com_rail0.sock", "/nvidia.com_rail1.sock"})
      out.push_back(socket_folder(node_.path("k"), way_) + name);
    return out;
  }
  void remove_sockets() const {
    for (const std::string& socket : sockets()) fs::remove(socket);
  }

  void register_twice() const {
    if (way_ == Registration::watcher) {
      // Kubelet depends on the time of a socket, and checks it on events of the folder.
      for (const std::string& socket : sockets()) fs::permissions(socket, fs::perms::owner_all);
      std::ofstream(node_.path("k/plugins_registry/.news")) << "";
      fs::remove(node_.path("k/plugins_registry/.news"));
      return;
    }
    for (const char* resource : {"rail0", "rail1"}) {
      std::promise<void> answered;
      const RegisterCall call({.kubelet_socket = kubelet_socket(node_.path("k")),
                               .endpoint = std::string("nvidia.com_") + resource + ".sock",
                               .resource = std::string("nvidia.com/") + resource,
                               .timeout = kDeadline},
                              [&](const Result<>&) { answered.set_value(); });
      answered.get_future().wait();
    }
  }

  // One more device goes to a pod, or returns: netdev and RDMA device are not in the host meanwhile.
  void swap_pod() {
    const std::string address =
        std::string(chance(2) ? "0000:21:10." : "0000:41:10.") + std::to_string(2 * (random_() % 4));
    const std::string device = node_.root() + "/sys/bus/pci/devices/" + address;
    const bool away = fs::exists(node_.path(address));
    if (!away) fs::create_directory(node_.path(address));
    for (const char* folder : {"/net", "/infiniband"}) {
      const std::string pod = node_.path(address) + folder;
      away ? fs::rename(pod, device + folder) : fs::rename(device + folder, pod);
    }
    if (away) fs::remove(node_.path(address));
  }

  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> out;
    for (const std::string& folder : {node_.device_info_dir(), node_.run_dir() + "/promised"}) {
      for (const auto& entry : fs::directory_iterator(folder))
        out[entry.path().filename()] = read_text(entry.path());
    }
    return out;
  }

  std::vector<std::string> flags() const {
    return {"--config-file",
            node_.path("config.json"),
            "--root",
            node_.root(),
            "--kubelet-root",
            node_.path("k"),
            "--run-dir",
            node_.run_dir(),
            "--device-info-dir",
            node_.device_info_dir(),
            "--log-level",
            "debug",
            "--registration",
            way_ == Registration::watcher ? "watcher" : "legacy"};
  }

  const Registration way_;
  std::mt19937 random_;
  const IgbNode node_;
  TestKubelet kubelet_;
  std::unique_ptr<InProcess> plugin_;
  std::unique_ptr<Program> program_;
  Seen before_;
};

struct Play {
  bool as_program = false;
  int rounds = 0;
  unsigned seed = 0;  // beside that of `service_tests --rng-seed N`
};
void play(Registration way, const Play& how) {
  Site site(way, Catch::rngSeed() + how.seed);
  site.start(how.as_program);
  site.settle();
  std::map<std::string, int> done;
  for (int i = 0; i < how.rounds; ++i) {
    INFO("round " << i << ", seed " << Catch::rngSeed());
    ++done[site.round()];
  }
  for (const auto& [what, times] : done) UNSCOPED_INFO(times << " times: " << what);
  CHECK(done.size() >= 4);
}

}  // namespace

TEST_CASE("450 restarts of either side change nothing for the plugin watcher, the first half", "[sweep]") {
  play(Registration::watcher, {.rounds = 225});
}
TEST_CASE("450 restarts of either side change nothing for the plugin watcher, the second half", "[sweep]") {
  play(Registration::watcher, {.rounds = 225, .seed = 1});
}
TEST_CASE("450 restarts of either side change nothing for legacy registration, the first half", "[sweep]") {
  play(Registration::legacy, {.rounds = 225});
}
TEST_CASE("450 restarts of either side change nothing for legacy registration, the second half", "[sweep]") {
  play(Registration::legacy, {.rounds = 225, .seed = 1});
}

TEST_CASE("50 kills of the program and restarts of kubelet change nothing for the plugin watcher") {
  play(Registration::watcher, {.as_program = true, .rounds = 50});
}
TEST_CASE("50 kills of the program and restarts of kubelet change nothing for legacy registration") {
  play(Registration::legacy, {.as_program = true, .rounds = 50});
}

}  // namespace vfrail::test
