// Reads the keys of a resource that no peer has: how it treats its devices, whatever format it is written in.
#pragma once

#include "common/json.h"
#include "plugin/config/config.h"
#include "plugin/config/warnings.h"

namespace vfrail::plugin {

// hostUse, preferredAllocation, health, extraDeviceNodes, memlock, registerEmpty. A missing key changes
// nothing.
Result<> read_policy(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings);

}  // namespace vfrail::plugin
