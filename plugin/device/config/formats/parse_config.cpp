#include "plugin/device/config/formats/parse_config.h"

#include "common/errors/error_id.h"
#include "common/json.h"
#include "common/text.h"
#include "plugin/device/config/formats/formats.h"
#include "plugin/device/config/formats/vfs.h"
#include "plugin/device/config/names.h"
#include "plugin/device/config/warnings.h"
#include "plugin/documents/config_parts.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// As the peer's Go int of seconds; what is longer than a year is never.
constexpr int64_t kMaxRescanSeconds = 365LL * 86'400;
// sriov-network-operator's, for the resources of its policies.
constexpr const char* kPolicyPrefix = "openshift.io";

std::string hint_of_lists(const Json::Object& top) {
  std::string hint;
  for (const auto& [key, value] : top) {
    const std::string meant = nearest_name(key, {"resourceList", "configList", "mode"});
    if (!meant.empty() && key != meant) hint = "; there is \"" + key + "\", did you mean \"" + meant + "\"?";
  }
  return hint;
}

Error no_resources(const std::string& hint) {
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

// `vfs` is for `vfrail provision`, and a fault in it takes no resource from the node.
Result<> read_provided(ObjectReader& top, ConfigWarnings& warnings, bool strict, VfsConfig& out) {
  VfsConfig more = out;
  const auto read = read_vfs(top, more);
  if (read) out = std::move(more);
  if (read || strict) return read;
  warnings.mistake(top, "vfs", read.error().text);
  return {};
}

// A part without resources is one for `vfrail provision`, if it has `vfs`.
Result<> check_vfs_alone(ObjectReader& top, const std::string& hint) {
  VfsConfig vfs;
  TRY(read_vfs(top, vfs));
  return vfs.entries.empty() || !hint.empty() ? Result<>(no_resources(hint)) : Result<>();
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
  TRY(read_interval(reader, warnings, out));
  TRY(read_provided(reader, warnings, options.strict, out.vfs));
  // The peers with a list ignore the keys of the one with mode.
  if (reader.value("resourceList") == nullptr && reader.value("configList") == nullptr)
    TRY(read_mode(reader, options, out));
  TRY(read_resource_list(reader, options, out));
  TRY(read_config_list(reader, options, out));
  const bool has_entries = entries(out) > before;
  TRY(check_empty_lists(reader, warnings, has_entries));
  if (!has_entries) TRY(check_vfs_alone(reader, hint_of_lists(*top)));
  return warnings.unknown_keys(reader, KeyPlace::top_level);
}

Result<Config> parse_parts(const std::vector<Document>& documents, const ConfigOptions& options) {
  FoundConfig found = TRY(find_config(documents, prefix_of_operator(options.default_prefix)));
  Config out;
  out.warnings = std::move(found.warnings);
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

std::string prefix_of_operator(const std::string& default_prefix) {
  return default_prefix == kPeersPrefix ? kPolicyPrefix : default_prefix;
}

Result<Config> parse_config(const std::vector<Document>& documents, const ConfigOptions& options) {
  return with_id(ErrorId::config_invalid, parse_parts(documents, options));
}

Result<Config> parse_config(std::string_view text, const ConfigOptions& options) {
  const auto documents = TRY(read_documents(text, options.file));
  Config out = TRY(parse_config(documents, options));
  if (out.resources.empty() && !out.vfs.entries.empty())
    return Error{Errc::invalid, 0,
                 options.file +
                     ": it has vfs alone, which is for `vfrail provision`: without resourceList or "
                     "configList there is nothing to advertise",
                 ErrorId::config_empty};
  if (out.resources.empty())
    return Error{Errc::invalid, 0, options.file + ": " + no_config(documents), ErrorId::config_empty};
  return out;
}

}  // namespace vfrail::plugin
