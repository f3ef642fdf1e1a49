// MatchResult: the result of one resource for one function. Pure. The pools are made from it, and `vfrail
// inspect --explain` shows it.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/refusal.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

enum class MatchKind : uint8_t {
  selected,
  other_type,   // the resource's deviceType is for other functions
  excluded,     // no driver, or its VFs are advertised and not itself
  no_selector,  // none of its selectors matches
  host_use,     // one matches, but the host uses the function
};

struct MatchResult {
  MatchKind kind = MatchKind::selected;
  std::optional<size_t> selector;  // the first that matches, even if something else forbids it
  std::vector<Refusal> reasons;    // why not; empty if it is selected
};

MatchResult evaluate(const ResourceConfig& resource, const DeviceFacts& function);

DeviceType type_of(const DeviceFacts& function);

}  // namespace vfrail::plugin
