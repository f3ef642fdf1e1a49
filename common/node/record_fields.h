// The fields that records of attachments, and the parts of them, have in common (attachment_record.h). Those
// that read name the key in their error.
#pragma once

#include "common/ids.h"
#include "common/ip_address.h"
#include "common/json.h"
#include "common/result.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// Errc::protocol also where the key is missing.
Result<std::string> text_of(ObjectReader& reader, std::string_view key);
Result<MacAddress> mac_of(ObjectReader& reader, std::string_view key);  // empty text: none
Result<IfName> ifname_of(ObjectReader& reader, std::string_view key);
Result<int64_t> number_of(ObjectReader& reader, std::string_view key, int64_t max);

// "addresses"; none if it is missing.
Result<std::vector<IpAddress>> addresses_of(ObjectReader& reader);
Json format_addresses(const std::vector<IpAddress>& addresses);

// No value if it is missing.
template <class T>
Result<std::optional<std::vector<T>>> indices_of(ObjectReader& reader, const std::string& key,
                                                 const char* of) {
  const Json* list = reader.value(key);
  if (list == nullptr) return std::optional<std::vector<T>>();
  if (list->as_array() == nullptr) return reader.error(key, "must be a list");
  std::vector<T> out;
  for (const Json& one : *list->as_array()) {
    const auto* index = one.as_int();
    if (index == nullptr || *index < 0 || *index > std::numeric_limits<T>::max())
      return reader.error(key, std::string("is not the index of an ") + of);
    out.push_back(static_cast<T>(*index));
  }
  return std::optional(std::move(out));
}

template <class T>
Json format_indices(const std::vector<T>& indices) {
  Json out = Json::array();
  for (const T index : indices) out.push(Json(index));
  return out;
}

}  // namespace vfrail
