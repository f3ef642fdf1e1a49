// Compares one function with one selector object. Pure.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The result of one field of a selector for one function.
struct FieldMatch {
  std::string field;  // "vendors"
  std::string fact;   // "vendor"
  bool matches = false;
  std::string wanted;  // "one of [15b3, 8086]"
  std::string found;   // "14e4", "none"

  // "vendor is 14e4, want one of [15b3, 8086]".
  std::string text() const;
};

// The first field that does not match, as its text(); empty if all match.
std::optional<std::string> find_mismatch(const Selector& selector, const DeviceFacts& function);
// Every field that the selector has.
std::vector<FieldMatch> compare(const Selector& selector, const DeviceFacts& function);

}  // namespace vfrail::plugin
