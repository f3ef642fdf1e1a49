// The kernel's list of what stands on an interface (common/kernel/upper_links.h), and how this node's
// programs get it: where the kernel keeps it is found once a boot, and kept in the state folder, which root
// alone writes.
#pragma once

#include "common/kernel/kernel.h"
#include "common/log.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <functional>
#include <string>

namespace vfrail::cni {

// World::upper_links of this node; the log must outlive it. An error is one of
// read_upper_links() or find_upper_offsets(), also of a kernel without /sys/kernel/btf/vmlinux
// (CONFIG_DEBUG_INFO_BTF); it is logged once a boot, for it is the same at each DEL.
std::function<Result<UpperLinks>(Kernel& there, int index)> upper_links_of(const SysRoot& sys,
                                                                           const std::string& state_folder,
                                                                           Log& log);

}  // namespace vfrail::cni
