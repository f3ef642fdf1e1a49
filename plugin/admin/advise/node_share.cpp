#include "plugin/admin/advise/node_share.h"

#include "plugin/admin/plan/rails.h"
#include "plugin/device/inventory/passed_through.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

bool is_only(const std::vector<std::string>& values, std::string_view word) {
  return values.size() == 1 && values[0] == word;
}

std::optional<bool> takes_hosts_address(const Selector& selector) {
  const auto& links = selector.list("linkTypes");
  if (is_only(links, "infiniband")) return false;
  const auto& vendors = selector.list("vendors");
  const bool adapters = !vendors.empty() && std::all_of(vendors.begin(), vendors.end(), makes_rdma_adapters);
  if (is_only(links, "ether") || adapters) return true;
  return std::nullopt;
}

// All of one answer; else it is not known.
std::optional<bool> by_selectors(const std::vector<const ResourceConfig*>& resources) {
  std::set<std::optional<bool>> answers;
  for (const ResourceConfig* resource : resources) {
    for (const Selector& selector : resource->selectors) answers.insert(takes_hosts_address(selector));
  }
  return answers.size() == 1 ? *answers.begin() : std::nullopt;
}

void add_device(const PoolDevice& device, std::set<std::optional<bool>>& answers, NodeShare& out) {
  const Transport transport = device.facts.transport();
  if (transport == Transport::unknown)
    answers.insert(std::nullopt);
  else
    answers.insert(transport == Transport::roce || transport == Transport::iwarp);
  if (out.rdma.empty() && device.fault.empty() && !device.facts.rdma.empty() && !device.facts.is_vf())
    out.rdma = device.facts.rdma.front().name.text();
}

// Ports that a pod better has not, where the node has others, with the reason.
std::map<PciAddress, std::string> worse_ports(const Inventory& node, const HardwareById& hardware) {
  std::map<PciAddress, std::string> out;
  for (const RailGroup& group : group_rails(node, hardware)) {
    for (const Rail& rail : group.rails) {
      if (!group.other.empty()) out.emplace(rail.address, group.other);
    }
  }
  return out;
}

struct PortState {
  bool healthy = false;  // a device of it
  bool dark = false;
};

void count_ports(const std::map<PciAddress, PortState>& ports, const std::map<PciAddress, std::string>& worse,
                 NodeShare& out) {
  const bool all_are =
      std::all_of(ports.begin(), ports.end(), [&](const auto& port) { return worse.contains(port.first); });
  for (const auto& [address, state] : ports) {
    const auto at = worse.find(address);
    if (!all_are && at != worse.end()) {
      out.others.push_back(address.text());
      out.why_others = at->second;
      continue;
    }
    ++out.rails;
    out.healthy += state.healthy ? 1 : 0;
    out.dark += state.healthy && state.dark ? 1 : 0;
  }
}

}  // namespace

uint32_t NodeShare::cards_of(uint32_t pod_gpus) const {
  if (rails == 0 || gpus == 0 || pod_gpus == 0) return 0;
  const size_t cards = (pod_gpus * rails + gpus - 1) / gpus;
  return static_cast<uint32_t>(std::clamp<size_t>(cards, 1, rails));
}

NodeShare share_of(const Config& config, const std::vector<const ResourceConfig*>& resources,
                   const Inventory* node, const HardwareById& hardware) {
  NodeShare out;
  std::map<PciAddress, PortState> ports;
  std::set<std::optional<bool>> answers;
  if (node != nullptr) {
    for (const Pool& pool : match(config, *node).pools) {
      const bool asked = std::any_of(resources.begin(), resources.end(), [&](const ResourceConfig* resource) {
        return resource->resource() == pool.resource();
      });
      for (const PoolDevice& device : pool.devices) {
        if (!asked) break;
        PortState& state = ports[port_of(device.facts)];
        state.healthy = state.healthy || device.fault.empty();
        state.dark = state.dark || has_no_link(device.facts);
        add_device(device, answers, out);
      }
    }
    count_ports(ports, worse_ports(*node, hardware), out);
    out.gpus = ports.empty() ? 0 : node->gpus.size();
  }
  out.takes_hosts_address = by_selectors(resources);
  if (answers.size() == 1 && *answers.begin()) out.takes_hosts_address = *answers.begin();
  return out;
}

}  // namespace vfrail::plugin
