// Restores the host's own addresses and routes of a device (cni/plan/host_config.h), which the kernel has
// dropped with its move. Never those that are there.
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

namespace vfrail::cni {

// When the device is in the host again. One that is refused is a warning that names it: no retry would help.
// An error is a failure to read. Without an address in the record nothing is asked.
Result<> restore_host_config(const Record& record, World& world);

}  // namespace vfrail::cni
