// Reads `selectors`: the fields of each object, and which of their values can never match.
#pragma once

#include "common/json.h"
#include "plugin/device/config/config.h"
#include "plugin/device/config/warnings.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// Reads one selector object, or a list of at least one. `path` names the value in messages: "selectors".
// `depth` counts how many `not` are around it.
Result<std::vector<Selector>> parse_selectors(const Json& value, const std::string& path,
                                              ConfigWarnings& warnings, int depth = 0);

}  // namespace vfrail::plugin
