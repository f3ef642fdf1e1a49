// Which device nodes the node has. Reads; opens none of them.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <string_view>

namespace vfrail::plugin {

// Whether there is a /dev/NAME ("vhost-net", "infiniband/rdma_cm"): the file is below the root, or the kernel
// has a device of that name in one of its classes, from which devtmpfs creates the file (device_add(),
// drivers/base/core.c). The DaemonSet does not mount the host's /dev. A node that was created by hand or by
// kmod for a module that is not loaded (static nodes) is seen below a root with /dev alone.
Result<bool> has_device_node(const SysRoot& sys, std::string_view name);

}  // namespace vfrail::plugin
