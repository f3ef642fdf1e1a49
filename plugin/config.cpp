#include "plugin/config.h"

#include "common/json.h"
#include "plugin/config_formats.h"
#include "plugin/config_names.h"
#include "plugin/config_warnings.h"

namespace vfrail {

namespace {

constexpr uint32_t kMaxRescanSeconds = 86'400;

Result<> check_unique(const Config& config, const ResourceConfig& added) {
  for (const ResourceConfig& resource : config.resources) {
    if (resource.resource() != added.resource()) continue;
    return Error{Errc::invalid, 0,
                 "resourceName: \"" + added.resource() +
                     "\" is already the name of another resource; a list of selectors in one resource says "
                     "\"either\""};
  }
  return {};
}

Error no_resources(const Json::Object& top) {
  std::string hint;
  for (const auto& [key, value] : top) {
    const std::string meant = nearest_name(key, {"resourceList", "configList", "mode"});
    if (!meant.empty() && key != meant) hint = "; there is \"" + key + "\", did you mean \"" + meant + "\"?";
  }
  return Error{Errc::invalid, 0,
               "resourceList: missing, and so are configList and mode: there is nothing to offer" + hint};
}

Result<Config> parse_top_level(const Json& json, const ConfigOptions& options) {
  const Json::Object* top = json.as_object();
  if (top == nullptr) {
    return Error{Errc::invalid, 0,
                 std::string("an object with resourceList is wanted, this is ") + json.type_name()};
  }
  ObjectReader reader(*top, "");
  Config out;
  const auto seconds = TRY(reader.integer("periodicUpdateInterval", 0, kMaxRescanSeconds), "");
  if (seconds) out.rescan_seconds = static_cast<uint32_t>(*seconds);
  TRY(read_mode(reader, options, out), "");
  TRY(read_resource_list(reader, options, out), "");
  TRY(read_config_list(reader, options, out), "");
  if (out.resources.empty()) return no_resources(*top);
  ConfigWarnings warnings(options.file, options.strict, out.warnings);
  TRY(warnings.unknown_keys(reader, KeyPlace::top_level), "");
  return out;
}

}  // namespace

Result<const Json::Array*> read_list(ObjectReader& top, const char* name) {
  const Json::Array* list = TRY(top.array(name), "");
  if (list == nullptr) return list;
  if (list->empty()) return top.error(name, "empty, there is nothing to offer");
  if (list->size() > kMaxResources)
    return top.error(name, "more than " + std::to_string(kMaxResources) + " resources");
  return list;
}

std::string ListEntry::place(const std::string& resource) const {
  return list_ + "[" + std::to_string(index_) + "]" + (resource.empty() ? "" : " (" + resource + ")");
}

Result<> ListEntry::read(const std::string& default_prefix, Parse parse) const {
  const Json::Object* object = json_.as_object();
  if (object == nullptr) {
    return Error{Errc::invalid, 0, place("") + ": an object is wanted, this is " + json_.type_name()};
  }
  ObjectReader reader(*object, "");
  ResourceConfig named;
  named.prefix = TRY(reader.text("resourcePrefix"), place("")).value_or("");
  if (named.prefix.empty()) named.prefix = default_prefix;  // Go cannot tell "" from absent
  const auto name = TRY(reader.text("resourceName"), place(""));
  if (!name) return reader.error("resourceName", "missing").in(place(""));
  named.name = *name;
  const std::string where = place(named.resource());
  TRY(check_resource_prefix(named.prefix), where + ": resourcePrefix");
  TRY(check_resource_name(named.name), where + ": resourceName");
  ConfigWarnings warnings(options_.file + ": " + where, options_.strict, out_.warnings);
  TRY(parse(reader, named, warnings), where);
  TRY(warnings.unknown_keys(reader, KeyPlace::resource), where);
  TRY(check_unique(out_, named), where);
  out_.resources.push_back(std::move(named));
  return {};
}

Result<Config> parse_config(std::string_view text, const ConfigOptions& options) {
  const Json json = TRY(Json::parse(text), options.file);
  return TRY(parse_top_level(json, options), options.file);
}

}  // namespace vfrail
