// Compares what kubelet says is in use with what was seen of the node. Pure; says what differs, and keeps a
// pod's device in its list as long as the pod has it.
#pragma once

#include "plugin/devices_in_use.h"
#include "plugin/pools.h"

#include <string>
#include <vector>

namespace vfrail {

// A device that a container has, and that is in its pool no more (destroyed, without a driver, claimed by
// another resource), stays there, unhealthy and with the reason: kubelet shows it in the pod's status, and
// the list does not depend on when the plugin was started.
void keep_in_use(Pools& pools, const DevicesInUse& in_use);

// Devices that are in another network namespace although kubelet has given them to no container: what a pod
// left behind, or somebody took by hand. Sorted.
std::vector<std::string> find_strays(const Pools& pools, const DevicesInUse& in_use);

}  // namespace vfrail
