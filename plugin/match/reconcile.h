// Compares the devices that kubelet reports in use with the node. Pure; reports differences, and keeps a
// pod's device in its list as long as the pod has it.
#pragma once

#include "common/node/attachment_record.h"
#include "plugin/match/devices_in_use.h"
#include "plugin/match/published_pool.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

// A device that a container has, and that is no longer in its pool (destroyed, without a driver, claimed by
// another resource), stays there, unhealthy and with the reason: kubelet shows it in the pod's status, and
// the list does not depend on when the plugin was started. One that another resource has got only because
// selectors cannot read what is in the container (a partition, a name, an address) goes back to its own,
// healthy: the other would offer it to a second container. One that a container has of a resource that is not
// configured (it was renamed) is unhealthy in the pool that has it now.
void keep_in_use(Pools& pools, const DevicesInUse& in_use);

// Whether a pool has a device only because a container has it: it leaves the list, or is healthy again, when
// kubelet says that the container has ended.
bool waits_for_containers(const std::vector<PublishedPool>& pools);

// Whether containers have other devices of the configured resources than before, or other PCI devices of any
// other resource (null: nothing is known).
bool use_changed(const Config& config, const DevicesInUse* before, const DevicesInUse& now);

// Adds the devices that the units of bundles and of shared pools stand for: kubelet names the units alone.
DevicesInUse with_devices_of_units(DevicesInUse in_use, const std::vector<PublishedPool>& pools);

// Devices that kubelet has allocated to no container although they are in another network namespace, or an
// attachment has them (`attached`, by their ids): orphaned by a pod, or moved by hand. By device, with a
// description.
std::map<std::string, std::string> find_orphaned(const std::vector<PublishedPool>& pools,
                                                 const DevicesInUse& in_use, const AttachedDevices& attached);

}  // namespace vfrail::plugin
