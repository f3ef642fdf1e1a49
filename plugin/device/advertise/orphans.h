// Orphans: devices that an attachment has, or that are in another network namespace, although kubelet has
// given them to no container. Pure.
#pragma once

#include "common/node/attachment_record.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Adds the devices that the units of bundles and of shared pools stand for: kubelet names the units alone.
DevicesInUse with_devices_of_units(DevicesInUse in_use, const std::vector<PublishedPool>& pools);

// Devices that kubelet has allocated to no container although they are in another network namespace, or an
// attachment has them (`attached`, by their ids): orphaned by a pod, or moved by hand. By device, with a
// description.
std::map<std::string, std::string> find_orphaned(const std::vector<PublishedPool>& pools,
                                                 const DevicesInUse& in_use, const AttachedDevices& attached);

}  // namespace vfrail::plugin
