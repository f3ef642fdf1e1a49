// A made-up cluster of three nodes: objects as the API server has them, and pages as vfrail serves them.
#pragma once

#include "plugin/kube/view/cluster_facts.h"

#include <string>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace kube;

inline Json json_of(const std::string& text) {
  auto parsed = Json::parse(text);
  if (!parsed) FAIL(parsed.error().text << " in " << text);
  return *parsed;
}

inline Json node_object(const std::string& name, int capacity, int allocatable) {
  return json_of(R"({"metadata": {"name": ")" + name + R"("}, "status": {"capacity": {"cpu": "64",
      "nvidia.com/hostdev": ")" +
                 std::to_string(capacity) + R"("}, "allocatable": {"nvidia.com/hostdev": ")" +
                 std::to_string(allocatable) +
                 R"("}, "conditions": [{"type": "Ready", "status": "True"}]}})");
}

inline Json pod_object(const std::string& name, const std::string& node, int devices,
                       const std::string& status) {
  Json out = json_of(R"({"metadata": {"namespace": "train", "name": ")" + name + R"("},
      "spec": {"containers": [{"resources": {"requests": {"nvidia.com/hostdev": ")" +
                     std::to_string(devices) + R"("}}}]}, "status": )" + status + "}");
  if (!node.empty()) {
    Json spec = *out.find("spec");
    spec.set("nodeName", node);
    out.set("spec", std::move(spec));
  }
  return out;
}

inline Json with_network_status(Json pod, const std::string& status) {
  Json metadata = *pod.find("metadata");
  metadata.set("annotations", Json::object().set("k8s.v1.cni.cncf.io/network-status", status));
  pod.set("metadata", std::move(metadata));
  return pod;
}

inline Json network_object(const std::string& name, const std::string& config) {
  Json metadata = Json::object().set("namespace", "train").set("name", name);
  metadata.set("annotations", Json::object().set("k8s.v1.cni.cncf.io/resourceName", "nvidia.com/hostdev"));
  return Json::object()
      .set("metadata", std::move(metadata))
      .set("spec", Json::object().set("config", config));
}

// node-1: one device in a pod, one free; node-2: both in use or unhealthy; node-3 does not answer.
inline ClusterFacts made_cluster() {
  ClusterFacts out;
  out.nodes = {read_cluster_node(node_object("node-2", 2, 1)), read_cluster_node(node_object("node-1", 2, 2)),
               read_cluster_node(node_object("node-3", 1, 1)),
               read_cluster_node(json_of(R"({"metadata": {"name": "control-plane"}})"))};
  const char* const running = R"({"phase": "Running"})";
  out.pods = {
      *read_cluster_pod(with_network_status(
          pod_object("worker-0", "node-1", 1, running),
          R"([{"name": "cbr0", "interface": "eth0", "ips": ["10.244.1.7"], "default": true},
              {"name": "train/hostdev", "interface": "net1", "ips": ["192.168.100.2"],
               "device-info": {"type": "pci", "pci": {"pci-address": "0000:18:00.2"}}}])")),
      *read_cluster_pod(with_network_status(
          pod_object("worker-1", "node-2", 1, running),
          R"([{"name": "train/hostdev", "interface": "net1", "ips": ["192.168.100.3"]}])")),
      *read_cluster_pod(pod_object("worker-2", "node-3", 1, running)),
      *read_cluster_pod(pod_object("worker-3", "", 2, R"({"phase": "Pending", "conditions":
          [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/4 nodes are available: 4 Insufficient nvidia.com/hostdev."}]})")),
      *read_cluster_pod(pod_object("worker-4", "node-1", 1, R"({"phase": "Pending", "containerStatuses":
          [{"state": {"waiting": {"reason": "ContainerCreating"}}}]})"))};
  out.networks = {
      read_cluster_network(network_object("hostdev", R"({"type": "host-device", "ipam":
          {"type": "whereabouts", "range": "192.168.100.152/27", "exclude": ["192.168.100.150/31"]}})")),
      read_cluster_network(network_object("local", R"({"type": "vfrail", "ipam": {"type": "host-local"}})"))};
  out.address_pools = {{"kube-system/192.168.100.128-27", "192.168.100.128/27", 2},
                       {"kube-system/10.0.0.0-8", "10.0.0.0/8", 7}};
  out.pages = {{"node-1", json_of(R"({"resources": [{"name": "nvidia.com/hostdev"}], "devices": [
      {"id": "0000:18:00.2", "state": "allocated", "rdma": [], "netdevs": [],
       "resources": [{"name": "nvidia.com/hostdev", "healthy": true, "fault": ""}],
       "pods": [{"namespace": "train", "name": "worker-0", "container": "a", "source": "kubelet"},
                {"namespace": "train", "name": "worker-0", "container": "b", "source": "kubelet"}]},
      {"id": "0000:18:00.3", "state": "healthy", "netdevs": [{"name": "ens1", "operstate": "up"}],
       "rdma": [{"name": "mlx5_3", "ports": [{"number": 1, "state": "ACTIVE"}]}],
       "resources": [{"name": "nvidia.com/hostdev", "healthy": true, "fault": ""}], "pods": []},
      {"id": "0000:18:00.0", "state": "has_vfs", "resources": [], "pods": []}]})")},
               {"node-2", json_of(R"({"resources": [{"name": "nvidia.com/hostdev"}], "devices": [
      {"id": "0000:18:00.2", "state": "allocated",
       "resources": [{"name": "nvidia.com/hostdev", "healthy": true, "fault": ""}],
       "pods": [{"namespace": "train", "name": "worker-1", "container": "a", "source": "kubelet"}]},
      {"id": "0000:18:00.3", "state": "unhealthy", "netdevs": [{"name": "ens1", "operstate": "down"}],
       "resources": [{"name": "nvidia.com/hostdev", "healthy": false, "fault": "port 1 of mlx5_3 is DOWN"}],
       "pods": [{"namespace": null, "name": null, "container": null, "source": "record"}]}]})")}};
  out.gaps = {{"node-3", "no answer: 503"}};
  return out;
}

}  // namespace vfrail::test
