// Finds out what the host itself uses a function for (design: never advertise a function that the host uses).
// It states facts; pools.cpp decides by the resource's policy.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/inventory/host_network.h"
#include "plugin/inventory/inventory.h"

#include <vector>

namespace vfrail::plugin {

// Checks the interfaces and everything above them: masters (bond, bridge, team, Open vSwitch) and uppers
// (VLAN, macvlan, ...), transitively. A VRF is above an interface but does not own it.
Result<std::vector<HostUseFact>> find_host_use(const SysRoot& sys, const std::vector<Netdev>& netdevs,
                                               const HostNetwork& network);

}  // namespace vfrail::plugin
