#include "plugin/kube/access/fields.h"

namespace vfrail::kube {

const Json* value_at(const Json& json, FieldPath path) {
  const Json* out = &json;
  for (const std::string_view key : path) {
    if (out != nullptr) out = out->find(key);
  }
  return out == nullptr || out->is_null() ? nullptr : out;
}

std::string text_at(const Json& json, FieldPath path) {
  const Json* value = value_at(json, path);
  const std::string* text = value == nullptr ? nullptr : value->as_text();
  return text == nullptr ? std::string() : *text;
}

const Json::Array& list_at(const Json& json, FieldPath path) {
  static const Json::Array kEmpty;
  const Json* value = value_at(json, path);
  const Json::Array* list = value == nullptr ? nullptr : value->as_array();
  return list == nullptr ? kEmpty : *list;
}

bool is_true_at(const Json& json, FieldPath path) {
  const Json* value = value_at(json, path);
  const bool* flag = value == nullptr ? nullptr : value->as_bool();
  return flag != nullptr && *flag;
}

// Quantities of devices are whole numbers, and any form of zero has no other digit.
bool is_some(const Json& quantity) {
  const std::string* text = quantity.as_text();
  if (text == nullptr) return quantity.as_int() != nullptr && *quantity.as_int() > 0;
  return text->find_first_of("123456789") != std::string::npos;
}

}  // namespace vfrail::kube
