#include "plugin/admin/advise/peers.h"

#include "plugin/device/match/match_result.h"
#include "plugin/device/match/selector_match.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

bool is_selected(const ResourceConfig& resource, const DeviceFacts& function, bool ask_rdma) {
  return std::any_of(resource.selectors.begin(), resource.selectors.end(), [&](Selector selector) {
    selector.is_rdma = selector.is_rdma && ask_rdma;
    return !find_mismatch(selector, function);
  });
}

bool wants_rdma(const ResourceConfig& resource) {
  return std::any_of(resource.selectors.begin(), resource.selectors.end(),
                     [](const Selector& selector) { return selector.is_rdma; });
}

// These plugins search PCI classes 02 and 12 alone, so they have no eRDMA adapter.
bool has_their_class(const DeviceFacts& function) {
  return function.kind == FunctionKind::accelerator || function.class_code.starts_with("0x02");
}

// It leaves out functions without a driver and PFs with VFs. Its check for the default route does nothing
// since 3.8: the netlink library fills in what it looks for. RDMA devices in pods are invisible to it, and
// devlink is asked in their place.
void select_sriov(const ResourceConfig& resource, const PeerNode& node, const std::set<std::string>& taken,
                  PeerSelection& out) {
  for (const DeviceFacts& function : node.inventory.functions) {
    const std::string id = function.id.text();
    const bool has_vfs = resource.device_type == DeviceType::net_device && function.num_vfs > 0;
    if (type_of(function) != resource.device_type || !function.driver.is_bound() || has_vfs ||
        !has_their_class(function) || taken.contains(id))
      continue;
    const bool visible = !function.rdma.empty() || (node.knows_devlink && function.rdma_capable);
    if (is_selected(resource, function, true) && (visible || !wants_rdma(resource)))
      out.ids.insert(id);
    else if (!node.knows_devlink && !visible && !function.driver.is_user_space() &&
             is_selected(resource, function, false))
      out.maybe.insert(id);
  }
}

bool has_umad(const DeviceFacts& function) {
  return std::any_of(function.rdma.begin(), function.rdma.end(), [](const RdmaFacts& rdma) {
    return std::any_of(rdma.ports.begin(), rdma.ports.end(),
                       [](const RdmaPort& port) { return !port.umad.empty(); });
  });
}

// It wants all three nodes of a device. It takes PFs and VFs alike, what the host uses as well, and a device
// can be in several resources. It ends in exclusive mode.
void select_shared(const ResourceConfig& resource, const PeerNode& node, PeerSelection& out) {
  if (node.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive)
    out.fails = "it does not start in RDMA namespace mode exclusive";
  for (const DeviceFacts& function : node.inventory.functions) {
    const bool has_nodes = node.inventory.rdma_cm && !function.verbs_nodes.empty() && has_umad(function);
    if (function.kind == FunctionKind::network && function.driver.is_bound() && !function.rdma.empty() &&
        has_nodes && has_their_class(function) && is_selected(resource, function, true))
      out.ids.insert(function.id.text());
  }
}

// In mode hca a container has the whole folder /dev/infiniband, whatever is in it.
void select_old(const ResourceConfig& resource, const PeerNode& node, PeerSelection& out) {
  for (const DeviceFacts& function : node.inventory.functions) {
    const bool is_whole_folder = shares(resource) && !function.verbs_nodes.empty();
    if (is_whole_folder || (!shares(resource) && function.is_vf() && is_selected(resource, function, true)))
      out.ids.insert(function.id.text());
  }
}

}  // namespace

const char* name_of(Peer peer) {
  if (peer == Peer::sriov_device_plugin) return "sriov-network-device-plugin";
  return peer == Peer::rdma_shared ? "k8s-rdma-shared-dev-plugin" : "k8s-rdma-sriov-dev-plugin";
}

PeerSelection select_as(Peer peer, const ResourceConfig& resource, const PeerNode& node,
                        const std::set<std::string>& taken) {
  PeerSelection out;
  if (peer == Peer::sriov_device_plugin) select_sriov(resource, node, taken, out);
  if (peer == Peer::rdma_shared) select_shared(resource, node, out);
  if (peer == Peer::rdma_sriov) select_old(resource, node, out);
  return out;
}

}  // namespace vfrail::plugin
