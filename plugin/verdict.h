// Verdict: what one resource says to one function. Pure. The pools are made of it, and `vfrail inspect
// --explain` shows it.
#pragma once

#include "plugin/config.h"
#include "plugin/inventory.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

enum class Ruling : uint8_t {
  selected,
  other_type,   // the resource's deviceType is about other functions
  excluded,     // no driver, or its VFs are handed out and not itself
  no_selector,  // none of its selectors matches
  host_use,     // one matches, but the host lives on the function
};

struct Verdict {
  Ruling ruling = Ruling::selected;
  std::optional<size_t> selector;    // the first that matches, also where something else forbids it
  std::vector<std::string> reasons;  // why not, a sentence each; empty if it is selected
};

Verdict judge(const ResourceConfig& resource, const Function& function);

DeviceType type_of(const Function& function);

}  // namespace vfrail
