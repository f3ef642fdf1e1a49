// A shared pool between kubelet's device plugin and claims: a daemon with both front ends, the tests'
// kubelet, and an agent that answers as vfrail-kube does.
#include "common/files.h"
#include "plugin/service/daemon.h"
#include "plugin/service/dra/offer_publisher.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/fake_agent.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <atomic>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
using std::chrono::milliseconds;

namespace {

const std::string kHca = "rdma/hca";

// A VF of nvidia.com/hostdev and rdma/hca with ten shares.
std::vector<Pool> pools(bool in_pod) {
  Pool shared = make_pool({"0000:21:10.0"}, "hca");
  shared.config.prefix = "rdma";
  shared.config.unit = UnitKind::shared;
  shared.config.units = 10;
  Pool vfs = make_pool({"0000:03:02.1"});
  if (in_pod)
    vfs.devices.at(0).facts.driver = Driver("igbvf");  // which has an interface, but not in the host
  return {vfs, shared};
}

class Running {
 public:
  Running(const TempDir& folder, const std::string& socket, bool drain = false, bool in_pod = false)
      : config_(any_config(folder.path("config.json"))),
        shared_(folder.path("run"), log_),
        kubelet_({.kubelet_root = folder.path(),
                  .registration = Registration::watcher,
                  .places = {.sys = SysRoot(folder.path()),
                             .device_info_dir = folder.path("di"),
                             .run_dir = folder.path("run")},
                  .stream_patience = milliseconds{50},
                  .serves = [this](const ResourceConfig& one) { return !offer_.by_claims(one); },
                  .claimed = [this](const ResourceConfig& one) { return offer_.claimed(one); }},
                 log_),
        offer_({.offer = {},
                .socket = socket,
                .run_dir = folder.path("run"),
                .drain = drain,
                .claims_interval = milliseconds{20},
                .repeat = milliseconds{20},
                .ask_interval = milliseconds{50},
                .first_ask_interval = milliseconds{20}},
               shared_, log_),
        daemon_({.publishers = {&kubelet_, &offer_},
                 .rescan_interval = std::chrono::hours{1},
                 .cni_state_dir = folder.path("cni"),
                 .read_pools =
                     [in_pod](const Config&, const Changed&) {
                       Pools out;
                       out.pools = pools(in_pod);
                       return Result<Pools>(std::move(out));
                     },
                 .config = config_},
                log_) {
    (void)log_.open_file("/dev/null");
    thread_ = std::thread([this] { (void)daemon_.run(); });
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    daemon_.stop();
    thread_.join();
  }

 private:
  Log log_;
  ConfigSource config_;
  SharedSwitch shared_;
  KubeletPublisher kubelet_;
  OfferPublisher offer_;
  Daemon daemon_;
  std::thread thread_;
};

bool is_with_kubelet(const TestKubelet& kubelet) { return kubelet.wait_for(kHca, 10, kDeadline); }
bool is_away_from_kubelet(const TestKubelet& kubelet) {
  return kubelet.wait(kDeadline, [](const KubeletNode& node) {
    const auto at = node.find(kHca);
    return at == node.end() || at->second.allocatable() == 0;
  });
}

}  // namespace

TEST_CASE("a shared pool moves from kubelet to claims when the API server is known and no pod has a share") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  DevicesInUse held;
  held.resources[kHca]["4"] = {"default", "old", "app"};
  kubelet.pod_resources().set(held);
  {
    const Running daemon(folder, folder.path("agent.sock"));
    // The API server is not reached: with the device plugin, from which the VF goes at once.
    REQUIRE(is_with_kubelet(kubelet));
    CHECK(kubelet.node().count("nvidia.com/hostdev") == 0);
    REQUIRE(eventually([&] { return agent.has("0000-03-02-1"); }));
    agent.set(true, true);
    REQUIRE(eventually([&] {
      const auto notes = shared_pool_notes(folder.path("run"));
      return notes.size() == 1 && notes.front().text.find("pods have shares") != std::string::npos;
    }));
    CHECK_FALSE(agent.has("rdma-hca-shared"));
    CHECK(kubelet.node().at(kHca).allocatable() == 10);
    kubelet.pod_resources().set(DevicesInUse());
    REQUIRE(is_away_from_kubelet(kubelet));
    REQUIRE(eventually([&] { return agent.has("rdma-hca-shared"); }));
    agent.set(false, false);  // the agent has started anew, and knows nothing
    CHECK(is_away_from_kubelet(kubelet));
  }
  // Another start finds it with claims, whoever answers.
  const Running again(folder, folder.path("agent.sock"));
  REQUIRE(eventually([&] { return agent.has("rdma-hca-shared"); }));
  CHECK(is_away_from_kubelet(kubelet));
  // Known not to keep the field: no slice can have the device.
  agent.set(true, false);
  CHECK(is_with_kubelet(kubelet));
  CHECK(eventually([&] { return !agent.has("rdma-hca-shared"); }));
}

TEST_CASE(
    "from the first offer on a device that a pod has by the device plugin is in none until that pod ends") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  agent.set(true, true);
  DevicesInUse held;
  held.resources["nvidia.com/hostdev"]["0000:03:02.1"] = {"default", "old", "app"};
  kubelet.pod_resources().set(held);
  const Running daemon(folder, folder.path("agent.sock"), false, true);
  REQUIRE(eventually([&] { return agent.has("rdma-hca-shared"); }));
  CHECK_FALSE(agent.has_had("0000-03-02-1"));
  kubelet.pod_resources().set(DevicesInUse());
  CHECK(eventually([&] { return agent.has("0000-03-02-1"); }));
}

TEST_CASE("after a boot kubelet is asked again until it answers, and then devices are offered") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  agent.set(true, true);
  kubelet.pod_resources().refuse({grpc::StatusCode::UNAVAILABLE, "it is starting"});
  const Running daemon(folder, folder.path("agent.sock"));
  REQUIRE(eventually([&] { return kubelet.pod_resources().calls() >= 3; }));
  CHECK_FALSE(agent.has_had("0000-03-02-1"));
  kubelet.pod_resources().refuse(grpc::Status::OK);
  CHECK(eventually([&] { return agent.has("0000-03-02-1"); }));
}

TEST_CASE("that vfrail-kube has just started is not logged as a refusal, and a reason that lasts is") {
  const TempDir folder;
  FakeAgent agent(folder.path("agent.sock"));
  Log log;
  REQUIRE(log.open_file(folder.path("log")));
  const auto logged = [&] { return **read_file(folder.path("log"), size_t{1} << 20); };
  const auto says = [&](const char* text) { return logged().find(text) != std::string::npos; };
  {
    OfferLink starting(
        {.socket = folder.path("agent.sock"), .driver = "vfrail.io", .retry = std::chrono::hours{1}}, log);
    starting.start();
    starting.put({kHca}, {});
    REQUIRE(eventually([&] { return starting.state().reason == "the API server is away"; }));
    CHECK(logged().empty());
    agent.set(true, true);
    starting.put({}, {});
    REQUIRE(eventually([&] { return says("devices are offered to the scheduler"); }));
    CHECK_FALSE(says("not offered"));
    agent.set(false, false);  // it has been offered before
    starting.put({kHca}, {});
    CHECK(eventually([&] { return says("devices are not offered"); }));
  }
  REQUIRE(write_file(folder.path("log"), "", 0600, Durability::renamed));
  REQUIRE(log.open_file(folder.path("log")));
  OfferLink link({.socket = folder.path("agent.sock"),
                  .driver = "vfrail.io",
                  .repeat = milliseconds{1},
                  .retry = milliseconds{1}},
                 log);
  link.start();
  link.put({kHca}, {});
  CHECK(eventually([&] { return says("devices are not offered"); }));
}

TEST_CASE("where the API server does not keep shared devices their pool stays with kubelet") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  agent.set(true, false);
  const Running daemon(folder, folder.path("agent.sock"));
  REQUIRE(is_with_kubelet(kubelet));
  REQUIRE(eventually([&] {
    const auto notes = shared_pool_notes(folder.path("run"));
    return notes.size() == 1 && notes.front().text.find("DRAConsumableCapacity") != std::string::npos;
  }));
  CHECK(agent.has("0000-03-02-1"));
  CHECK_FALSE(agent.has("rdma-hca-shared"));
}

TEST_CASE("a node that drains offers nothing, and kubelet has its devices when the slices are empty") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  agent.set(true, true, 2);
  {
    const Running daemon(folder, folder.path("agent.sock"));
    REQUIRE(eventually([&] { return agent.has("0000-03-02-1") && agent.has("rdma-hca-shared"); }));
    REQUIRE(is_away_from_kubelet(kubelet));
  }
  const Running daemon(folder, folder.path("agent.sock"), true);
  REQUIRE(eventually([&] { return !agent.has("0000-03-02-1") && !agent.has("rdma-hca-shared"); }));
  // Its writes are limited, so that the slices have devices for a while.
  CHECK(kubelet.node().count("nvidia.com/hostdev") == 0);
  CHECK(is_away_from_kubelet(kubelet));
  agent.set(false, true, 0);  // the API server is away: what the slices have is not known
  CHECK_FALSE(kubelet.wait_for("nvidia.com/hostdev", 1, milliseconds{300}));
  agent.set(true, true, 0);
  CHECK(kubelet.wait_for("nvidia.com/hostdev", 1, kDeadline));
  CHECK(is_with_kubelet(kubelet));
}

TEST_CASE("while a node drains kubelet allocates no device that a pod has by a claim") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  FakeAgent agent(folder.path("agent.sock"));
  agent.set(true, true, 0);
  const ClaimRecord record{.claim = {"default", "nics", "uid-1"},
                           .pod = {"p", "pod-uid"},
                           .node_pool = "node",
                           .requests = {{"nic", {{"0000-03-02-1", "nvidia.com/hostdev", "0000:03:02.1"}}}}};
  REQUIRE(write_claim(folder.path("run"), record));
  const Running daemon(folder, folder.path("agent.sock"), true);
  REQUIRE(is_with_kubelet(kubelet));
  const auto health = [&] {
    const auto node = kubelet.node();
    const auto resource = node.find("nvidia.com/hostdev");
    return resource == node.end() || resource->second.devices.empty() ? std::string()
                                                                      : resource->second.devices[0].health;
  };
  CHECK(eventually([&] { return health() == "Unhealthy"; }));
  CHECK_FALSE(kubelet.wait_for("nvidia.com/hostdev", 1, milliseconds{300}));
  REQUIRE(remove_claim(folder.path("run"), "uid-1"));
  CHECK(kubelet.wait_for("nvidia.com/hostdev", 1, kDeadline));
}

}  // namespace vfrail::test
