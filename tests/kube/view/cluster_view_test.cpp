#include "plugin/kube/view/cluster_view.h"

#include "plugin/admin/report/inspect.h"
#include "tests/kube/view/made_cluster.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

const PodView& pod_named(const ClusterView& view, const std::string& name) {
  const auto found = std::find_if(view.pods.begin(), view.pods.end(),
                                  [&](const PodView& pod) { return pod.name.name == name; });
  if (found == view.pods.end()) FAIL("no pod " << name);
  return *found;
}

}  // namespace

TEST_CASE("the view has the nodes that offer a resource of vfrail, with what is in use and what is free") {
  const ClusterView view = make_cluster_view(made_cluster(), {});
  REQUIRE(view.nodes.size() == 3);
  CHECK(view.nodes[0].name == "node-1");
  const NodeResource& first = view.nodes[0].resources.at(0);
  CHECK(first.capacity == 2);
  CHECK(first.in_use == 2);  // a pod that is being started has its device
  CHECK(first.free() == 0);
  const NodeResource& second = view.nodes[1].resources.at(0);
  CHECK(second.allocatable == 1);
  REQUIRE(second.unhealthy.size() == 1);
  CHECK(second.unhealthy[0].id == "0000:18:00.3");
  CHECK(second.unhealthy[0].reason == "port 1 of mlx5_3 is DOWN");
  CHECK_FALSE(view.nodes[2].answered);
  CHECK(view.nodes[2].resources.at(0).in_use == 1);
}

TEST_CASE("a device has the pod that kubelet gave it to, once, with the pod's address") {
  const ClusterView view = make_cluster_view(made_cluster(), {});
  REQUIRE(view.devices.size() == 4);
  CHECK(view.devices[0].id == "0000:18:00.2");
  REQUIRE(view.devices[0].holders.size() == 1);
  CHECK(view.devices[0].holders[0].pod == ObjectName{"train", "worker-0"});
  CHECK(view.devices[0].holders[0].address == "192.168.100.2");
  CHECK(view.devices[0].port.empty());
  CHECK(view.devices[1].port == "ACTIVE");
  // Of a pod with one device and one network with its resource the address is known as well.
  CHECK(view.devices[2].holders.at(0).address == "192.168.100.3");
  CHECK(view.devices[3].port == "down");
  CHECK(view.devices[3].holders.empty());
}

TEST_CASE("who may list pods alone has all that request a resource, and reads what is not known") {
  const ClusterFacts all = made_cluster();
  ClusterFacts facts;
  facts.pods = all.pods;
  facts.gaps = {{"nodes", "no right to list them"}, {"node-1", "no right to ask it"}};
  const ClusterView view = make_cluster_view(facts, {});
  CHECK(pod_named(view, "worker-0").requests.contains("nvidia.com/hostdev"));
  const PodView& waiting = pod_named(view, "worker-3");
  CHECK_FALSE(waiting.reason.empty());
  CHECK(waiting.explanation.empty());  // of nodes nothing is known, not even that none offers it
  CHECK(view.gaps.back().what == "resources");
  CHECK(make_cluster_view(all, {}).gaps.back().what != "resources");
}

TEST_CASE("a pod that waits has the scheduler's reason, and what the resource is on each node") {
  const ClusterView view = make_cluster_view(made_cluster(), {});
  const PodView& waiting = pod_named(view, "worker-3");
  CHECK(waiting.reason == "Unschedulable: 0/4 nodes are available: 4 Insufficient nvidia.com/hostdev.");
  CHECK(waiting.explanation ==
        std::vector<std::string>{
            "nvidia.com/hostdev: 0 of 2 free, 1 unhealthy, 0000:18:00.3: port 1 of mlx5_3 is DOWN: node-2",
            "nvidia.com/hostdev: full, 1 of 1 in use: node-3",
            "nvidia.com/hostdev: full, 2 of 2 in use: node-1"});
  CHECK(pod_named(view, "worker-4").reason == "ContainerCreating");
  CHECK(pod_named(view, "worker-4").explanation.empty());
  CHECK(view.pods[0].name.name == "worker-3");
  CHECK(view.pods[1].name.name == "worker-4");
}

TEST_CASE("a pod that waits for a resource which no node offers is shown when --resource names it") {
  ClusterFacts facts = made_cluster();
  facts.pods = {*read_cluster_pod(json_of(R"({"metadata": {"namespace": "a", "name": "b"}, "spec":
      {"containers": [{"resources": {"requests": {"nvidia.com/other": "1"}}}]},
      "status": {"phase": "Pending"}})"))};
  CHECK(make_cluster_view(facts, {}).pods.empty());
  const ClusterView view = make_cluster_view(facts, {.resource = "nvidia.com/other"});
  CHECK(pod_named(view, "b").reason == "no reason is reported yet");
  CHECK(pod_named(view, "b").explanation == std::vector<std::string>{"nvidia.com/other: no node offers it"});
}

TEST_CASE(
    "where devices go by claims the counts are those of the node's vfrail, and claims count as requests do") {
  ClusterFacts facts = made_cluster();
  facts.nodes[1] = read_cluster_node(node_object("node-1", 0, 0));
  Json& page = facts.pages[0].json;
  const auto with = [&](const char* dra) {
    page.set("resources", json_of(R"([{"name": "nvidia.com/hostdev", "units": 2, "healthy_units": 2,
        "devices": ["0000:18:00.2", "0000:18:00.3"], "dra": )" +
                                  std::string(dra) + "}]"));
  };
  with(R"({"driver": "vfrail.io", "published": true, "not_published_reason": null})");
  // Both of its pods have a claim of their own, and request nothing.
  const char* const claim = R"({"metadata": {"namespace": "train", "name": "worker-0", "annotations":
      {"k8s.v1.cni.cncf.io/networks": "hostdev"}}, "spec": {"nodeName": "node-1",
      "resourceClaims": [{"name": "nic"}], "containers": [{}]}, "status": {"phase": "Running"}})";
  facts.pods = {*read_cluster_pod(json_of(claim))};
  const ClusterView view = make_cluster_view(facts, {});
  const NodeResource& resource = view.nodes[0].resources.at(0);
  CHECK(resource.by_claims);
  CHECK(resource.capacity == 2);
  CHECK(resource.in_use == 1);
  CHECK(resource.free() == 1);
  CHECK(pod_named(view, "worker-0").devices == std::vector<std::string>{"0000:18:00.2"});
  CHECK_FALSE(view.nodes[1].resources.at(0).by_claims);

  with(R"({"driver": "vfrail.io", "published": false, "not_published_reason": "the API server is away"})");
  CHECK(make_cluster_view(facts, {}).nodes[0].resources.at(0).free() == 0);
}

TEST_CASE("a pod that waits with claims of its own is listed when it names a network with a resource") {
  ClusterFacts facts = made_cluster();
  for (const auto& [networks, known] :
       {std::pair("hostdev", true), std::pair("other, hostdev@net2", true), std::pair("else/hostdev", false),
        std::pair(R"([{\"name\": \"hostdev\"}])", true), std::pair("", false)}) {
    facts.pods = {*read_cluster_pod(json_of(R"({"metadata": {"namespace": "train", "name": "a", "annotations":
        {"k8s.v1.cni.cncf.io/networks": ")" +
                                            std::string(networks) + R"("}},
        "spec": {"resourceClaims": [{"name": "nic"}], "containers": [{}]}, "status": {"phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                        "message": "cannot allocate all claims"}]}})"))};
    CAPTURE(networks);
    const ClusterView view = make_cluster_view(facts, {});
    REQUIRE(view.pods.size() == (known ? 1 : 0));
    if (!known) continue;
    CHECK(view.pods[0].reason == "Unschedulable: cannot allocate all claims");
    CHECK(view.pods[0].explanation.at(0).starts_with("nvidia.com/hostdev: "));
  }
}

TEST_CASE("a cordoned node and one that is not ready are named as such") {
  ClusterFacts facts = made_cluster();
  facts.nodes[1].cordoned = true;
  facts.nodes[2].ready = false;
  const PodView waiting = pod_named(make_cluster_view(facts, {}), "worker-3");
  CHECK(waiting.explanation.at(1) == "nvidia.com/hostdev: cordoned: node-1");
  CHECK(waiting.explanation.at(2) == "nvidia.com/hostdev: not ready: node-3");
}

TEST_CASE("a running pod is listed with its devices and the addresses of its networks") {
  const PodView pod = pod_named(make_cluster_view(made_cluster(), {}), "worker-0");
  CHECK(pod.devices == std::vector<std::string>{"0000:18:00.2"});
  CHECK(pod.addresses == std::vector<std::string>{"net1 192.168.100.2"});
  CHECK(pod.reason.empty());
}

TEST_CASE("a network is listed with its attachments and the number of free addresses in whereabouts") {
  const ClusterView view = make_cluster_view(made_cluster(), {});
  REQUIRE(view.networks.size() == 2);
  CHECK(view.networks[0].type == "host-device");
  CHECK(view.networks[0].resource == "nvidia.com/hostdev");
  CHECK(view.networks[0].attachments == 2);
  CHECK(view.networks[0].addresses == 28);  // 30 without two excluded
  CHECK(view.networks[0].addresses_left == 26);
  CHECK(view.networks[1].remark == "kept on the nodes");
  CHECK_FALSE(view.networks[1].addresses);
}

TEST_CASE("addresses are not counted where the pools cannot be read") {
  ClusterFacts facts = made_cluster();
  facts.knows_address_pools = false;
  const NetworkView network = make_cluster_view(facts, {}).networks.at(0);
  CHECK_FALSE(network.addresses_left);
  CHECK(network.remark == "the IPPools of whereabouts cannot be read");
}

TEST_CASE("a node without vfrail is a gap, and so is one that is not there") {
  ClusterFacts facts = made_cluster();
  facts.gaps.clear();
  const ClusterView all = make_cluster_view(facts, {});
  REQUIRE(all.gaps.size() == 1);
  CHECK(all.gaps[0].what == "node-3");
  CHECK(all.gaps[0].why == "no pod of vfrail is on this node");
  const ClusterView one = make_cluster_view(facts, {.node = "node-9"});
  REQUIRE(one.gaps.size() == 1);
  CHECK(one.gaps[0].why == "there is no such node");
  CHECK(one.nodes.empty());
}

TEST_CASE("a filter keeps one node, one namespace") {
  const ClusterView node = make_cluster_view(made_cluster(), {.node = "node-2"});
  CHECK(node.nodes.size() == 1);
  CHECK(node.devices.size() == 2);
  CHECK(node.pods.size() == 2);  // the one without a node may go there
  const ClusterView other = make_cluster_view(made_cluster(), {.name_space = "x"});
  CHECK(other.pods.empty());
  CHECK(other.networks.empty());
  CHECK(other.nodes.size() == 3);
}

TEST_CASE("with no page of a node the resources are those of the networks") {
  ClusterFacts facts = made_cluster();
  facts.pages.clear();
  const ClusterView view = make_cluster_view(facts, {});
  CHECK(view.nodes.size() == 3);
  CHECK(view.devices.empty());
}

TEST_CASE("what inspect prints of a captured node is what the view reads") {
  const Tree tree("igb_node");
  const TempDir folder;
  plugin::InspectOptions options;
  options.root = tree.root();
  options.output = plugin::InspectOptions::Output::json;
  options.config_file = write(folder, R"({"resourceList":[{"resourceName":"igb",
      "selectors":{"drivers":["igbvf"]}}]})");
  const Run printed = run([&] {
    return plugin::inspect(options, [](const std::string&) {
      return Result<plugin::DevicesInUse>(Error{Errc::not_found, 0, "no kubelet"});
    });
  });
  INFO(printed.err);
  ClusterFacts facts;
  facts.nodes = {read_cluster_node(node_object("node-1", 0, 0))};
  facts.pages = {{"node-1", json_of(printed.out)}};
  const ClusterView view = make_cluster_view(facts, {});
  REQUIRE(view.nodes.size() == 1);
  REQUIRE_FALSE(view.devices.empty());
  CHECK(view.devices[0].resource.find("/igb") != std::string::npos);
  CHECK_FALSE(view.devices[0].state.empty());
}
