// host_kernel(): the Kernel to scan a root with, and whether this process is in the host's network namespace.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <memory>
#include <string>

namespace vfrail::plugin {

// Whether this thread is in the network namespace of the init process whose procfs is below the root. No: in
// a pod's, or no procfs is there, as in a captured tree. An error: it cannot be read. Needs no capability.
Result<bool> is_host_netns(const SysRoot& sys);

// The kernel of our own network namespace for root "/", and for another root if that namespace is the host's;
// else null: a captured tree, or the host's folders mounted into a pod with a network of its own.
Result<std::unique_ptr<Kernel>> host_kernel(const std::string& root);

}  // namespace vfrail::plugin
