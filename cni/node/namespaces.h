// The network namespaces of this node: those that a process is in, and those that are mounted in this mount
// namespace, as a runtime's are (/run/netns). A namespace that only a descriptor or a thread holds is not
// among them; see cni/INTERNALS.md. Reads only.
#pragma once

#include "cni/node/world.h"
#include "common/netlink/kernel.h"
#include "common/result.h"

#include <functional>

namespace vfrail {

// Calls `visit` with each of them except `except`. One that has ended meanwhile is skipped. Ends at the first
// error of `visit`. A readlink(2) for each process (proc_pid_ns(5)), a read of mountinfo
// (proc_pid_mountinfo(5)), a netlink socket in each; /proc must be that of the host's PID namespace.
Result<> for_each_namespace(const World& world, const NetnsId& except,
                            const std::function<Result<>(Kernel&)>& visit);

}  // namespace vfrail
