// `vfrail-kube node` between a vfrail serve and an API server of ours: what is published, and when.
#include "plugin/kube/node/node_agent.h"

#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/node/running_node.h"

#include <algorithm>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

constexpr const char* kSlices = "resourceslices";

void set_allocatable(FakeCluster& cluster, const std::string& quantity) {
  cluster.put("nodes", parsed(R"({"metadata":{"name":"node-1","uid":"uid-1"},
                                  "status":{"allocatable":{"cpu":"8","nvidia.com/hostdev":")" +
                              quantity + R"("}}})"));
}

void add_node(FakeCluster& cluster) { set_allocatable(cluster, "0"); }

size_t published(const FakeCluster& cluster) {
  size_t out = 0;
  for (const Json& slice : cluster.all(kSlices)) out += list_at(slice, {"spec", "devices"}).size();
  return out;
}

// The text of all of them.
std::string text_of_slices(const FakeCluster& cluster) {
  std::string out;
  for (const Json& slice : cluster.all(kSlices)) out += slice.text();
  return out;
}

}  // namespace

TEST_CASE("the devices of a node are published, and what kubelet deletes comes back") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access());
  const SocketAnswer answer = [&] {
    REQUIRE(node.publishes(vfs(100)));
    return node.put(vfs(100));
  }();
  CHECK(answer.status == 200);
  CHECK(
      answer.body.text() ==
      R"({"published":true,"reason":"","node":"node-1","id":"","slices":2,"writes":2,"sharing":true,"devices":100})");
  CHECK(published(cluster) == 100);
  CHECK(cluster.writes() == std::vector<std::string>(2, "POST resourceslices"));
  for (const Json& slice : cluster.all(kSlices)) cluster.erase(kSlices, name_of(slice).name);
  CHECK(comes_true([&] { return published(cluster) == 100; }));
}

TEST_CASE("devices that do not change are written once") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(3)));
  for (int i = 0; i < 5; ++i) CHECK(is_true_at(node.put(vfs(3)).body, {"published"}));
  CHECK(cluster.writes().size() == 1);
}

TEST_CASE("a restart finds its slices and writes nothing") {
  FakeCluster cluster;
  add_node(cluster);
  { CHECK(RunningNode(cluster.access()).publishes(vfs(3))); }
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(3)));
  CHECK(cluster.writes().size() == 1);
}

TEST_CASE(
    "a device that changes all the time is written once a second at most, and its last state is there") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(3)));
  const auto began = std::chrono::steady_clock::now();
  Json::Array devices = vfs(3);
  for (int i = 0; i < 100; ++i) {
    devices[1] = with_taint(vf(1), "down-" + std::to_string(i));
    CHECK(is_true_at(node.put(devices).body, {"published"}));
  }
  CHECK(comes_true([&] { return text_of_slices(cluster).find("down-99") != std::string::npos; }));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count();
  CHECK(cluster.writes().size() <= static_cast<size_t>(2 + seconds));
}

TEST_CASE("devices of several slices that change all the time are one write a second too") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(200)));
  const size_t before = cluster.writes().size();
  const auto began = std::chrono::steady_clock::now();
  Json::Array devices = vfs(200);
  // Four slices of a new generation, and then nothing for four seconds.
  for (int i = 0; i < 30; ++i) {
    for (const size_t at : {size_t{0}, size_t{199}})
      devices[at] = with_taint(vf(at), "down-" + std::to_string(i));
    CHECK(is_true_at(node.put(devices).body, {"published"}));
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count();
  CHECK(cluster.writes().size() - before <= static_cast<size_t>(4 * (1 + seconds / 4)));
}

TEST_CASE("devices wait while the device plugin still offers their resource, and the reason names it") {
  FakeCluster cluster;
  set_allocatable(cluster, "8");
  const RunningNode node(cluster.access());
  REQUIRE(node.refuses(vfs(2), "the device plugin still offers nvidia.com/hostdev"));
  CHECK(published(cluster) == 0);
  CHECK(cluster.count(kSlices) == 1);  // which says that the driver is there
  for (int i = 0; i < 3; ++i) node.put(vfs(2));
  CHECK(node.logged("still offers") == 1);
  set_allocatable(cluster, "0");
  CHECK(node.publishes(vfs(2)));
  CHECK(published(cluster) == 2);
}

TEST_CASE("devices of a resource that no device plugin offers are published beside those that wait") {
  FakeCluster cluster;
  set_allocatable(cluster, "8");
  const RunningNode node(cluster.access());
  REQUIRE(comes_true([&] {
    node.put({vf(1), vf(2, "rdma/hca")}, {"nvidia.com/hostdev", "rdma/hca"});
    return published(cluster) == 1;
  }));
  CHECK_THAT(text_of_slices(cluster), Contains("rdma/hca") && !Contains("nvidia.com/hostdev"));
}

TEST_CASE("published devices stay when a device plugin offers their resource again") {
  const DeviceOffer offer{"vfrail.io", {"nvidia.com/hostdev"}, vfs(3)};
  const NodeFacts facts{"uid-1", {"nvidia.com/hostdev"}};
  const AllowedDevices allowed = hold_back(offer, offer.devices, facts, {"0000-3b-02-1"});
  REQUIRE(allowed.devices.size() == 1);
  CHECK(allowed.devices[0] == vf(1));
  CHECK(allowed.held_back);
}

TEST_CASE("an API server without resource.k8s.io/v1 is the reason, once in the log, until it has it") {
  FakeCluster cluster;
  add_node(cluster);
  cluster.serve_kind(kSlices, false);
  const RunningNode node(cluster.access());
  REQUIRE(node.refuses(vfs(1), "Kubernetes 1.34 or later is needed"));
  node.put(vfs(1));
  CHECK(node.logged("Kubernetes 1.34") == 1);
  cluster.serve_kind(kSlices, true);
  CHECK(node.publishes(vfs(1)));
}

TEST_CASE("while the API server is away that is the reason, and after it the slices are right") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(1)));
  cluster.server().stop();
  cluster.server().end_connections();
  REQUIRE(node.refuses(vfs(2), "cannot be read"));
  CHECK(published(cluster) == 1);
  cluster.server().start();
  CHECK(node.publishes(vfs(2)));
  CHECK(published(cluster) == 2);
}

TEST_CASE("while the API server is away the next pass is later, however old the Node is") {
  FakeCluster cluster;
  add_node(cluster);
  ApiClient client(cluster.access());
  Log log;
  log.set_level(LogLevel::error);
  const std::chrono::milliseconds node_reads(1);
  SlicePublisher publisher(client, {"vfrail.io", "node-1", {}}, node_reads, log);
  const DeviceOffer offer{"vfrail.io", {}, vfs(1)};
  ObjectWatch::View view{.objects = {}, .complete = true};
  publisher.pass(offer, view);
  CHECK(publisher.state().published);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than the Node is good for
  view.trouble = Error{Errc::timeout, 0, "no answer"};
  const auto now = std::chrono::steady_clock::now();
  CHECK(publisher.pass(offer, view).again > now);
  CHECK_FALSE(publisher.state().published);
  view = {.objects = {}, .complete = false};
  view.trouble = Error{Errc::not_found, 404, "no such kind"};
  CHECK(publisher.pass(offer, view).again > now);
}

TEST_CASE("what the API server refuses is the reason") {
  FakeCluster cluster;
  add_node(cluster);
  cluster.refuse_writes(kSlices, 422);
  const RunningNode node(cluster.access());
  CHECK(node.refuses(vfs(1), "it is refused here"));
  cluster.refuse_writes(kSlices, 0);
  CHECK(node.publishes(vfs(1)));
}

TEST_CASE("a Node that is not there is the reason, with what decides its name") {
  FakeCluster cluster;
  const RunningNode node(cluster.access());
  CHECK(node.refuses(vfs(1), "--node (or $NODE_NAME)"));
  CHECK(cluster.count(kSlices) == 0);
}

TEST_CASE("slices stay as they are when serve is silent, and are not made again") {
  FakeCluster cluster;
  add_node(cluster);
  const RunningNode node(cluster.access(), std::chrono::milliseconds(300));
  REQUIRE(node.publishes(vfs(1)));
  REQUIRE(comes_true([&] { return node.logged("sends nothing") != 0; }));
  CHECK(published(cluster) == 1);
  const size_t writes = cluster.writes().size();
  cluster.erase(kSlices, name_of(cluster.all(kSlices).front()).name);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // in which a pass would have made it again
  CHECK(cluster.writes().size() == writes);
  CHECK(comes_true([&] {
    node.put(vfs(1));
    return published(cluster) == 1;
  }));
}

TEST_CASE("an API server that does not select by driver is asked for the slices of the node") {
  FakeCluster cluster;
  add_node(cluster);
  cluster.refuse_queries("spec.driver");
  cluster.put(kSlices, parsed(R"({"metadata":{"name":"gpu"},"spec":{"driver":"gpu.nvidia.com",
      "nodeName":"node-1","pool":{"name":"node-1","generation":7,"resourceSliceCount":1}}})"));
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes(vfs(1)));
  CHECK(cluster.count(kSlices) == 2);
  CHECK_THAT(text_of_slices(cluster), Contains("\"generation\":1,"));
}

// As an API server does whose feature gate for `field` of devices is off.
void drop_of_devices(FakeCluster& cluster, const std::string& field) {
  cluster.change_writes([field](Json& object) {
    Json::Array devices = list_at(object, {"spec", "devices"});
    for (Json& device : devices)
      std::erase_if(*device.as_object(), [&](const auto& one) { return one.first == field; });
    Json spec = object.find("spec") == nullptr ? Json() : *object.find("spec");
    if (!devices.empty()) object.set("spec", spec.set("devices", devices));
  });
}

TEST_CASE("an unhealthy device is not published where the API server drops taints") {
  FakeCluster cluster;
  add_node(cluster);
  drop_of_devices(cluster, "taints");
  Json unhealthy = vf(1);
  unhealthy.set("taints",
                parsed(R"([{"key":"vfrail.io/unhealthy","value":"carrier","effect":"NoSchedule"}])"));
  {
    const RunningNode node(cluster.access());
    REQUIRE(node.publishes({vf(1), vf(2)}));
    CHECK(published(cluster) == 2);
    REQUIRE(comes_true([&] {
      node.put({unhealthy, vf(2)});
      return published(cluster) == 1;
    }));
    CHECK(node.logged("DRADeviceTaints") == 1);
    REQUIRE(comes_true([&] {
      node.put({vf(1), vf(2)});
      return published(cluster) == 2;
    }));
  }
  cluster.change_writes({});
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes({unhealthy, vf(2)}));
  CHECK(published(cluster) == 2);
}

TEST_CASE("devices that can be shared are not published where the API server drops that") {
  FakeCluster cluster;
  add_node(cluster);
  drop_of_devices(cluster, "allowMultipleAllocations");
  Json shared = vf(1);
  shared.set("allowMultipleAllocations", true);
  {
    const RunningNode node(cluster.access());
    REQUIRE(node.publishes({shared, vf(2)}));
    CHECK_FALSE(is_true_at(node.put({shared, vf(2)}).body, {"sharing"}));
    CHECK(published(cluster) == 1);
    CHECK(node.logged("DRAConsumableCapacity") == 1);
  }
  cluster.change_writes({});
  const RunningNode node(cluster.access());
  REQUIRE(node.publishes({shared, vf(2)}));
  CHECK(is_true_at(node.put({shared, vf(2)}).body, {"sharing"}));
  CHECK(published(cluster) == 2);
}
