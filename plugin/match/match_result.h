// Verdict: what one resource says to one function. Pure. The pools are made of it, and `vfrail inspect
// --explain` shows it.
#pragma once

#include "plugin/config/config.h"
#include "plugin/inventory/inventory.h"
#include "plugin/match/refusal.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

enum class MatchKind : uint8_t {
  selected,
  other_type,   // the resource's deviceType is about other functions
  excluded,     // no driver, or its VFs are advertised and not itself
  no_selector,  // none of its selectors matches
  host_use,     // one matches, but the host lives on the function
};

struct MatchResult {
  MatchKind ruling = MatchKind::selected;
  std::optional<size_t> selector;  // the first that matches, also where something else forbids it
  std::vector<Refusal> reasons;    // why not; empty if it is selected
};

MatchResult evaluate(const ResourceConfig& resource, const PciFunction& function);

DeviceType type_of(const PciFunction& function);

}  // namespace vfrail
