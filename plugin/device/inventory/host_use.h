// What the host itself uses a function for (design: never advertise a function that the host uses): reads
// what common/node/host_use decides from. Pools decide by the resource's policy.
#pragma once

#include "common/node/device.h"
#include "common/node/host_use.h"
#include "common/node/sys_root.h"
#include "plugin/device/inventory/host_network.h"

#include <vector>

namespace vfrail::plugin {

// The interfaces and everything above them from sysfs.
Result<> add_host_links(const SysRoot& sys, const std::vector<Netdev>& netdevs, HostLinks& out);
// With what the network says of each. Pure.
std::vector<HostUseFact> find_host_use(const std::vector<Netdev>& netdevs, HostLinks links,
                                       const HostNetwork& network);
// Both.
Result<std::vector<HostUseFact>> read_host_use(const SysRoot& sys, const std::vector<Netdev>& netdevs,
                                               const HostNetwork& network);

}  // namespace vfrail::plugin
