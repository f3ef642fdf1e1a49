// to_yaml(): a value of JSON for people who read YAML. Pure.
#pragma once

#include "common/json.h"

#include <string>

namespace vfrail::plugin {

// In block style, texts quoted where they would be read as something else.
std::string to_yaml(const Json& json);

}  // namespace vfrail::plugin
