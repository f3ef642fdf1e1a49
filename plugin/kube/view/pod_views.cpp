// Pods that wait for devices and why, and those that have them.
#include "common/text.h"
#include "plugin/kube/view/cluster_view.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

// Why a node cannot serve that many; empty: it can, as far as the resource goes.
std::string obstacle_of(const NodeView& node, const NodeResource& resource, int64_t requested) {
  if (!node.ready) return "not ready";
  if (node.cordoned) return "cordoned";
  if (!resource.not_published.empty())
    return "by Dynamic Resource Allocation, and not published: " + resource.not_published;
  if (resource.free() >= requested) return "";
  const size_t unhealthy = resource.unhealthy.size();
  const std::string bad = unhealthy == 0
                              ? ""
                              : std::to_string(unhealthy) + " unhealthy, " + resource.unhealthy.front().id +
                                    ": " + resource.unhealthy.front().reason;
  if (resource.capacity == 0) return bad.empty() ? "has no device" : bad;
  if (resource.free() == 0 && bad.empty())
    return "full, " + std::to_string(resource.in_use) + " of " + std::to_string(resource.allocatable) +
           " in use";
  return std::to_string(resource.free()) + " of " + std::to_string(resource.capacity) + " free" +
         (bad.empty() ? "" : ", " + bad);
}

// "nvidia.com/hostdev: full, 8 of 8 in use: node-1 node-2 and 30 more". Nodes with the same obstacle are one
// line.
std::vector<std::string> explain_resource(const std::string& resource, int64_t requested,
                                          const std::vector<NodeView>& nodes) {
  std::map<std::string, std::vector<std::string>> by_obstacle;
  for (const NodeView& node : nodes) {
    for (const NodeResource& one : node.resources) {
      if (one.name == resource) by_obstacle[obstacle_of(node, one, requested)].push_back(node.name);
    }
  }
  if (by_obstacle.empty()) return {resource + ": no node offers it"};
  std::vector<std::string> out;
  for (const auto& [obstacle, names] : by_obstacle) {
    out.push_back(resource + ": " +
                  (obstacle.empty() ? "enough free, so the pod waits for something else" : obstacle) + ": " +
                  first_few(names));
  }
  return out;
}

ResourceCounts of_ours(const ResourceCounts& requests, const std::vector<std::string>& resources) {
  ResourceCounts out = requests;
  std::erase_if(out, [&](const auto& entry) {
    return std::find(resources.begin(), resources.end(), entry.first) == resources.end();
  });
  return out;
}

std::vector<std::string> shown_addresses(const ClusterPod& pod) {
  std::vector<std::string> out;
  for (const PodNetwork& network : pod.networks) {
    // The cluster's own network is in every answer of kubectl already.
    if (network.network.find('/') == std::string::npos || network.addresses.empty()) continue;
    out.push_back(network.interface + " " + joined(network.addresses));
  }
  return out;
}

// The resources of its networks: which class of devices its claims are of, they alone say.
ResourceCounts wanted_by_claims(const ClusterPod& pod, const ClusterFacts& facts,
                                const std::vector<std::string>& resources) {
  ResourceCounts out;
  for (const std::string& asked : pod.asked_networks) {
    for (const ClusterNetwork& network : facts.networks) {
      if (network.name.text() == asked && !network.resource.empty()) ++out[network.resource];
    }
  }
  return of_ours(out, resources);
}

}  // namespace

std::vector<PodView> waiting_and_served_pods(const ClusterFacts& facts, const std::vector<NodeView>& nodes,
                                             const std::vector<DeviceView>& devices,
                                             const std::vector<std::string>& resources) {
  std::map<ObjectName, std::vector<std::string>> held;
  for (const DeviceView& device : devices) {
    for (const DeviceHolder& holder : device.holders) held[holder.pod].push_back(device.id);
  }
  // "No node offers it" is not known of nodes that cannot be listed.
  const bool knows_nodes = std::none_of(facts.gaps.begin(), facts.gaps.end(),
                                        [](const Gap& gap) { return gap.what == kNodes.plural; });
  std::vector<PodView> out;
  for (const ClusterPod& pod : facts.pods) {
    PodView view{.name = pod.name,
                 .node = pod.node,
                 .phase = pod.phase,
                 .requests = of_ours(pod.requests, resources),
                 .devices = {},
                 .addresses = shown_addresses(pod),
                 .reason = {},
                 .explanation = {}};
    const ResourceCounts wanted =
        view.requests.empty() ? wanted_by_claims(pod, facts, resources) : view.requests;
    if (const auto found = held.find(pod.name); found != held.end()) view.devices = found->second;
    if (wanted.empty() && view.devices.empty()) continue;
    if (pod.phase == "Pending") view.reason = pod.reason.empty() ? "no reason is reported yet" : pod.reason;
    if (pod.phase == "Pending" && pod.node.empty() && knows_nodes) {
      for (const auto& [resource, requested] : wanted) {
        for (std::string& line : explain_resource(resource, requested, nodes))
          view.explanation.push_back(std::move(line));
      }
    }
    out.push_back(std::move(view));
  }
  std::sort(out.begin(), out.end(), [](const PodView& a, const PodView& b) {
    return std::pair(a.reason.empty(), a.name) < std::pair(b.reason.empty(), b.name);
  });
  return out;
}

}  // namespace vfrail::kube
