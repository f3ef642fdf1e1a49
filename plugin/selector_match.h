// Compares one function with one selector object. Pure.
#pragma once

#include "plugin/config.h"
#include "plugin/inventory.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// What one field of a selector says to one function.
struct FieldVerdict {
  std::string field;  // "vendors"
  bool matches = false;
  std::string wanted;  // "15b3 or 8086"
  std::string found;   // "14e4", "without a driver"

  // "vendors wants 15b3 or 8086, this is 14e4".
  std::string text() const;
};

bool selects(const Selector& selector, const Function& function);
// The first field that does not match, as its text(); nothing if all match.
std::optional<std::string> find_mismatch(const Selector& selector, const Function& function);
// Every field that the selector has.
std::vector<FieldVerdict> compare(const Selector& selector, const Function& function);

}  // namespace vfrail
