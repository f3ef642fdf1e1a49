#include "plugin/kube/view/cluster_view.h"

#include "common/text.h"

#include <algorithm>
#include <set>

namespace vfrail::kube {

namespace {

// Which resources are vfrail's; where neither a node nor a network says so, for want of a right, all that
// pods request: `guessed`.
std::vector<std::string> resources_of(const ClusterFacts& facts, const ViewFilter& filter, bool& guessed) {
  if (!filter.resource.empty()) return {filter.resource};
  std::set<std::string> out;
  for (const NodePage& page : facts.pages) {
    for (const Json& resource : list_at(page.json, {"resources"})) out.insert(text_at(resource, {"name"}));
  }
  if (facts.pages.empty()) {
    for (const ClusterNetwork& network : facts.networks) out.insert(network.resource);
  }
  out.erase("");
  guessed = out.empty() && !facts.gaps.empty();
  if (guessed) {
    for (const ClusterPod& pod : facts.pods) {
      for (const auto& [resource, count] : pod.requests) out.insert(resource);
    }
  }
  return {out.begin(), out.end()};
}

const Json* page_of(const ClusterFacts& facts, const std::string& node) {
  const auto found = std::find_if(facts.pages.begin(), facts.pages.end(),
                                  [&](const NodePage& page) { return page.node == node; });
  return found == facts.pages.end() ? nullptr : &found->json;
}

int64_t count_in(const ResourceCounts& counts, const std::string& resource) {
  const auto found = counts.find(resource);
  return found == counts.end() ? 0 : found->second;
}

using UseOfNodes = std::map<std::string, ResourceCounts>;

UseOfNodes use_of_nodes(const std::vector<ClusterPod>& pods) {
  UseOfNodes out;
  for (const ClusterPod& pod : pods) {
    if (pod.node.empty() || pod.phase == "Succeeded" || pod.phase == "Failed") continue;
    for (const auto& [resource, count] : pod.requests) out[pod.node][resource] += count;
  }
  return out;
}

std::vector<UnhealthyDevice> unhealthy_devices(const Json* page, const std::string& resource) {
  std::vector<UnhealthyDevice> out;
  if (page == nullptr) return out;
  for (const Json& device : list_at(*page, {"devices"})) {
    for (const Json& use : list_at(device, {"resources"})) {
      if (text_at(use, {"name"}) != resource) continue;
      if (std::string fault = text_at(use, {"fault"}); !fault.empty())
        out.push_back({text_at(device, {"id"}), std::move(fault)});
    }
  }
  return out;
}

const Json* resource_in(const Json* page, const std::string& name) {
  if (page == nullptr) return nullptr;
  for (const Json& one : list_at(*page, {"resources"})) {
    if (text_at(one, {"name"}) == name) return &one;
  }
  return nullptr;
}

// Devices that pods have, as the node knows it: a pod with a claim of its own requests no resource.
int64_t allocated_devices(const Json& page, const std::string& resource) {
  int64_t out = 0;
  for (const Json& device : list_at(page, {"devices"})) {
    const Json::Array& uses = list_at(device, {"resources"});
    out += text_at(device, {"state"}) == "allocated" &&
           std::any_of(uses.begin(), uses.end(),
                       [&](const Json& use) { return text_at(use, {"name"}) == resource; });
  }
  return out;
}

// The Node counts devices of the device plugin alone.
void count_by_claims(const Json& page, const Json& resource, NodeResource& view) {
  const Json* dra = resource.find("dra");
  if (dra == nullptr || dra->as_object() == nullptr) return;
  view.by_claims = true;
  if (!is_true_at(resource, {"dra", "published"})) {
    view.not_published = text_at(resource, {"dra", "not_published_reason"});
    if (view.not_published.empty()) view.not_published = "the reason is not known";
  }
  const auto count = [&](const char* key) {
    const Json* number = resource.find(key);
    return number == nullptr || number->as_int() == nullptr ? int64_t{0} : *number->as_int();
  };
  view.capacity = count("units");
  view.allocatable = view.not_published.empty() ? count("healthy_units") : 0;
  // Units of several devices, and shares of one, are counted by what pods request.
  const bool is_single = view.capacity == static_cast<int64_t>(list_at(resource, {"devices"}).size());
  if (is_single) view.in_use = std::max(view.in_use, allocated_devices(page, view.name));
}

// One that offers none of the resources, and whose vfrail names none, is not of the view.
std::vector<NodeView> nodes_with_resources(const ClusterFacts& facts,
                                           const std::vector<std::string>& resources) {
  std::vector<NodeView> out;
  const UseOfNodes uses = use_of_nodes(facts.pods);
  for (const ClusterNode& node : facts.nodes) {
    const Json* page = page_of(facts, node.name);
    const auto use = uses.find(node.name);
    NodeView view{node.name, node.ready, node.cordoned, page != nullptr, {}};
    for (const std::string& resource : resources) {
      const Json* named = resource_in(page, resource);
      if (named == nullptr && !node.capacity.contains(resource)) continue;
      NodeResource& one = view.resources.emplace_back();
      one.name = resource;
      one.capacity = count_in(node.capacity, resource);
      one.allocatable = count_in(node.allocatable, resource);
      one.in_use = use == uses.end() ? 0 : count_in(use->second, resource);
      one.unhealthy = unhealthy_devices(page, resource);
      if (named != nullptr) count_by_claims(*page, *named, one);
    }
    if (!view.resources.empty()) out.push_back(std::move(view));
  }
  return out;
}

// Of an RDMA device its first port, else the interface.
std::string port_of(const Json& device) {
  for (const Json& rdma : list_at(device, {"rdma"})) {
    for (const Json& port : list_at(rdma, {"ports"})) {
      if (std::string state = text_at(port, {"state"}); !state.empty()) return state;
    }
  }
  for (const Json& netdev : list_at(device, {"netdevs"})) return text_at(netdev, {"operstate"});
  return "";
}

// Of the network with that device; where Multus reports no devices, of the only network with the resource.
std::string address_in_pod(const ClusterFacts& facts, const ClusterPod& pod, const std::string& id,
                           const std::string& resource) {
  std::vector<const PodNetwork*> by_resource;
  for (const PodNetwork& network : pod.networks) {
    if (network.device == id) return joined(network.addresses);
    const auto named =
        std::find_if(facts.networks.begin(), facts.networks.end(),
                     [&](const ClusterNetwork& one) { return one.name.text() == network.network; });
    if (network.device.empty() && named != facts.networks.end() && named->resource == resource)
      by_resource.push_back(&network);
  }
  return by_resource.size() == 1 && count_in(pod.requests, resource) == 1
             ? joined(by_resource.front()->addresses)
             : "";
}

std::vector<DeviceHolder> holders_of(const Json& device, const ClusterFacts& facts,
                                     const std::map<ObjectName, const ClusterPod*>& pods,
                                     const std::string& resource) {
  std::vector<DeviceHolder> out;
  for (const Json& use : list_at(device, {"pods"})) {
    const ObjectName name{text_at(use, {"namespace"}), text_at(use, {"name"})};
    // A record of vfrail-cni whose pod kubelet no longer knows has no name.
    if (name.name.empty()) continue;
    // A pod's containers share its attachments.
    if (std::any_of(out.begin(), out.end(), [&](const DeviceHolder& one) { return one.pod == name; }))
      continue;
    const auto pod = pods.find(name);
    out.push_back({name, pod == pods.end()
                             ? ""
                             : address_in_pod(facts, *pod->second, text_at(device, {"id"}), resource)});
  }
  return out;
}

using TrafficOfDevices = std::map<std::pair<std::string_view, std::string_view>, const Rates*>;

// By node and device.
TrafficOfDevices traffic_of_devices(const std::vector<NodeTraffic>& nodes) {
  TrafficOfDevices out;
  for (const NodeTraffic& node : nodes) {
    for (const DeviceRates& one : node.rates) out[{node.node, one.device.id}] = &one.rates;
  }
  return out;
}

std::vector<DeviceView> devices_of_nodes(const ClusterFacts& facts,
                                         const std::vector<std::string>& resources) {
  std::map<ObjectName, const ClusterPod*> pods;
  for (const ClusterPod& pod : facts.pods) pods[pod.name] = &pod;
  const TrafficOfDevices traffic = traffic_of_devices(facts.traffic);
  std::vector<DeviceView> out;
  for (const NodePage& page : facts.pages) {
    for (const Json& device : list_at(page.json, {"devices"})) {
      for (const Json& use : list_at(device, {"resources"})) {
        const std::string resource = text_at(use, {"name"});
        if (std::find(resources.begin(), resources.end(), resource) == resources.end()) continue;
        out.push_back({.node = page.node,
                       .id = text_at(device, {"id"}),
                       .resource = resource,
                       .state = text_at(device, {"state"}),
                       .fault = text_at(use, {"fault"}),
                       .port = port_of(device),
                       .holders = holders_of(device, facts, pods, resource)});
        if (const auto found = traffic.find({page.node, out.back().id}); found != traffic.end())
          out.back().traffic = *found->second;
      }
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const DeviceView& a, const DeviceView& b) { return a.node < b.node; });
  return out;
}

// A node that offers one of the resources, has not answered and is in no gap yet has no vfrail.
void name_silent_nodes(ClusterView& view) {
  for (const NodeView& node : view.nodes) {
    const bool named = std::any_of(view.gaps.begin(), view.gaps.end(),
                                   [&](const Gap& gap) { return gap.what == node.name; });
    if (!node.answered && !named) view.gaps.push_back({node.name, "no pod of vfrail is on this node"});
  }
}

void keep_filtered(const ViewFilter& filter, ClusterView& view) {
  if (!filter.node.empty()) {
    std::erase_if(view.nodes, [&](const NodeView& node) { return node.name != filter.node; });
    std::erase_if(view.devices, [&](const DeviceView& device) { return device.node != filter.node; });
    // A pod without a node may go to this one.
    std::erase_if(view.pods,
                  [&](const PodView& pod) { return !pod.node.empty() && pod.node != filter.node; });
  }
  if (!filter.resource.empty())
    std::erase_if(view.networks, [&](const NetworkView& one) { return one.resource != filter.resource; });
  if (!filter.name_space.empty()) {
    std::erase_if(view.networks,
                  [&](const NetworkView& one) { return one.name.name_space != filter.name_space; });
    std::erase_if(view.pods, [&](const PodView& pod) { return pod.name.name_space != filter.name_space; });
  }
}

}  // namespace

ClusterView make_cluster_view(const ClusterFacts& facts, const ViewFilter& filter) {
  bool guessed = false;
  const std::vector<std::string> resources = resources_of(facts, filter, guessed);
  ClusterView out;
  out.nodes = nodes_with_resources(facts, resources);
  std::sort(out.nodes.begin(), out.nodes.end(),
            [](const NodeView& a, const NodeView& b) { return a.name < b.name; });
  out.devices = devices_of_nodes(facts, resources);
  out.pods = waiting_and_served_pods(facts, out.nodes, out.devices, resources);
  out.networks = networks_with_addresses(facts);
  out.gaps = facts.gaps;
  if (guessed && !resources.empty())
    out.gaps.push_back({"resources", "which are vfrail's is not known: all that pods request are shown"});
  keep_filtered(filter, out);  // of the others with --node no page was asked for
  if (!facts.pages.empty()) name_silent_nodes(out);
  if (!filter.node.empty() && !facts.nodes.empty() &&
      std::none_of(facts.nodes.begin(), facts.nodes.end(),
                   [&](const ClusterNode& node) { return node.name == filter.node; }))
    out.gaps.push_back({filter.node, "there is no such node"});
  return out;
}

}  // namespace vfrail::kube
