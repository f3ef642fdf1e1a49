// AllocatedPart: what a container gets of one pool: its units checked, the facts of their devices read now,
// and the Allocation that follows from them. Writes nothing.
#pragma once

#include "common/node/attachment_record.h"
#include "common/result.h"
#include "plugin/device/allocate/allocation.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/device/match/published_pool.h"

#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct AllocatedPart {
  PublishedPool pool;
  std::vector<std::string> units;
  Allocation allocation;              // of the devices that are in the host
  std::set<std::string> in_pod = {};  // ids of those that a pod has: nothing can be read of them now
};
using AllocatedContainer = std::vector<AllocatedPart>;

// Without `attached` a device that a pod has is an error: it is to be allocated. With it, of devices that
// were prepared before, it is in `in_pod`: vfrail-cni has attached it, or its RDMA device is not in the host.
Result<std::vector<AllocatedContainer>> allocate_containers(const std::vector<ContainerUnits>& containers,
                                                            const AllocatePlaces& places,
                                                            const AttachedDevices* attached = nullptr);

}  // namespace vfrail::plugin
