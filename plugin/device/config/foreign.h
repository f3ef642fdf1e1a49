// Selector fields that sriov-network-device-plugin does not have for the deviceType of a resource. It ignores
// them, and so does vfrail: the same file selects the same devices. Pure.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/config/warnings.h"

namespace vfrail::plugin {

// Empties such fields in every selector, with a warning for each; a mistake if it was to narrow the
// selection. `reader` has the key "selectors".
void ignore_foreign_fields(ResourceConfig& resource, const ObjectReader& reader, ConfigWarnings& warnings);

}  // namespace vfrail::plugin
