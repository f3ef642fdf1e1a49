// Compares one function with one selector object. Pure.
#pragma once

#include "plugin/config.h"
#include "plugin/inventory.h"

#include <optional>
#include <string>

namespace vfrail {

// The first field that does not match, in words: "vendors wants 15b3, this is 8086". Nothing if all match.
std::optional<std::string> find_mismatch(const Selector& selector, const Function& function);

}  // namespace vfrail
