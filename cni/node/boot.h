// Which boot of the node this is. Devices do not keep their state over a boot.
#pragma once

#include "cni/node/world.h"

namespace vfrail {

// Empty where the kernel tells none.
Result<std::string> boot_id(const SysRoot& sys);
// A record of an earlier boot says nothing about the devices of this one.
Result<bool> from_this_boot(const Record& record, const World& world);

}  // namespace vfrail
