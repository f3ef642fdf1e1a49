// Whether a record is of this boot and this host. Devices do not keep their state over a boot.
#pragma once

#include "cni/node/world.h"
#include "common/node/attachments.h"

namespace vfrail::cni {

// boot_id(), which must be there: without it every record would be of an earlier boot, after which there is
// nothing to restore. Errc::not_found.
Result<std::string> this_boot(const SysRoot& sys);

// Whether the record is of this boot: one of an earlier boot does not describe the devices of this one.
Result<bool> from_this_boot(const Record& record, const World& world);

// Whether the interface was one of a namespace that was the host's at ADD, and is not any more: a node that
// is itself a container (kind) has its old records, and the machine's boot, in a new namespace. Hardware
// outlives a namespace and is known by its device, so it is restored nevertheless; an interface of software
// does not.
bool ended_with_its_host(const Record& record, const World& world);

}  // namespace vfrail::cni
