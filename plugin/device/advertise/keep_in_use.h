// keep_in_use(): a pod's device stays in the list of its resource as long as the pod has it, whatever the
// node or the configuration says meanwhile. Pure; what kubelet reports in use and a scan's pools in.
#pragma once

#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <vector>

namespace vfrail::plugin {

// A device that a container has, and that is no longer in its pool (destroyed, without a driver, claimed by
// another resource), stays there, unhealthy and with the reason: kubelet shows it in the pod's status, and
// the list does not depend on when the plugin was started. One that another resource has got only because
// selectors cannot read what is in the container (a partition, a name, an address) goes back to its own,
// healthy. One that a container has of another resource or by a claim is unhealthy in the pool that has it
// now, which would offer it to a second container.
void keep_in_use(Pools& pools, const DevicesInUse& in_use);

// Whether a pool has a device only because a container has it: it leaves the list, or is healthy again, when
// kubelet says that the container has ended.
bool waits_for_containers(const std::vector<PublishedPool>& pools);

// Whether containers have other devices of the published resources than before, or other PCI devices of any
// other resource (null: nothing is known).
bool use_changed(const std::vector<PublishedPool>& pools, const DevicesInUse* before,
                 const DevicesInUse& now);

}  // namespace vfrail::plugin
