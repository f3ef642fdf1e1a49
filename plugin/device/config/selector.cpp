#include "plugin/device/config/selector.h"

#include "plugin/device/config/selector_table.h"

namespace vfrail::plugin {

namespace {

// Of a key that was probably meant to select: "vendors": [].
std::string first_empty_list(const Json::Object& object) {
  for (const auto& [key, value] : object) {
    if (value.as_array() != nullptr && value.as_array()->empty()) return key;
  }
  return {};
}

Result<Selector> read_selector(const Json& json, const std::string& path, ConfigWarnings& warnings,
                               int depth) {
  ObjectReader reader(*json.as_object(), path, json.line());
  SelectorInput input{reader, warnings, depth};
  Selector out;
  for (const SelectorField& field : selector_fields()) TRY(field.parse(input, out));
  TRY(warnings.unknown_keys(reader, KeyPlace::selector));
  const std::string empty = first_empty_list(*json.as_object());
  if (depth == 0 && !empty.empty() && selects_every_function(out))
    warnings.mistake(
        reader, empty,
        "empty, and there is no other selector, so every function is selected; write {} if that is meant");
  return out;
}

Error no_object(const std::string& path, const char* wanted, const Json& value) {
  return Error{Errc::invalid, 0,
               path + in_line(value.line()) + ": must be " + wanted + ", got " + value.type_name()};
}

}  // namespace

Result<std::vector<Selector>> parse_selectors(const Json& value, const std::string& path,
                                              ConfigWarnings& warnings, int depth) {
  if (value.as_object() != nullptr)
    return std::vector<Selector>{TRY(read_selector(value, path, warnings, depth))};
  const Json::Array* list = value.as_array();
  if (list == nullptr) return no_object(path, "an object or a list of objects", value);
  if (list->empty())
    return Error{Errc::invalid, 0,
                 path + in_line(value.line()) + ": the list is empty; it needs at least one object"};
  std::vector<Selector> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string entry = path + "[" + std::to_string(i) + "]";
    const Json& one = (*list)[i];
    if (one.as_object() == nullptr) return no_object(entry, "an object", one);
    out.push_back(TRY(read_selector(one, entry, warnings, depth)));
  }
  return out;
}

const std::vector<std::string>& Selector::list(std::string_view key) const {
  static const std::vector<std::string> kNone;
  const auto at = lists.find(key);
  return at == lists.end() ? kNone : at->second;
}

}  // namespace vfrail::plugin
