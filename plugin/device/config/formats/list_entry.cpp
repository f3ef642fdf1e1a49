// What the formats with lists have in common.
#include "common/json.h"
#include "plugin/device/config/contradiction.h"
#include "plugin/device/config/formats/formats.h"
#include "plugin/device/config/names.h"
#include "plugin/device/config/selector_table.h"
#include "plugin/device/config/warnings.h"

namespace vfrail::plugin {

Result<> check_unique(const Config& config, const ResourceConfig& added, const ObjectReader& reader,
                      std::string_view key) {
  for (const ResourceConfig& resource : config.resources) {
    if (resource.resource() != added.resource()) continue;
    return reader.error(key, "\"" + added.resource() +
                                 "\" is already the name of another resource; a list of selectors in one "
                                 "resource says \"either\"");
  }
  return {};
}

Result<const Json::Array*> read_list(ObjectReader& top, const char* name) {
  const Json* found = top.value(name);
  const Json* other = top.value(std::string_view(name) == "resourceList" ? "configList" : "resourceList");
  const bool has_other = other != nullptr && other->as_array() != nullptr && !other->as_array()->empty();
  if (has_other && found != nullptr && found->as_array() == nullptr)
    return static_cast<const Json::Array*>(nullptr);
  const Json::Array* list = TRY(top.array(name));
  if (list != nullptr && list->size() > kMaxResources)
    return top.error(name, "more than " + std::to_string(kMaxResources) + " resources");
  return list;
}

std::string ListEntry::place(const std::string& resource) const {
  return list_ + "[" + std::to_string(index_) + "]" + (resource.empty() ? "" : " (" + resource + ")");
}

Result<> ListEntry::read(const std::string& default_prefix, Parse parse) const {
  const size_t warnings = out_.warnings.size();
  std::string name;
  const auto read = read_entry(default_prefix, parse, name);
  if (read) {
    for (size_t i = warnings; i < out_.warnings.size(); ++i) out_.warnings[i].resource = name;
  }
  if (read || options_.strict) return read;
  out_.warnings.erase(out_.warnings.begin() + static_cast<std::ptrdiff_t>(warnings),
                      out_.warnings.end());  // the error is enough
  const ErrorId id = read.error().specific.value_or(ErrorId::config_invalid);
  out_.skipped.push_back({name, options_.file + ": " + read.error().text, id});
  return {};
}

// What the selectors as a whole cannot have been meant for.
void ListEntry::remark_selection(const ObjectReader& reader, const ResourceConfig& resource,
                                 ConfigWarnings& warnings) const {
  const size_t count = resource.selectors.size();
  for (size_t i = 0; i < count; ++i) {
    const std::string key = count == 1 ? "selectors" : "selectors[" + std::to_string(i) + "]";
    const std::string why = contradiction(resource.selectors[i], resource.device_type);
    if (!why.empty()) warnings.mistake(reader, key, "matches nothing on any node: " + why);
    if (i + 1 < count && selects_every_function(resource.selectors[i]))
      warnings.mistake(reader, key, "selects every function, so that those after it have no effect");
  }
  if (const ResourceConfig* before = found_shadowing(out_, resource)) {
    warnings.mistake(reader, "selectors",
                     "matches nothing on any node: " + before->resource() +
                         ", which comes before it, has every device that is selected here");
  }
}

Result<> ListEntry::read_entry(const std::string& default_prefix, Parse parse, std::string& full_name) const {
  const Json::Object* object = json_.as_object();
  if (object == nullptr) {
    return Error{Errc::invalid, 0,
                 place("") + in_line(json_.line()) + ": must be an object, got " + json_.type_name()};
  }
  ObjectReader reader(*object, "", json_.line());
  ResourceConfig named;
  named.prefix = TRY(reader.text("resourcePrefix"), place("")).value_or("");
  if (named.prefix.empty()) named.prefix = default_prefix;  // Go does not distinguish "" from absent
  const auto name = TRY(reader.text("resourceName"), place(""));
  if (!name) return reader.error("resourceName", "missing").in(place(""));
  named.name = *name;
  full_name = named.resource();
  const std::string where = place(full_name);
  TRY(check_resource_prefix(named.prefix), where + ": " + reader.place("resourcePrefix"));
  TRY(check_resource_name(named.name), where + ": " + reader.place("resourceName"));
  ConfigWarnings warnings(options_.file + ": " + where, options_.strict, out_);
  TRY(parse(reader, named, warnings), where);
  TRY(warnings.unknown_keys(reader, KeyPlace::resource), where);
  remark_selection(reader, named, warnings);
  TRY(check_unique(out_, named, reader, "resourceName"), where);
  if (!options_.socket_folder.empty()) TRY(check_socket_path(named, options_.socket_folder), where);
  out_.resources.push_back(std::move(named));
  return {};
}

}  // namespace vfrail::plugin
