// Keys of a network configuration that is made from another one. They match as in ObjectReader, without
// regard to case. Pure.
#pragma once

#include "common/json.h"

#include <string_view>

namespace vfrail::cni {

// Null if it is not there.
Json value_of(const Json& json, std::string_view key);
void remove_key(Json& json, std::string_view key);
void replace_key(Json& json, std::string_view key, Json value);

}  // namespace vfrail::cni
