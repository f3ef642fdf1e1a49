#include "cni/conf/config_keys.h"

#include <strings.h>
#include <utility>

namespace vfrail::cni {

namespace {

bool same_key(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

void remove_key(Json& json, std::string_view key) {
  if (json.as_object() != nullptr)
    std::erase_if(*json.as_object(), [&](const auto& member) { return same_key(member.first, key); });
}

Json value_of(const Json& json, std::string_view key) {
  Json out;
  if (json.as_object() == nullptr) return out;
  for (const auto& [name, value] : *json.as_object())
    if (same_key(name, key)) out = value;
  return out;
}

void replace_key(Json& json, std::string_view key, Json value) {
  remove_key(json, key);
  json.set(key, std::move(value));
}

}  // namespace vfrail::cni
