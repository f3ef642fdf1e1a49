// What the host itself uses a function for (design: never advertise a function that the host uses): reads
// what common/node/host_use decides from. Pools decide by the resource's policy.
#pragma once

#include "common/node/device.h"
#include "common/node/host_use.h"
#include "common/node/sys_root.h"
#include "plugin/device/inventory/host_network.h"

#include <vector>

namespace vfrail::plugin {

// The interfaces and everything above them from sysfs, with what the network says of each.
Result<std::vector<HostUseFact>> read_host_use(const SysRoot& sys, const std::vector<Netdev>& netdevs,
                                               const HostNetwork& network);

}  // namespace vfrail::plugin
