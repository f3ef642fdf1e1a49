// /metrics, /healthz and /readyz of a daemon, asked over a real socket, with the test kubelet at its side.
#include "plugin/service/daemon.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "plugin/service/monitoring/monitoring_server.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/http_client.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr const char* kHostdev = "nvidia.com/hostdev";

// A daemon with its monitoring server. Its node is the tree of IgbNode; what it finds there is for the test
// to say.
class Plugin {
 public:
  explicit Plugin(const IgbNode& node)
      : pools_{node.pool()},
        config_(any_config(node.path("config.json"))),
        kubelet_({.kubelet_root = node.path("k"),
                  .registration = Registration::legacy,
                  .places = node.places(),
                  .counters = &counters_},
                 log_),
        daemon_(options(), log_),
        address_(listen_at(node)) {
    log_.set_level(LogLevel::error);
    (void)log_.open_file("/dev/null");
    auto monitoring = MonitoringServer::start(
        {.address = address_, .sys = SysRoot(node.root()), .kubelet_root = node.path("k")}, counters_,
        status_, log_);
    if (!monitoring) throw std::runtime_error(monitoring.error().text);
    server_ = *std::move(monitoring);
  }
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  ~Plugin() {
    let_go();
    stop();
  }

  void run() {
    thread_ = std::thread([this] { (void)daemon_.run(); });
  }
  void stop() {
    daemon_.stop();
    if (thread_.joinable()) thread_.join();
  }
  void now(std::vector<Pool> pools) {
    {
      const std::lock_guard lock(mutex_);
      pools_ = std::move(pools);
    }
    daemon_.rescan();
  }
  // What cannot be read: the node as a whole, and devices.
  void now_unread(const std::string& node, std::vector<UnreadDevice> devices) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = node;
      unread_ = std::move(devices);
    }
    daemon_.rescan();
  }
  // The next scan of the node takes until let_go().
  void hold() {
    std::unique_lock lock(mutex_);
    held_ = true;
    daemon_.rescan();
    changed_.wait(lock, [this] { return inside_; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

  HttpAnswer ask(const std::string& page) const { return get(address_, page); }
  std::string metrics() const { return ask("/metrics").body; }
  bool shows(const std::string& line) const {
    return ("\n" + metrics()).find("\n" + line + "\n") != std::string::npos;
  }
  LiveStatus& status() { return status_; }

 private:
  static ListenAddress listen_at(const IgbNode& node) {
    return *parse_listen_address("unix:" + node.path("metrics.sock"));
  }
  Daemon::Options options() {
    return {.publishers = {&kubelet_},
            .rescan_interval = std::chrono::hours{1},
            .read_pools = [this](const Config&, const Changed&) { return read_pools(); },
            .config = config_,
            .counters = &counters_,
            .status = &status_};
  }
  Result<Pools> read_pools() {
    std::unique_lock lock(mutex_);
    inside_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    inside_ = false;
    if (!failure_.empty()) return Error{Errc::system, 0, failure_};
    Pools out;
    out.pools = pools_;
    out.unread = unread_;
    out.left_out = {
        {.id = "0000:01:00.0", .reasons = {{ErrorId::pf_has_vfs, "x"}}, .kind = LeftOut::Kind::has_vfs}};
    return out;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool inside_ = false;
  std::vector<Pool> pools_;
  std::string failure_;
  std::vector<UnreadDevice> unread_;
  ConfigSource config_;
  Log log_;
  Counters counters_;
  LiveStatus status_;
  KubeletPublisher kubelet_;
  Daemon daemon_;
  const ListenAddress address_;
  std::unique_ptr<MonitoringServer> server_;
  std::thread thread_;
};

void statistics(const IgbNode& node, const std::string& pci, uint64_t bytes) {
  const fs::path net = node.root() + "/sys/bus/pci/devices/" + pci + "/net";
  for (const auto& entry : fs::directory_iterator(net)) {
    fs::create_directories(entry.path() / "statistics");
    std::ofstream(entry.path() / "statistics/rx_bytes") << bytes << "\n";
  }
}

}  // namespace

TEST_CASE("readyz says why the plugin is not ready, until kubelet has registered it") {
  const IgbNode node;
  node.fill();
  fs::create_directories(node.path("k/device-plugins"));
  Plugin plugin(node);
  CHECK(plugin.ask("/readyz").status == 503);
  CHECK(plugin.ask("/readyz").body == "the node's devices have not been read yet\n");
  plugin.run();
  REQUIRE(eventually([&] {
    return plugin.ask("/readyz").body == "nvidia.com/hostdev: kubelet has not registered it yet\n";
  }));
  TestKubelet kubelet(node.path("k"));
  kubelet.refuse(1);
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  CHECK(eventually([&] { return plugin.ask("/readyz").status == 200; }));
  CHECK(plugin.shows(R"(vfrail_registrations_total{resource="nvidia.com/hostdev",result="ok"} 1)"));
  plugin.now({});
  CHECK(plugin.ask("/readyz").status == 200);
}

TEST_CASE("readyz and the metrics say that the node, or a device of it, cannot be read") {
  const IgbNode node;
  node.fill();
  const TestKubelet kubelet(node.path("k"));
  Plugin plugin(node);
  plugin.run();
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  REQUIRE(eventually([&] { return plugin.ask("/readyz").status == 200; }));
  CHECK(plugin.shows("vfrail_scan_failing 0"));
  CHECK(plugin.shows("vfrail_devices_unread 0"));
  const std::string said = "the node's devices cannot be read; what was read last stays advertised: ";

  plugin.now_unread("no sysfs today", {});
  REQUIRE(eventually([&] { return plugin.ask("/readyz").body == said + "no sysfs today\n"; }));
  CHECK(plugin.ask("/readyz").status == 503);
  CHECK(plugin.shows("vfrail_scan_failing 1"));
  CHECK(plugin.shows("vfrail_devices_unread 0"));

  plugin.now_unread("", {{"0000:21:10.0", "EIO"}});
  REQUIRE(eventually([&] { return plugin.ask("/readyz").body == said + "0000:21:10.0: EIO\n"; }));
  CHECK(plugin.shows("vfrail_scan_failing 1"));
  CHECK(plugin.shows("vfrail_devices_unread 1"));

  plugin.now_unread("", {});
  CHECK(eventually([&] { return plugin.ask("/readyz").status == 200; }));
  CHECK(plugin.shows("vfrail_scan_failing 0"));
  CHECK(plugin.shows("vfrail_devices_unread 0"));
}

TEST_CASE("healthz depends on the owner thread") {
  const IgbNode node;
  node.fill();
  fs::create_directories(node.path("k/device-plugins"));
  Plugin plugin(node);
  CHECK(plugin.ask("/healthz").status == 503);
  plugin.run();
  REQUIRE(eventually([&] { return plugin.ask("/healthz").body == "ok\n"; }));
  // A question is answered by the thread alone.
  plugin.hold();
  CHECK(plugin.status().since_heartbeat() >= milliseconds{0});
  CHECK(eventually([&] { return plugin.status().since_heartbeat() > milliseconds{2}; }));
  plugin.let_go();
  CHECK(eventually([&] { return plugin.status().since_heartbeat() == milliseconds{0}; }));
  plugin.stop();
  CHECK(plugin.ask("/healthz").status == 503);
}

TEST_CASE("the traffic of a device has the names of the pod that has it") {
  const IgbNode node;
  TestKubelet kubelet(node.path("k"));
  Plugin plugin(node);
  plugin.run();
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  statistics(node, "0000:21:10.2", 4711);
  const std::string start =
      R"(vfrail_device_receive_bytes_total{resource="nvidia.com/hostdev",device="0000:21:10.2")";
  // The daemon publishes its status a moment after kubelet has the list.
  CHECK(eventually([&] { return plugin.shows(start + "} 4711"); }));
  v1beta1::AllocateResponse response;
  REQUIRE(kubelet.allocate(kHostdev, {{"0000:21:10.2"}}, response).ok());
  kubelet.give(kHostdev, {"0000:21:10.2"}, {"ml", "train-0", "main"});
  statistics(node, "0000:21:10.2", 5000);
  CHECK(plugin.shows(start + R"(,namespace="ml",pod="train-0",container="main"} 5000)"));
  CHECK(plugin.shows(R"(vfrail_devices_in_use{resource="nvidia.com/hostdev"} 1)"));
  CHECK(plugin.shows(R"(vfrail_allocations_total{resource="nvidia.com/hostdev",result="ok"} 1)"));
  CHECK(plugin.shows(R"(vfrail_devices_left_out{reason="has_vfs"} 1)"));
  SECTION("while kubelet does not answer, its last answer is used and marked as old") {
    kubelet.pod_resources().refuse({grpc::StatusCode::UNAVAILABLE, "restarting"});
    CHECK(plugin.shows("vfrail_pod_resources_up 0"));
    CHECK(plugin.shows(start + R"(,namespace="ml",pod="train-0",container="main"} 5000)"));
    kubelet.pod_resources().refuse(grpc::Status::OK);
    CHECK(plugin.shows("vfrail_pod_resources_up 1"));
  }
  SECTION("when it is free again it has no pod's name") {
    kubelet.free({"0000:21:10.2"});
    CHECK(plugin.shows(start + "} 5000"));
  }
}

TEST_CASE("a kubelet that hangs delays a scrape for a moment, and probes not at all") {
  const IgbNode node;
  TestKubelet kubelet(node.path("k"));
  Plugin plugin(node);
  plugin.run();
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  // The list comes before kubelet's word that it has registered us.
  REQUIRE(eventually([&] { return plugin.ask("/readyz").status == 200; }));
  kubelet.pod_resources().hang(true);
  const int before = kubelet.pod_resources().calls();
  std::thread scrape([&] {
    const std::string text = plugin.metrics();
    CHECK(text.find("vfrail_pod_resources_up 0\n") != std::string::npos);
    CHECK(text.find("vfrail_devices{") != std::string::npos);
  });
  CHECK(eventually([&] { return kubelet.pod_resources().calls() > before; }));
  CHECK(plugin.ask("/healthz").status == 200);
  CHECK(plugin.ask("/readyz").status == 200);
  scrape.join();
}

TEST_CASE("scrapes during changes of the inventory are consistent", "[threads]") {
  const IgbNode node;
  TestKubelet kubelet(node.path("k"));
  const auto owner = std::make_unique<Plugin>(node);  // see tests/support/tsan_filter
  Plugin& plugin = *owner;
  plugin.run();
  REQUIRE(kubelet.wait_for(kHostdev, 8, kDeadline));
  std::atomic<bool> done{false};
  std::atomic<int> scrapes{0};
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 3; ++i) {
    scrapers.emplace_back([&] {
      while (!done) {
        const HttpAnswer answer = plugin.ask("/metrics");
        if (answer.status != 200 || answer.body.find("\nvfrail_series_dropped 0\n") == std::string::npos) {
          FAIL_CHECK("a scrape got " << answer.status << " " << answer.body);
        }
        ++scrapes;
      }
    });
  }
  const Pool whole = node.pool();
  for (int round = 0; round < 40 || scrapes < 20; ++round) {
    Pool some = whole;
    some.devices.resize(static_cast<size_t>(round % 9));
    plugin.now({some});
    if (some.devices.empty()) continue;
    v1beta1::AllocateResponse response;
    (void)kubelet.allocate(kHostdev, {{some.devices.front().id()}}, response);
    kubelet.free({some.devices.front().id()});
  }
  done = true;
  for (std::thread& scraper : scrapers) scraper.join();
  plugin.now({whole});
  CHECK(eventually(
      [&] { return plugin.shows(R"(vfrail_devices{resource="nvidia.com/hostdev",state="healthy"} 8)"); }));
}

TEST_CASE("the node's reports are pages of JSON, and one that cannot be made says why") {
  const IgbNode node;
  const Counters counters;
  LiveStatus status;
  Log log;
  (void)log.open_file("/dev/null");
  const ListenAddress address = *parse_listen_address("unix:" + node.path("metrics.sock"));
  const auto start = [&](bool metrics) {
    return MonitoringServer::start(
        {.address = address,
         .metrics = metrics,
         .sys = SysRoot(node.root()),
         .kubelet_root = node.path("k"),
         .inspect = [] { return Result<std::string>("{\"schema_version\": 2}\n"); },
         .doctor =
             [] {
               return Result<std::string>(Error{Errc::system, 0, "scan of the node: EIO"});
             }},
        counters, status, log);
  };
  {
    const auto server = start(true);
    REQUIRE(server);
    const HttpAnswer inspect = get(address, "/inspect");
    CHECK(inspect.status == 200);
    CHECK(inspect.body == "{\"schema_version\": 2}\n");
    CHECK(inspect.head.find("application/json") != std::string::npos);
    const HttpAnswer doctor = get(address, "/doctor");
    CHECK(doctor.status == 503);
    CHECK(doctor.body.find("scan of the node: EIO") == 0);
  }
  const auto probes_alone = start(false);
  REQUIRE(probes_alone);
  CHECK(get(address, "/inspect").status == 404);
}

}  // namespace vfrail::test
