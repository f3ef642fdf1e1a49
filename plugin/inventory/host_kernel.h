// host_kernel(): the Kernel to scan a root with.
#pragma once

#include "common/netlink/kernel.h"
#include "common/result.h"

#include <memory>
#include <string>

namespace vfrail {

// The kernel of our own network namespace for root "/"; null for any other root: a captured tree, or the
// host's folders mounted into a container, whose network namespace is not the host's.
Result<std::unique_ptr<Kernel>> host_kernel(const std::string& root);

}  // namespace vfrail
