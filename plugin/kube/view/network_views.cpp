// Networks, how many attachments they have, and the addresses that are left.
#include "plugin/kube/view/address_ranges.h"
#include "plugin/kube/view/cluster_view.h"

#include <algorithm>

namespace vfrail::kube {

namespace {

// whereabouts names a pool by its range, behind the network's name if that has one, in the namespace where it
// runs: "kube-system/10.1.0.0-16", "kube-system/rail1-10.1.0.0-16".
uint64_t allocated_in(const std::vector<AddressPool>& pools, const AddressRange& range) {
  uint64_t out = 0;
  for (const AddressPool& pool : pools) {
    const std::string name = pool.name.substr(pool.name.find('/') + 1);
    const bool named = range.network_name.empty() ? name.find(range.pool.substr(0, range.pool.find('/'))) == 0
                                                  : name.starts_with(range.network_name + "-");
    // Of IPv6 names have "-" for ":".
    const bool v6 = range.pool.find(':') != std::string::npos && range.network_name.empty();
    if (pool.range == range.pool && (named || v6)) out += pool.allocated;
  }
  return out;
}

void count_addresses(const ClusterFacts& facts, const Json& ipam, NetworkView& view) {
  const auto ranges = whereabouts_ranges(ipam);
  if (ranges.empty()) {
    view.remark = "its ipam has no valid range";
    return;
  }
  if (!text_at(ipam, {"node_slice_size"}).empty()) {
    view.remark = "in slices of nodes: not counted";
    return;
  }
  if (!facts.knows_address_pools) {
    view.remark = "the IPPools of whereabouts cannot be read";
    return;
  }
  uint64_t usable = 0;
  uint64_t left = 0;
  for (const AddressRange& range : ranges) {
    if (!range.usable) {
      view.remark = "IPv6: not counted";
      continue;
    }
    const uint64_t allocated = allocated_in(facts.address_pools, range);
    usable += *range.usable;
    left += *range.usable > allocated ? *range.usable - allocated : 0;
  }
  if (usable == 0) return;
  view.addresses = usable;
  view.addresses_left = left;
}

std::string where_kept(const std::string& ipam) {
  if (ipam == "host-local") return "kept on the nodes";
  if (ipam == "static") return "those of its configuration";
  if (ipam == "dhcp") return "kept by the DHCP server";
  return "kept by " + ipam;
}

}  // namespace

std::vector<NetworkView> networks_with_addresses(const ClusterFacts& facts) {
  std::map<std::string, uint64_t> attachments;
  for (const ClusterPod& pod : facts.pods) {
    for (const PodNetwork& network : pod.networks) ++attachments[network.network];
  }
  std::vector<NetworkView> out;
  for (const ClusterNetwork& network : facts.networks) {
    NetworkView view{.name = network.name,
                     .resource = network.resource,
                     .type = network.type,
                     .attachments = 0,
                     .ipam = text_at(network.ipam, {"type"}),
                     .addresses = {},
                     .addresses_left = {},
                     .remark = network.problem};
    if (const auto found = attachments.find(network.name.text()); found != attachments.end())
      view.attachments = found->second;
    if (view.ipam == "whereabouts")
      count_addresses(facts, network.ipam, view);
    else if (!view.ipam.empty())
      view.remark = where_kept(view.ipam);
    out.push_back(std::move(view));
  }
  std::sort(out.begin(), out.end(),
            [](const NetworkView& a, const NetworkView& b) { return a.name < b.name; });
  return out;
}

}  // namespace vfrail::kube
