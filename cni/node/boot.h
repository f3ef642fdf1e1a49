// Which boot of the node this is. Devices do not keep their state over a boot.
#pragma once

#include "cni/node/world.h"

namespace vfrail {

// Empty where the kernel does not report it.
Result<std::string> boot_id(const SysRoot& sys);
// A record of an earlier boot does not describe the devices of this one.
Result<bool> from_this_boot(const Record& record, const World& world);

}  // namespace vfrail
