#include "plugin/config/config.h"

#include "common/json.h"
#include "common/text.h"
#include "plugin/config/formats.h"
#include "plugin/config/names.h"
#include "plugin/config/warnings.h"

#include <algorithm>

namespace vfrail {

namespace {

// As the peer's Go int of seconds; what is longer than a year is never.
constexpr int64_t kMaxRescanSeconds = 365LL * 86'400;

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

bool has_entries(const Config& config) { return !config.resources.empty() || !config.skipped.empty(); }

// The peer with resourceList ignores the key, as any that it does not know; the one with configList does not
// start with an odd value.
Result<> read_interval(ObjectReader& top, ConfigWarnings& warnings, Config& out) {
  const auto seconds = top.integer("periodicUpdateInterval", 0);
  if (!seconds && top.value("configList") != nullptr) return seconds.error();
  if (!seconds) warnings.remark("periodicUpdateInterval", "ignored: " + seconds.error().text);
  if (seconds && *seconds) out.rescan_seconds = static_cast<uint32_t>(std::min(**seconds, kMaxRescanSeconds));
  return {};
}

// A list without entries beside one that has some is no fault.
Result<> check_empty_lists(ObjectReader& top, ConfigWarnings& warnings, const Config& config) {
  for (const char* name : {"resourceList", "configList"}) {
    const Json* list = top.value(name);
    if (list == nullptr || list->as_array() == nullptr || !list->as_array()->empty()) continue;
    if (!has_entries(config)) return top.error(name, "empty, there is nothing to offer");
    warnings.remark(name, "empty, it offers nothing");
  }
  return {};
}

// Nothing is left to serve: that is no configuration, whatever is wrong with its entries.
Error nothing_left(const std::vector<SkippedEntry>& skipped) {
  std::string text = skipped.front().reason;
  const size_t more = skipped.size() - 1;
  if (more > 0)
    text += "; and the " + std::to_string(more) + (more == 1 ? " other entry is" : " other entries are") +
            " faulty, too";
  return Error{Errc::invalid, 0, std::move(text)};
}

Result<Config> parse_top_level(const Json& json, const ConfigOptions& options) {
  const Json::Object* top = json.as_object();
  if (top == nullptr) {
    return Error{Errc::invalid, 0,
                 std::string("must be an object with resourceList, got ") + json.type_name()};
  }
  ObjectReader reader(*top, "");
  Config out;
  ConfigWarnings warnings(options.file, options.strict, out.warnings);
  TRY(read_interval(reader, warnings, out), "");
  TRY(read_mode(reader, options, out), "");
  TRY(read_resource_list(reader, options, out), "");
  TRY(read_config_list(reader, options, out), "");
  TRY(check_empty_lists(reader, warnings, out), "");
  if (!has_entries(out)) return no_resources(*top);
  TRY(warnings.unknown_keys(reader, KeyPlace::top_level), "");
  return out;
}

}  // namespace

const char* type_name(DeviceType type) {
  if (type == DeviceType::net_device) return "netDevice";
  return type == DeviceType::aux_net_device ? "auxNetDevice" : "accelerator";
}

Result<const Json::Array*> read_list(ObjectReader& top, const char* name) {
  const Json::Array* list = TRY(top.array(name), "");
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
  if (read || options_.strict) return read;
  out_.warnings.resize(warnings);  // the fault is enough to say of it
  out_.skipped.push_back({name, options_.file + ": " + read.error().text});
  return {};
}

Result<> ListEntry::read_entry(const std::string& default_prefix, Parse parse, std::string& full_name) const {
  const Json::Object* object = json_.as_object();
  if (object == nullptr) {
    return Error{Errc::invalid, 0, place("") + ": must be an object, got " + json_.type_name()};
  }
  ObjectReader reader(*object, "");
  ResourceConfig named;
  named.prefix = TRY(reader.text("resourcePrefix"), place("")).value_or("");
  if (named.prefix.empty()) named.prefix = default_prefix;  // Go cannot tell "" from absent
  const auto name = TRY(reader.text("resourceName"), place(""));
  if (!name) return reader.error("resourceName", "missing").in(place(""));
  named.name = *name;
  full_name = named.resource();
  const std::string where = place(full_name);
  TRY(check_resource_prefix(named.prefix), where + ": resourcePrefix");
  TRY(check_resource_name(named.name), where + ": resourceName");
  ConfigWarnings warnings(options_.file + ": " + where, options_.strict, out_.warnings);
  TRY(parse(reader, named, warnings), where);
  TRY(warnings.unknown_keys(reader, KeyPlace::resource), where);
  TRY(check_unique(out_, named), where);
  if (!options_.socket_folder.empty()) TRY(check_socket_path(named, options_.socket_folder), where);
  out_.resources.push_back(std::move(named));
  return {};
}

Result<Config> parse_config(std::string_view text, const ConfigOptions& options) {
  // As Go reads it: a byte that is no UTF-8 becomes U+FFFD.
  const Json json = TRY(Json::parse(well_formed(text)), options.file);
  Config out = TRY(parse_top_level(json, options), options.file);
  if (out.resources.empty()) return nothing_left(out.skipped);
  return out;
}

}  // namespace vfrail
