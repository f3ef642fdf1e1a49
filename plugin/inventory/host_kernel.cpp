#include "plugin/inventory/host_kernel.h"

#include "common/netlink/netlink_kernel.h"

namespace vfrail {

Result<std::unique_ptr<Kernel>> host_kernel(const std::string& root) {
  if (root != "/" && !root.empty()) return std::unique_ptr<Kernel>();
  return NetlinkKernel::open_current();
}

}  // namespace vfrail
