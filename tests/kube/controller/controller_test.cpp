// The controller against an API server of ours.
#include "plugin/kube/controller/controller.h"

#include "common/files.h"
#include "tests/kube/controller/cases.h"
#include "tests/kube/controller/fake_cluster.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <thread>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

constexpr const char* kNetworks = "hostdevicenetworks";
constexpr const char* kDefinitions = "network-attachment-definitions";
constexpr const char* kDefinition = "crater-workspace/hostdevice-net";

void fill(FakeCluster& cluster) {
  for (const char* name : {"crater-workspace", "default"})
    cluster.put("namespaces",
                json(std::string(R"({"metadata":{"name":")") + name + R"("},"status":{"phase":"Active"}})"));
  cluster.put("nodes", json(R"({"metadata":{"name":"node-1"},
                               "status":{"allocatable":{"cpu":"8","nvidia.com/hostdev":"2"}}})"));
  cluster.put(kNetworks, seed_network());
}

class Running {
 public:
  explicit Running(const FakeCluster& cluster, const char* instance = "pod-a", Log& log = quiet())
      : controller_(cluster.access(), {.lease = {"kube-system", "vfrail-controller"}, .instance = instance},
                    log),
        thread_([this](const std::stop_token& stop) { controller_.run(stop); }) {}

 private:
  static Log& quiet() {
    struct Quiet {
      Quiet() { log.set_level(LogLevel::error); }
      Log log;
    };
    static Quiet quiet;  // its level is set once, before other threads have it
    return quiet.log;
  }

  Controller controller_;
  std::jthread thread_;
};

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string status_of(const FakeCluster& cluster, const std::string& key) {
  const auto network = cluster.find(kNetworks, "hostdevice-net");
  return network ? text_at(*network, {"status", key}) : "";
}

std::string config_in(const FakeCluster& cluster, const char* name = kDefinition) {
  const auto definition = cluster.find(kDefinitions, name);
  return definition ? text_at(*definition, {"spec", "config"}) : "";
}

}  // namespace

TEST_CASE("the controller makes the definition and the status of a network, and puts back what is edited") {
  FakeCluster cluster;
  fill(cluster);
  const Running controller(cluster);
  REQUIRE(eventually([&] { return status_of(cluster, "state") == "ready"; }));
  const std::string config = config_in(cluster);
  CHECK_THAT(config, Contains("\"type\":\"vfrail\""));
  CHECK(status_of(cluster, "reason").empty());
  CHECK(eventually([&] { return cluster.count("events") == 1; }));
  Json edited = *cluster.find(kDefinitions, kDefinition);
  edited.set("spec", json(R"({"config":"{}"})"));
  cluster.put(kDefinitions, edited);
  CHECK(eventually([&] { return config_in(cluster) == config; }));
  cluster.erase(kDefinitions, kDefinition);
  CHECK(eventually([&] { return config_in(cluster) == config; }));
}

TEST_CASE("a network that moves to another namespace takes its definition with it") {
  FakeCluster cluster;
  fill(cluster);
  const Running controller(cluster);
  REQUIRE(eventually([&] { return status_of(cluster, "state") == "ready"; }));
  Json network = *cluster.find(kNetworks, "hostdevice-net");
  set_at(network, {"spec", "networkNamespace"}, "default");
  cluster.put(kNetworks, network);
  CHECK(eventually([&] {
    return !config_in(cluster, "default/hostdevice-net").empty() && !cluster.find(kDefinitions, kDefinition);
  }));
}

TEST_CASE("the status follows the nodes that offer the resource, and the namespaces") {
  FakeCluster cluster;
  fill(cluster);
  cluster.erase("nodes", "node-1");
  cluster.erase("namespaces", "crater-workspace");
  const Running controller(cluster);
  CHECK(eventually([&] { return status_of(cluster, "reason").find("create it") != std::string::npos; }));
  cluster.put("namespaces", json(R"({"metadata":{"name":"crater-workspace"},"status":{"phase":"Active"}})"));
  CHECK(eventually([&] { return status_of(cluster, "reason").find("no node offers") == 0; }));
  cluster.put("nodes", json(R"({"metadata":{"name":"node-2"},
                               "status":{"allocatable":{"nvidia.com/hostdev":"1"}}})"));
  CHECK(eventually(
      [&] { return status_of(cluster, "state") == "ready" && status_of(cluster, "reason").empty(); }));
}

TEST_CASE("the kinds may come after the controller") {
  FakeCluster cluster;
  fill(cluster);
  for (const NetworkKind& kind : kNetworkKinds) cluster.serve_kind(std::string(kind.type.plural), false);
  cluster.serve_kind(kDefinitions, false);
  const Running controller(cluster);
  CHECK(eventually([&] { return cluster.find("leases", "kube-system/vfrail-controller").has_value(); }));
  CHECK(cluster.writes().empty());
  cluster.serve_kind(kNetworks, true);
  CHECK(eventually([&] { return status_of(cluster, "reason").find("install Multus") != std::string::npos; }));
  cluster.serve_kind(kDefinitions, true);
  CHECK(eventually([&] { return status_of(cluster, "state") == "ready"; }));
}

TEST_CASE("MacvlanNetworks and IPoIBNetworks are served beside HostDeviceNetworks") {
  FakeCluster cluster;
  fill(cluster);
  cluster.put("macvlannetworks",
              json(R"({"metadata":{"name":"flat"},"spec":{"master":"eth1","mode":"bridge"}})"));
  cluster.put("ipoibnetworks", json(R"({"metadata":{"name":"ib"},"spec":{"master":"ib0"}})"));
  const Running controller(cluster);
  const auto state = [&](const char* plural, const char* name) {
    return text_at(*cluster.find(plural, name), {"status", "state"});
  };
  CHECK(eventually([&] {
    return status_of(cluster, "state") == "ready" && state("macvlannetworks", "flat") == "ready" &&
           state("ipoibnetworks", "ib") == "ready";
  }));
  CHECK_THAT(config_in(cluster, "default/flat"), Contains("\"type\":\"macvlan\""));
  CHECK_THAT(config_in(cluster, "default/ib"), Contains("\"type\":\"ipoib\""));
  CHECK(eventually([&] { return cluster.count("events") == 3; }));
}

TEST_CASE("a kind that is not installed, or may not be listed, keeps no other from being served") {
  FakeCluster cluster;
  fill(cluster);
  cluster.serve_kind("macvlannetworks", false);
  cluster.refuse_reads("ipoibnetworks", 403);
  const TempDir dir;
  Log log;
  REQUIRE(log.open_file(dir.path("log")));
  const Running controller(cluster, "pod-a", log);
  CHECK(eventually([&] { return status_of(cluster, "state") == "ready"; }));
  const auto text = read_file(dir.path("log"), size_t{1} << 20);
  REQUIRE((text && *text));
  CHECK_THAT(**text, Contains("info not served: its CustomResourceDefinition is not installed "
                              "objects=macvlannetworks"));
  CHECK_THAT(**text, Contains("warning changes are not seen, trying again objects=ipoibnetworks"));
}

TEST_CASE("what the API server refuses is the reason until it no longer does") {
  FakeCluster cluster;
  fill(cluster);
  cluster.refuse_writes(kDefinitions, 403);
  const Running controller(cluster);
  CHECK(eventually(
      [&] { return status_of(cluster, "reason").find("it is refused here") != std::string::npos; }));
  CHECK(status_of(cluster, "state") == "notReady");
  cluster.refuse_writes(kDefinitions, 0);
  CHECK(eventually([&] { return status_of(cluster, "state") == "ready"; }));
}

TEST_CASE("a watch that is refused is in the log, and what was listed is acted upon") {
  FakeCluster cluster;
  fill(cluster);
  cluster.refuse_watches("namespaces", 403);
  const TempDir dir;
  Log log;
  REQUIRE(log.open_file(dir.path("log")));
  const Running controller(cluster, "pod-a", log);
  CHECK(eventually([&] { return status_of(cluster, "state") == "ready"; }));
  CHECK(eventually([&] {
    const auto text = read_file(dir.path("log"), size_t{1} << 20);
    return text && *text &&
           (*text)->find("warning changes are not seen, trying again objects=namespaces") !=
               std::string::npos &&
           (*text)->find("cannot watch namespaces") != std::string::npos;
  }));
}

TEST_CASE("an API server that cannot answer is no reason of a network") {
  FakeCluster cluster;
  fill(cluster);
  cluster.refuse_writes(kDefinitions, 503);
  const Running controller(cluster);
  CHECK(eventually([&] { return !cluster.writes().empty(); }));
  CHECK(status_of(cluster, "state").empty());
  cluster.refuse_writes(kDefinitions, 0);
  CHECK(eventually([&] { return status_of(cluster, "state") == "ready"; }));
}

TEST_CASE("of two replicas one acts, and the other when the first ends", "[threads]") {
  FakeCluster cluster;
  fill(cluster);
  const auto holder = [&] {
    const auto lease = cluster.find("leases", "kube-system/vfrail-controller");
    return lease ? text_at(*lease, {"spec", "holderIdentity"}) : "";
  };
  std::optional<Running> first(std::in_place, cluster, "pod-a");
  REQUIRE(eventually([&] { return status_of(cluster, "state") == "ready"; }));
  const Running second(cluster, "pod-b");
  CHECK(holder() == "pod-a");
  first.reset();
  cluster.erase(kDefinitions, kDefinition);
  CHECK(eventually([&] { return cluster.find(kDefinitions, kDefinition).has_value(); }));
  CHECK(holder() == "pod-b");
}
