#include "plugin/config/config.h"

#include "common/error_id.h"
#include "common/json.h"
#include "common/text.h"
#include "plugin/config/contradiction.h"
#include "plugin/config/formats.h"
#include "plugin/config/names.h"
#include "plugin/config/selector_table.h"
#include "plugin/config/warnings.h"
#include "plugin/documents/config_parts.h"

#include <algorithm>

namespace vfrail {

namespace {

// As the peer's Go int of seconds; what is longer than a year is never.
constexpr int64_t kMaxRescanSeconds = 365LL * 86'400;
// sriov-network-operator's, for the resources of its policies.
constexpr const char* kPolicyPrefix = "openshift.io";

Error no_resources(const Json::Object& top) {
  std::string hint;
  for (const auto& [key, value] : top) {
    const std::string meant = nearest_name(key, {"resourceList", "configList", "mode"});
    if (!meant.empty() && key != meant) hint = "; there is \"" + key + "\", did you mean \"" + meant + "\"?";
  }
  return Error{Errc::invalid, 0,
               "resourceList: missing, and so are configList and mode: there is nothing to advertise" + hint,
               ErrorId::config_empty};
}

size_t entries(const Config& config) { return config.resources.size() + config.skipped.size(); }

// The peer with resourceList ignores the key, as any unknown one; the one with configList does not start with
// an invalid value.
Result<> read_interval(ObjectReader& top, ConfigWarnings& warnings, Config& out) {
  const auto seconds = top.integer("periodicUpdateInterval", 0);
  const Json* list = top.value("configList");
  const bool peers = list != nullptr && list->as_array() != nullptr && !list->as_array()->empty();
  if (!seconds && peers && top.value("resourceList") == nullptr) return seconds.error();
  if (!seconds) warnings.remark(top, "periodicUpdateInterval", "ignored: " + seconds.error().text);
  if (seconds && *seconds) out.rescan_seconds = static_cast<uint32_t>(std::min(**seconds, kMaxRescanSeconds));
  return {};
}

// A list without entries, or no list at all, is not a fault beside a list that has entries: each peer reads
// its own.
Result<> check_empty_lists(ObjectReader& top, ConfigWarnings& warnings, bool has_entries) {
  for (const char* name : {"resourceList", "configList"}) {
    const Json* list = top.value(name);
    if (list != nullptr && list->as_array() == nullptr)
      warnings.remark(top, name, std::string("ignored: must be a list, got ") + list->type_name());
    if (list == nullptr || list->as_array() == nullptr || !list->as_array()->empty()) continue;
    if (!has_entries)
      return top.error(name, "empty, there is nothing to advertise").with_id(ErrorId::config_empty);
    warnings.remark(top, name, "empty, it advertises nothing");
  }
  return {};
}

// Nothing is left to serve: that is not a configuration, whatever is wrong with its entries.
Error nothing_left(const std::vector<SkippedEntry>& skipped) {
  std::string text = skipped.front().reason;
  const size_t more = skipped.size() - 1;
  if (more > 0)
    text += "; and the " + std::to_string(more) + (more == 1 ? " other entry is" : " other entries are") +
            " faulty, too";
  return Error{Errc::invalid, 0, std::move(text), skipped.front().id};
}

// Adds what one configuration says; `options.file` is its place.
Result<> parse_top_level(const Json& json, const ConfigOptions& options, Config& out) {
  const Json::Object* top = json.as_object();
  if (top == nullptr) {
    return Error{Errc::invalid, 0,
                 std::string("must be an object with resourceList, got ") + json.type_name()};
  }
  ObjectReader reader(*top, "", json.line());
  const size_t before = entries(out);
  ConfigWarnings warnings(options.file, options.strict, out);
  TRY(read_interval(reader, warnings, out), "");
  // The peers with a list ignore the keys of the one with mode.
  if (reader.value("resourceList") == nullptr && reader.value("configList") == nullptr)
    TRY(read_mode(reader, options, out), "");
  TRY(read_resource_list(reader, options, out), "");
  TRY(read_config_list(reader, options, out), "");
  const bool has_entries = entries(out) > before;
  TRY(check_empty_lists(reader, warnings, has_entries), "");
  if (!has_entries) return no_resources(*top);
  return warnings.unknown_keys(reader, KeyPlace::top_level);
}

}  // namespace

bool shares(const ResourceConfig& resource) {
  return resource.unit == UnitKind::shared || resource.unit == UnitKind::shared_one;
}

const char* type_name(DeviceType type) {
  if (type == DeviceType::net_device) return "netDevice";
  return type == DeviceType::aux_net_device ? "auxNetDevice" : "accelerator";
}

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
  const size_t mistakes = out_.mistakes.size();
  std::string name;
  const auto read = read_entry(default_prefix, parse, name);
  if (read || options_.strict) return read;
  out_.warnings.resize(warnings);  // the error is enough
  out_.mistakes.resize(mistakes);
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

std::string SkippedEntry::text() const { return text_with_id(reason, id); }

namespace {

Result<Config> parse_parts(const std::vector<Document>& documents, const ConfigOptions& options) {
  const bool own_prefix = options.default_prefix != kPeersPrefix;
  FoundConfig found = TRY(find_config(documents, own_prefix ? options.default_prefix : kPolicyPrefix), "");
  Config out;
  out.warnings = std::move(found.warnings);
  out.mistakes = std::move(found.mistakes);
  out.notes = std::move(found.notes);
  for (const ConfigPart& part : found.parts) {
    ConfigOptions of_part = options;
    of_part.file = part.where;
    TRY(parse_top_level(part.value, of_part, out), part.where);
    if (entries(out) > 2 * kMaxResources)  // each list has its own limit
      return Error{Errc::invalid, 0,
                   part.where + ": more than " + std::to_string(2 * kMaxResources) +
                       " resources in the documents up to here"};
  }
  if (out.resources.empty() && !out.skipped.empty()) return nothing_left(out.skipped);
  make_sockets_distinct(out.resources);
  return out;
}

}  // namespace

Result<Config> parse_config(const std::vector<Document>& documents, const ConfigOptions& options) {
  return with_id(ErrorId::config_invalid, parse_parts(documents, options));
}

Result<Config> parse_config(std::string_view text, const ConfigOptions& options) {
  const auto documents = TRY(read_documents(text, options.file), "");
  Config out = TRY(parse_config(documents, options), "");
  if (out.resources.empty())
    return Error{Errc::invalid, 0, options.file + ": " + no_config(documents), ErrorId::config_empty};
  return out;
}

}  // namespace vfrail
