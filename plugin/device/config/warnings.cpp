#include "plugin/device/config/warnings.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/config/selector_table.h"

#include <algorithm>
#include <cctype>
#include <strings.h>

namespace vfrail::plugin {

namespace {

const std::vector<std::string>& known_keys(KeyPlace place) {
  static const std::vector<std::string> kTopLevel = {
      "resourceList", "configList", "mode", "pfNetdevices", "periodicUpdateInterval", "vfs", "rdma"};
  static const std::vector<std::string> kResource = {
      "resourceName",        "resourcePrefix", "deviceType",       "excludeTopology", "selectors",
      "additionalInfo",      "hostUse",        "bundle",           "rdmaHcaMax",      "hcaPerUnit",
      "preferredAllocation", "health",         "extraDeviceNodes", "registerEmpty",   "iommufd",
      "setLinksUp",          "podFiles",       "memlock",          "mountCheck"};
  static const std::vector<std::string> kHealth = {"port", "carrier", "guid", "devlink"};
  switch (place) {
    case KeyPlace::top_level:
      return kTopLevel;
    case KeyPlace::resource:
      return kResource;
    case KeyPlace::health:
      return kHealth;
    case KeyPlace::selector:
      break;
  }
  return selector_keys();
}

std::string hint(const std::string& key, KeyPlace place) {
  const std::string meant = nearest_name(key, known_keys(place));
  if (place == KeyPlace::top_level && ::strcasecmp(meant.c_str(), key.c_str()) == 0)
    return ": it counts only in a file without resourceList and configList";
  if (!meant.empty()) return "; did you mean \"" + meant + "\"?";
  // Version 2 of the peer had selectors one level higher.
  if (place == KeyPlace::resource && is_selector_name(key)) {
    return "; it belongs into \"selectors\"";
  }
  return "";
}

// "_vendors" and "#vendors" are commented out, and "note", a letter away from "not", is a comment.
bool misspelt_selector(const std::string& key) {
  if (key.empty() || std::isalnum(static_cast<unsigned char>(key.front())) == 0) return false;
  return nearest_name(key, known_keys(KeyPlace::selector)).size() > 3;
}

// Whether a selection is wider without the key than somebody may have meant. A text is a comment; a list, a
// flag or an object in a selector was written to select. Beside the selectors a misspelt key can be hostUse.
bool widens(const std::string& key, const Json& value, KeyPlace place) {
  if (key.empty() || std::isalnum(static_cast<unsigned char>(key.front())) == 0) return false;
  if (place == KeyPlace::selector) return value.as_text() == nullptr;
  if (place == KeyPlace::resource) return !hint(key, place).empty();
  return false;
}

}  // namespace

bool is_selector_name(const std::string& key) {
  const auto& names = known_keys(KeyPlace::selector);
  return std::find(names.begin(), names.end(), key) != names.end();
}

std::string selectors_beside(const ObjectReader& reader) {
  std::vector<std::string> found;
  for (const std::string& key : reader.unread()) {
    if (is_selector_name(key)) found.push_back(key);
  }
  if (found.empty()) return "";
  return "; " + joined(found) +
         (found.size() == 1 ? " stands beside it and belongs into it"
                            : " stand beside it and belong into it");
}

void ConfigWarnings::remark(const ObjectReader& reader, std::string_view key, std::string_view what,
                            ErrorId id) {
  out_.warnings.push_back({where_ + ": " + reader.place(key) + ": " + std::string(what), id});
}

void ConfigWarnings::mark_patterns(const ObjectReader& reader, std::string_view key,
                                   const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    if (value.find_first_of("*?[") != std::string::npos)
      mistake(
          reader, key,
          "\"" + value + "\" is a pattern and can never match: " + std::string(key) +
              " are compared as they are; use ifNames for patterns (of a device's own interface), or write "
              "each name");
  }
}

Result<std::vector<std::string>> ConfigWarnings::read_texts(ObjectReader& reader, std::string_view key) {
  auto out = TRY(reader.texts(key, ObjectReader::NullText::empty)).value_or(std::vector<std::string>());
  for (size_t i = 0; i < out.size(); ++i) {
    if ((*reader.value(key)->as_array())[i].is_null())
      remark(reader, std::string(key) + "[" + std::to_string(i) + "]",
             "null counts as \"\", as in Go: write the value that is meant, or remove it");
  }
  return out;
}

Result<> ConfigWarnings::unknown_keys(ObjectReader& reader, KeyPlace place) {
  for (const std::string& key : reader.unread()) {
    if (reader.value(key) == nullptr) continue;  // null, which operators write for unset keys
    const std::string what = "unknown key, ignored" + hint(key, place);
    if (place == KeyPlace::selector && misspelt_selector(key)) {
      return reader
          .error(key, "unknown key; without it, more devices are selected than intended" + hint(key, place))
          .with_id(ErrorId::config_unknown_key);
    }
    if (strict_)
      return reader.error(key, "unknown key" + hint(key, place)).with_id(ErrorId::config_unknown_key);
    remark(reader, key, what,
           widens(key, *reader.value(key), place) ? ErrorId::config_mistake : ErrorId::config_unknown_key);
  }
  return {};
}

}  // namespace vfrail::plugin
