// Selectors that match nothing on any node: fields that exclude each other, a `not` that excludes everything,
// and resources for which an earlier one leaves nothing. Pure.
#pragma once

#include "plugin/device/config/config.h"

#include <string>

namespace vfrail::plugin {

// Why no function can match, as a sentence; empty if one can.
std::string contradiction(const Selector& selector, DeviceType type);

// Whether every function that `narrow` selects is one that `wide` selects, as far as their texts show it.
bool implies(const Selector& narrow, const Selector& wide);

// The resource among the earlier ones that has every device which `resource` selects; null if there is none.
const ResourceConfig* found_shadowing(const Config& before, const ResourceConfig& resource);

}  // namespace vfrail::plugin
