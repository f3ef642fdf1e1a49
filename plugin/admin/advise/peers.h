// What other device plugins select on a node with their configuration, as far as their documented behaviour
// and the facts of a scan say it. For comparisons alone: nothing is advertised by it. Pure.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

enum class Peer : uint8_t {
  sriov_device_plugin,  // sriov-network-device-plugin
  rdma_shared,          // k8s-rdma-shared-dev-plugin
  rdma_sriov,           // k8s-rdma-sriov-dev-plugin and its descendants
};
const char* name_of(Peer peer);  // "sriov-network-device-plugin"

struct PeerNode {
  const Inventory& inventory;
  bool knows_devlink = false;  // devlink's parameters were read, as on a live node
};

struct PeerSelection {
  std::set<std::string> ids;
  std::set<std::string> maybe;  // selected as well if devlink's enable_rdma is true, which was not read
  std::string fails;            // why that plugin does not start on this node; empty: it does
};

// What `peer` selects for a resource of its configuration. `taken`: ids that earlier resources have, where a
// device has one.
PeerSelection select_as(Peer peer, const ResourceConfig& resource, const PeerNode& node,
                        const std::set<std::string>& taken);

}  // namespace vfrail::plugin
