// The wait for the RoCE v2 GID of a pod's address. It changes nothing, so it has no inverse.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/node/gid_table.h"
#include "common/result.h"

#include <chrono>

namespace vfrail::cni {

// Where the RoCE v2 GID of first_for_gid() is, once the kernel has made it, or at the end of the time.
// Nothing is waited for where there can be none: no RDMA device, no address, or no table that could be read.
Result<GidSearch> wait_for_gid(const Record& record, const InPod& in_pod, std::chrono::milliseconds at_most,
                               Kernel& pod, const World& world);

}  // namespace vfrail::cni
