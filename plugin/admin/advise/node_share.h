// What a node has of the resources of a pod: how many devices belong to its GPUs, and by which address they
// speak. Pure.
#pragma once

#include "plugin/admin/report/hardware.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct NodeShare {
  size_t rails = 0;    // ports that the devices are of; 0: the node has none, and nothing is known
  size_t healthy = 0;  // of these, with a device that is healthy
  size_t dark = 0;     // of these, without a link, and healthy all the same
  size_t gpus = 0;
  // Ports of the resource that are not among them: slower than the others, or farther from the GPUs.
  std::vector<std::string> others;
  std::string why_others;
  std::string rdma;  // a shared device whose port works: "mlx5_1"; may be empty
  // Every device takes its addresses from an interface that stays in the host (RoCE and iWARP). No value: not
  // known.
  std::optional<bool> takes_hosts_address;

  // Cards for so many GPUs; 0: not known.
  uint32_t cards_of(uint32_t pod_gpus) const;
};

// `node`: null, nothing is known. Without a device on the node the selectors show what they can.
// `hardware`: of the node; what is missing in it is not known.
NodeShare share_of(const Config& config, const std::vector<const ResourceConfig*>& resources,
                   const Inventory* node, const HardwareById& hardware);

}  // namespace vfrail::plugin
