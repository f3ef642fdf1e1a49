// The daemon with a kubelet: the main thread, which is traced, is the daemon's owner thread; another one
// makes the trials.
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/service/daemon.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "tests/inject/plugin_faults.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/support.h"
#include "tests/support/fake_kernel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr const char* kResource = "nvidia.com/hostdev";
constexpr const char* kFurther = R"(, {"resourcePrefix": "nvidia.com", "resourceName": "none",
    "selectors": {"vendors": ["ffff"]}})";
constexpr const char* kLeaver = "0000:41:10.6";
// With a kernel to ask, this one carries the host's default route.
constexpr const char* kUplink = "0000:21:10.4";
constexpr const char* kUplinkName = "eth4";
constexpr int kUplinkIndex = 6;
// Reads that only an InfiniBand function of that vendor has: a partition, and vital product data.
constexpr const char* kInfiniband = R"(
sys/bus/pci/devices/0000:05:00.0/class = 0x020700
sys/bus/pci/devices/0000:05:00.0/vendor = 0x15b3
sys/bus/pci/devices/0000:05:00.0/net/ib0/type = 32
sys/bus/pci/devices/0000:05:00.0/infiniband/mlx5_9/ports/1/state = 4: ACTIVE
sys/bus/pci/devices/0000:05:00.0/infiniband/mlx5_9/ports/1/link_layer = InfiniBand
sys/bus/pci/devices/0000:05:00.0/infiniband/mlx5_9/ports/1/pkeys/0 = 0xffff
sys/bus/pci/devices/0000:05:00.0/vpd = a switch
)";
constexpr milliseconds kDeadline{60'000};  // against hanging

// A device that is not on the node, and that a container has.
constexpr const char* kGoneInUse = "0000:99:00.0";

// What the plugin serves, and of which VFs: few, so that a scan has some hundred calls and not thousands.
struct Served {
  std::vector<std::string> devices;
  size_t units;            // in the list
  size_t units_left;       // once kLeaver has gone, where it goes
  const char* config_key;  // of a list with one entry
  const char* keys;        // of that entry
};

Served served_in(Cause cause) {
  const char* const exclusive = R"("selectors": {"vendors": ["8086"], "isRdma": true})";
  switch (cause) {
    case Cause::shared:
      return {
          {"0000:21:10.0"}, 3, 3, "configList", R"("rdmaHcaMax": 3, "selectors": {"deviceIDs": ["10ca"]})"};
    case Cause::bundle:
      return {{"0000:21:10.0", "0000:21:10.2", "0000:41:10.0", "0000:41:10.2"},
              2,
              2,
              "resourceList",
              R"("bundle": true, "selectors": {"vendors": ["8086"], "isRdma": true})"};
    case Cause::tidy:
      return {{"0000:21:10.0", kLeaver}, 2, 1, "resourceList", exclusive};
    case Cause::netlink:
      return {{"0000:21:10.0", "0000:21:10.2", kUplink, "0000:41:10.0", kLeaver},
              4,
              4,
              "resourceList",
              exclusive};
    case Cause::departure:
    case Cause::rescan:
    case Cause::reload:
      break;
  }
  return {{"0000:21:10.0", "0000:21:10.2", "0000:41:10.0", kLeaver}, 4, 3, "resourceList", exclusive};
}

std::string config_text(const Served& served, bool further) {
  return std::string(R"({")") + served.config_key +
         R"(": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", )" + served.keys + "}" +
         (further ? kFurther : "") + "]}";
}

bool wait_for(const std::function<bool()>& wanted, milliseconds at_most = kDeadline) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!wanted()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(milliseconds{1});
  }
  return true;
}

class Site {
 public:
  explicit Site(Cause cause)
      : cause_(cause),
        served_(served_in(cause)),
        kubelet_(node_.path("k"), [this](const std::string& event) { note(event); }),
        config_((prepare(), open_config(node_.path("config/config.json")))),
        sys_(node_.root()),
        publisher_({.kubelet_root = node_.path("k"),
                    .registration = Registration::watcher,
                    .places = places(),
                    .counters = &counters_},
                   log_),
        daemon_({.publishers = {&publisher_},
                 .rescan_interval = std::chrono::hours{1},
                 .read_pools = [this](const Config& config, const Changed&) { return read_pools(config); },
                 .care_for_specs = cause == Cause::tidy ? care_for_specs() : Daemon::Options::CareForSpecs(),
                 .config = config_,
                 .counters = &counters_,
                 .status = &status_},
                log_) {
    (void)log_.open_file(node_.path("serve.log"));
  }

  // On the main thread, until stop().
  Result<> run() { return daemon_.run(); }
  void stop() { daemon_.stop(); }
  bool wait_for_devices() { return kubelet_.wait_for(kResource, served_.units, kDeadline); }

  Fault trial(long k, int error, Faults& faults) {
    const size_t lines = log_size();
    const uint64_t failed = counters_.get().scans.failed;
    k_ = k;
    error_ = error;
    (void)take_lists();
    step_ = Step::arming;
    if (!pass(Step::armed, faults)) return {};
    provoke(k);
    // A fault in what wakes the daemon leaves it asleep; then the next rescan is the first to notice.
    (void)wait_for([&] { return looks_ > armed_at_; }, milliseconds{2000});
    // The same for the answer of kubelet upon which the spec of the device that has gone is removed.
    if (cause_ == Cause::tidy)
      (void)wait_for([&] { return !fs::exists(node_.cdi_spec(kLeaver)); }, milliseconds{100});
    step_ = Step::ending;
    if (!pass(Step::idle, faults)) return {};
    if (!kubelet_.wait_for(kResource, expected(), kDeadline))
      faults.complain("the list is not what it should be");
    if (!fault_.failed.empty()) evaluate(faults, lines, failed);
    restore();
    if (!wait_for_devices()) faults.complain("the list does not come back");
    return fault_;
  }

 private:
  enum class Step { idle, arming, armed, ending };

  AllocatePlaces places() const {
    AllocatePlaces out = node_.places();
    if (cause_ == Cause::tidy) out.cdi_dir = node_.cdi_dir();
    return out;
  }
  Daemon::Options::CareForSpecs care_for_specs() {
    return [this](const DevicesInUse& in_use, const std::set<std::string>* there) {
      if (there != nullptr)
        (void)remove_specs_of_gone_devices(node_.cdi_dir(), {*there, in_use, sys_, node_.run_dir()});
      return std::vector<Warning>();
    };
  }
  void prepare() {
    node_.fill();
    leaver_ = fs::read_symlink(node_.root() + "/sys/bus/pci/devices/" + kLeaver);
    for (const char* bus : {"21", "41"}) {
      for (const char* function : {"0", "2", "4", "6"}) {
        const std::string id = std::string("0000:") + bus + ":10." + function;
        const auto& kept = served_.devices;
        if (std::find(kept.begin(), kept.end(), id) == kept.end()) node_.remove_device(id);
      }
    }
    // Its reads are tried by the other causes.
    if (cause_ != Cause::tidy) write_tree(node_.root(), kInfiniband);
    if (cause_ == Cause::netlink) prepare_kernel();
    fs::create_directories(node_.path("config"));
    configure(false);
    if (cause_ != Cause::tidy) return;
    fs::create_directories(node_.cdi_dir());
    kubelet_.give("nvidia.com/of-another-plugin", {kGoneInUse}, {"default", "p", "c"});
    write_specs();
  }
  void write_specs() const {
    for (const char* device : {"0000:21:10.0", kLeaver, kGoneInUse})
      std::ofstream(node_.cdi_spec(device)) << "{}";
  }
  // The files have the same route, for when the kernel does not answer.
  void prepare_kernel() {
    write_tree(node_.root(), "proc/1/net/route = " + std::string(kUplinkName) +
                                 " 00000000 0100000A 0003 0 0 0 00000000 0 0 0");
    world_.add_vf(kUplink, kUplinkName);
    world_.link(kUplinkName).index = kUplinkIndex;
    world_.link(kUplinkName).flags |= 1U;
    kernel_ = world_.open(FakeWorld::kHost);
    Route route;
    route.destination = {.bytes = {0, 0, 0, 0}, .prefix = 0};
    route.link = kUplinkIndex;
    if (!kernel_->add_route(route)) throw std::runtime_error("the fake kernel takes no route");
  }
  void configure(bool further) const {
    const std::string file = node_.path("config/config.json");
    std::ofstream(file + ".new") << config_text(served_, further);
    fs::rename(file + ".new", file);
  }

  void provoke(long k) {
    if (device_leaves()) node_.remove_device(kLeaver);
    if (cause_ == Cause::reload)
      configure(k % 2 == 0);
    else
      daemon_.rescan();
  }
  bool device_leaves() const { return cause_ == Cause::departure || cause_ == Cause::tidy; }
  void restore() {
    if (!device_leaves()) return;
    if (cause_ == Cause::tidy) write_specs();
    const std::string link = node_.root() + "/sys/bus/pci/devices/" + kLeaver;
    if (!fs::is_symlink(link)) fs::create_symlink(leaver_, link);
    daemon_.rescan();
  }
  size_t expected() const { return device_leaves() ? served_.units_left : served_.units; }

  // Has the main thread take the step in its next scan; asks again, because a wake can be what fails.
  bool pass(Step to, Faults& faults) {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    do {
      daemon_.rescan();
      if (wait_for([&] { return step_ == to; }, milliseconds{500})) return true;
    } while (std::chrono::steady_clock::now() < end);
    faults.complain("the daemon does not turn any more");
    return false;
  }

  // On the main thread.
  Result<Pools> read_pools(const Config& config) {
    if (step_ == Step::ending) {
      fault_ = kernel_ ? end_kernel_fault() : end_fault();
      step_ = Step::idle;
    }
    ++looks_;
    auto inventory = scan(sys_, kernel_.get());
    if (!inventory) return std::move(inventory.error());
    Pools out = match(config, *inventory);
    if (step_ == Step::arming) {
      armed_at_ = looks_.load();
      step_ = Step::armed;
      if (kernel_) {
        world_.forget_faults();
        world_.fail_call(static_cast<int>(k_), error_, FakeWorld::When::before);
      } else {
        begin_fault(k_, error_);
      }
    }
    return out;
  }
  Fault end_kernel_fault() {
    const auto& calls = world_.log();
    Fault out{.calls = world_.calls(), .failed = {}};
    if (k_ <= out.calls) out.failed = "netlink " + calls[static_cast<size_t>(k_) - 1];
    world_.forget_faults();
    return out;
  }

  // Whether the call that failed was to bring a fact of the node that nothing else brings.
  bool loses_a_fact() const {
    const std::string& call = fault_.failed;
    const bool of_the_node = call.find(node_.root()) != std::string::npos;
    const bool repeated = error_ == EINTR;
    // The folder of a function is opened once for all its files; without that each is found by its whole
    // path.
    const bool a_shortcut = call.ends_with("/");
    // What the firmware answers is a fact whatever it is, also an error.
    const bool of_firmware = call.ends_with("/state") || call.ends_with("/phys_state");
    // Tables of the host's network; some are there twice.
    const bool of_routes = call.find("/proc/") != std::string::npos;
    // Another user than root does without it: a warning, once.
    const bool denied = call.ends_with("/vpd") && error_ == EACCES;
    // Whether a device is there is asked again before its CDI spec is removed, which stays if that fails.
    const bool of_tidy = cause_ == Cause::tidy && call.starts_with("newfstatat ") &&
                         call.find("/sys/bus/") != std::string::npos;
    return of_the_node && !of_tidy && !repeated && !a_shortcut && !of_firmware && !of_routes && !denied;
  }

  void evaluate(Faults& faults, size_t lines, uint64_t failed) {
    for (const size_t count : take_lists()) {
      if (count != served_.units && count != expected())
        faults.complain("kubelet got a list of " + std::to_string(count) + " devices");
    }
    for (const char* device : {"0000:21:10.0", kGoneInUse}) {
      if (cause_ == Cause::tidy && !fs::exists(node_.cdi_spec(device)))
        faults.complain(std::string("the CDI spec of ") + device + " was removed");
    }
    if (!loses_a_fact()) return;
    if (counters_.get().scans.failed == failed) faults.complain("the failure is not counted");
    if (log_size() == lines) faults.complain("the failure is not in the log");
  }

  // "nvidia.com/hostdev: 4 devices", on a thread of the kubelet.
  void note(const std::string& event) {
    const std::string prefix = std::string(kResource) + ": ";
    if (!event.starts_with(prefix) || !event.ends_with(" devices")) return;
    const std::lock_guard lock(mutex_);
    lists_.insert(std::stoul(event.substr(prefix.size())));
  }
  std::set<size_t> take_lists() {
    const std::lock_guard lock(mutex_);
    return std::exchange(lists_, {});
  }
  size_t log_size() const { return fs::file_size(node_.path("serve.log")); }

  const Cause cause_;
  const Served served_;
  std::mutex mutex_;
  std::set<size_t> lists_;  // numbers of devices that kubelet got
  std::atomic<Step> step_ = Step::idle;
  std::atomic<size_t> looks_ = 0;
  std::atomic<size_t> armed_at_ = 0;
  std::atomic<long> k_ = 0;
  std::atomic<int> error_ = 0;
  Fault fault_;
  const IgbNode node_;
  fs::path leaver_;
  FakeWorld world_{node_.path("fake")};
  std::unique_ptr<Kernel> kernel_;  // null: none to ask
  TestKubelet kubelet_;
  ConfigSource config_;
  const SysRoot sys_;
  Counters counters_;
  LiveStatus status_;
  Log log_;
  KubeletPublisher publisher_;
  Daemon daemon_;
};

}  // namespace

void serve_with_faults(Faults& faults, Cause cause) {
  Site site(cause);
  std::thread trials([&] {
    if (!site.wait_for_devices()) faults.complain("the plugin does not serve at all");
    faults.run([&](long k, int error) { return site.trial(k, error, faults); });
    site.stop();
  });
  const auto ran = site.run();
  trials.join();
  if (!ran) faults.complain("the daemon ended: " + ran.error().text);
}

}  // namespace vfrail::test
