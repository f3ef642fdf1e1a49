#include "plugin/config/selector.h"

#include "plugin/config/selector_table.h"

namespace vfrail {

namespace {

Result<Selector> read_selector(const Json::Object& object, const std::string& path, ConfigWarnings& warnings,
                               int depth) {
  ObjectReader reader(object, path);
  SelectorInput input{reader, warnings, depth};
  Selector out;
  for (const SelectorField& field : selector_fields()) TRY(field.parse(input, out), "");
  TRY(warnings.unknown_keys(reader, KeyPlace::selector), "");
  return out;
}

Error no_object(const std::string& path, const char* wanted, const Json& value) {
  return Error{Errc::invalid, 0, path + ": must be " + wanted + ", got " + value.type_name()};
}

}  // namespace

Result<std::vector<Selector>> parse_selectors(const Json& value, const std::string& path,
                                              ConfigWarnings& warnings, int depth) {
  if (const Json::Object* object = value.as_object())
    return std::vector<Selector>{TRY(read_selector(*object, path, warnings, depth), "")};
  const Json::Array* list = value.as_array();
  if (list == nullptr) return no_object(path, "an object or a list of objects", value);
  if (list->empty())
    return Error{Errc::invalid, 0, path + ": the list is empty; it needs at least one object"};
  std::vector<Selector> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string entry = path + "[" + std::to_string(i) + "]";
    const Json::Object* object = (*list)[i].as_object();
    if (object == nullptr) return no_object(entry, "an object", (*list)[i]);
    out.push_back(TRY(read_selector(*object, entry, warnings, depth), ""));
  }
  return out;
}

}  // namespace vfrail
