#include "plugin/kube/view/cluster_facts.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;

namespace {

Json json_of(const std::string& text) {
  auto parsed = Json::parse(text);
  if (!parsed) FAIL(parsed.error().text);
  return *parsed;
}

}  // namespace

TEST_CASE("a node's extended resources are read, and what else it has is not") {
  const ClusterNode node = read_cluster_node(json_of(R"({"metadata": {"name": "node-1"},
      "spec": {"unschedulable": true},
      "status": {"capacity": {"cpu": "64", "memory": "1Ti", "nvidia.com/hostdev": "8", "rdma/hca": "1k"},
                 "allocatable": {"nvidia.com/hostdev": "7"},
                 "conditions": [{"type": "Ready", "status": "True"}]}})"));
  CHECK(node.name == "node-1");
  CHECK(node.cordoned);
  CHECK(node.ready);
  CHECK(node.capacity == ResourceCounts{{"nvidia.com/hostdev", 8}, {"rdma/hca", 1000}});
  CHECK(node.allocatable == ResourceCounts{{"nvidia.com/hostdev", 7}});
}

TEST_CASE("a pod requests what its containers request together, or one of its init containers") {
  const auto pod = read_cluster_pod(json_of(R"({"metadata": {"namespace": "train", "name": "w-0"}, "spec": {
      "initContainers": [{"resources": {"requests": {"a.b/c": "3"}}},
                         {"restartPolicy": "Always", "resources": {"requests": {"a.b/d": "1"}}},
                         {"resources": {"requests": {"a.b/d": "4"}}}],
      "containers": [{"resources": {"requests": {"a.b/c": "1", "cpu": "4"}}},
                     {"resources": {"requests": {"a.b/c": "1", "a.b/d": "1"}}}]}})"));
  REQUIRE(pod);
  CHECK(pod->requests == ResourceCounts{{"a.b/c", 3}, {"a.b/d", 5}});
}

TEST_CASE("a pod without extended resources, networks and vfrail's labels is not kept") {
  CHECK_FALSE(read_cluster_pod(json_of(R"({"metadata": {"name": "web"}, "spec": {"containers": [
      {"resources": {"requests": {"cpu": "1"}}}]}, "status": {"phase": "Running"}})")));
}

TEST_CASE("a pod's networks are what Multus reports of them, and nothing of an annotation that is not JSON") {
  const auto pod = [](const std::string& status) {
    Json out = json_of(R"({"metadata": {"name": "w"}, "spec": {"containers": [
        {"resources": {"requests": {"a.b/c": "1"}}}]}})");
    Json annotations = Json::object();
    annotations.set("k8s.v1.cni.cncf.io/network-status", status);
    out.set("metadata", Json::object().set("name", "w").set("annotations", std::move(annotations)));
    return read_cluster_pod(out);
  };
  const auto read = pod(R"([{"name": "cbr0", "interface": "eth0", "ips": ["10.244.1.7"], "default": true},
      {"name": "default/hostdev", "interface": "net1", "ips": ["192.168.100.2"],
       "device-info": {"type": "pci", "version": "1.1.0", "pci": {"pci-address": "0000:18:02.5"}}}])");
  REQUIRE(read);
  REQUIRE(read->networks.size() == 2);
  CHECK(read->networks[1].network == "default/hostdev");
  CHECK(read->networks[1].addresses == std::vector<std::string>{"192.168.100.2"});
  CHECK(read->networks[1].device == "0000:18:02.5");
  CHECK(pod("[{")->networks.empty());
  CHECK(pod(R"("x")")->networks.empty());
}

TEST_CASE("a pod that waits has the scheduler's reason, or that of its container") {
  const auto reason = [](const std::string& status) {
    return read_cluster_pod(json_of(R"({"spec": {"containers": [{"resources": {"requests": {"a.b/c": 1}}}]},
        "status": )" + status + "}"))
        ->reason;
  };
  CHECK(reason(R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
      "reason": "Unschedulable", "message": "0/3 nodes are available: 3 Insufficient a.b/c."}]})") ==
        "Unschedulable: 0/3 nodes are available: 3 Insufficient a.b/c.");
  CHECK(reason(R"({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}],
      "containerStatuses": [{"state": {"waiting": {"reason": "ContainerCreating"}}}]})") ==
        "ContainerCreating");
  CHECK(reason(R"({"phase": "Running"})").empty());
}

TEST_CASE("vfrail's pods are found by the chart's labels, with the port of their pages") {
  const auto pod = read_cluster_pod(json_of(R"({"metadata": {"name": "vfrail-x", "labels": {
      "app.kubernetes.io/name": "vfrail", "app.kubernetes.io/component": "device-plugin"}},
      "spec": {"nodeName": "node-1", "containers": [{"ports": [{"name": "metrics", "containerPort": 9808}]}]},
      "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})"));
  REQUIRE(pod);
  CHECK(pod->is_vfrail);
  CHECK(pod->port == 9808);
  CHECK(pod->ready);
}

TEST_CASE("a network's type is that of its plugin, of a list the first") {
  const auto network = [](const std::string& config) {
    Json out = json_of(R"({"metadata": {"namespace": "default", "name": "hostdev", "annotations":
        {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/hostdev"}}})");
    out.set("spec", Json::object().set("config", config));
    return read_cluster_network(out);
  };
  CHECK(network(R"({"type": "host-device", "ipam": {"type": "whereabouts"}})").type == "host-device");
  CHECK(network(R"({"plugins": [{"type": "vfrail"}, {"type": "tuning"}]})").type == "vfrail");
  CHECK(network(R"({"type": "x"})").resource == "nvidia.com/hostdev");
  CHECK(network("").type.empty());
  CHECK(network("{").problem.find("not valid JSON") != std::string::npos);
}

TEST_CASE("an IPPool has as many allocations as it lists") {
  const AddressPool pool = read_address_pool(json_of(R"({"metadata": {"namespace": "kube-system",
      "name": "192.168.100.128-27"}, "spec": {"range": "192.168.100.128/27",
      "allocations": {"1": {"id": "x", "podref": "default/w-0"}, "2": {"id": "y"}}}})"));
  CHECK(pool.range == "192.168.100.128/27");
  CHECK(pool.allocated == 2);
}
