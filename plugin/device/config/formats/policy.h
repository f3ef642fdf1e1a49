// Reads the keys of a resource that no peer has: how it treats its devices, whatever format it is written in.
#pragma once

#include "common/json.h"
#include "plugin/device/config/config.h"
#include "plugin/device/config/warnings.h"

namespace vfrail::plugin {

// hostUse, preferredAllocation, health, extraDeviceNodes, memlock, registerEmpty. A missing key changes
// nothing.
Result<> read_policy(ObjectReader& reader, ResourceConfig& out, ConfigWarnings& warnings);

}  // namespace vfrail::plugin
