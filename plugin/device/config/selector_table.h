// The selectors, one row each: key, words, documentation, parsing, matching. All readers, comparisons,
// descriptions and documents use this table: a new selector is a new row.
#pragma once

#include "common/json.h"
#include "plugin/device/config/config.h"
#include "plugin/device/config/warnings.h"
#include "plugin/device/inventory/inventory.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The source of a row's value.
struct SelectorInput {
  ObjectReader& reader;
  ConfigWarnings& warnings;
  int depth;  // how many `not` are around the selector
};

struct SelectorField {
  const char* key;       // "vendors"
  const char* alias;     // "deviceIDs": a second key for the same values; empty: none
  const char* fact;      // the fact that it compares: "vendor", in "vendor is 1af4, want one of [15b3]"
  const char* document;  // for plugin/README.md
  // sriov-network-device-plugin's deviceTypes that have it; empty: all.
  std::vector<DeviceType> types;

  std::function<Result<>(SelectorInput&, Selector&)> parse;
  std::function<bool(const Selector&)> is_set;
  std::function<void(Selector&)> clear;
  // Empty: no filter.
  std::function<bool(const Selector&, const DeviceFacts&)> matches;
  std::function<std::string(const Selector&)> wanted;    // "one of [15b3, 8086]"
  std::function<std::string(const DeviceFacts&)> found;  // "14e4", "none"
};

// The peer's fields in the peer's order, so that the reason is the one its users know; then those of vfrail.
const std::vector<SelectorField>& selector_fields();

// Every key and alias.
const std::vector<std::string>& selector_keys();

// Whether no field narrows it.
bool selects_every_function(const Selector& selector);

// Whether every field that is set matches.
bool selects(const Selector& selector, const DeviceFacts& function);

// The table of plugin/README.md: a line for each field, in Markdown.
std::string selectors_document();

}  // namespace vfrail::plugin
