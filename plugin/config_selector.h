// Reads one object of `selectors`: its fields, and what about them can never match.
#pragma once

#include "common/json.h"
#include "plugin/config.h"
#include "plugin/config_warnings.h"

#include <string>

namespace vfrail {

// `path` names the object in messages: "selectors" or "selectors[1]".
Result<Selector> parse_selector(const Json::Object& object, const std::string& path,
                                ConfigWarnings& warnings);

}  // namespace vfrail
