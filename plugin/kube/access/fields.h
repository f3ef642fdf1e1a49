// Fields of objects of the API, which others have written and where each can be missing. Pure.
#pragma once

#include "common/json.h"

#include <initializer_list>
#include <string>
#include <string_view>

namespace vfrail::kube {

using FieldPath = std::initializer_list<std::string_view>;

// The value below that path of keys; null if it is not there, or null.
const Json* value_at(const Json& json, FieldPath path);
// Empty if it is not there or not a text.
std::string text_at(const Json& json, FieldPath path);
// An empty list if it is not there or not a list.
const Json::Array& list_at(const Json& json, FieldPath path);
// False if it is not there or not a boolean.
bool is_true_at(const Json& json, FieldPath path);
// Of a quantity of devices: whether it is more than zero.
bool is_some(const Json& quantity);

}  // namespace vfrail::kube
