// Which boot of the node this is. Devices do not keep their state over a boot.
#pragma once

#include "cni/node/world.h"

namespace vfrail {

// Empty where the kernel does not report it.
Result<std::string> boot_id(const SysRoot& sys);
// A record of an earlier boot does not describe the devices of this one.
Result<bool> from_this_boot(const Record& record, const World& world);

// The interface was one of a namespace that was the host's at ADD, and is not any more: a node that is itself
// a container (kind) has its old records, and the machine's boot, in a new namespace. Hardware outlives a
// namespace and is known by its device, so it is restored nevertheless; an interface of software does not.
bool ended_with_its_host(const Record& record, const World& world);

}  // namespace vfrail
