// The devices in an answer of kubelet's pod-resources API. Pure; pod_resources.h asks kubelet.
#pragma once

#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"
#include "proto/podresources_v1.pb.h"

#include <set>
#include <string>

namespace vfrail::plugin {

// The devices of the `wanted` resources; of all of them if none is named. Where kubelet names a device twice
// (it did so for pods that had ended), the first counts. More devices than can be are an error and no shorter
// list: what is missing there would be free. If none is named, the PCI devices of ResourceClaims are among
// them, of whichever driver, known by the names that drivers give them: a pod has them as it has those of a
// resource. Of ids that cannot be vfrail's the first ones suffice.
Result<DevicesInUse> read_devices_in_use(const v1::ListPodResourcesResponse& answer,
                                         const std::set<std::string>& wanted);

}  // namespace vfrail::plugin
