#include "plugin/config.h"

#include "common/ids.h"
#include "common/json.h"
#include "plugin/config_names.h"
#include "plugin/config_selector.h"
#include "plugin/config_warnings.h"

#include <optional>

namespace vfrail {

namespace {

// Far more than a node has network functions.
constexpr size_t kMaxResources = 256;

std::string place(size_t index, const std::string& resource) {
  std::string out = "resourceList[" + std::to_string(index) + "]";
  if (!resource.empty()) out += " (" + resource + ")";
  return out;
}

Result<> check_device_type(ObjectReader& reader) {
  const std::string type = TRY(reader.text("deviceType"), "").value_or("netDevice");
  if (type == "netDevice") return {};
  if (type == "auxNetDevice" || type == "accelerator") {
    Error error = reader.error("deviceType", "\"" + type + "\" is not in this version yet, netDevice is");
    error.code = Errc::unsupported;
    return error;
  }
  const std::string meant = nearest_name(type, {"netDevice", "auxNetDevice", "accelerator"});
  return reader.error("deviceType", "\"" + type + "\" is unknown, allowed is netDevice" +
                                        (meant.empty() ? "" : "; did you mean \"" + meant + "\"?"));
}

Result<HostUse> parse_host_use(ObjectReader& reader) {
  const auto word = TRY(reader.text("hostUse"), "");
  if (!word || *word == "warn") return HostUse::warn;
  if (*word == "refuse") return HostUse::refuse;
  if (*word == "allow") return HostUse::allow;
  return reader.error("hostUse",
                      "\"" + *word + "\" is unknown, allowed are \"refuse\", \"warn\" and \"allow\"");
}

Result<std::vector<Selector>> parse_selectors(ObjectReader& reader, ConfigWarnings& warnings) {
  const Json* value = reader.value("selectors");
  if (value == nullptr) {
    return reader.error(
        "selectors", "missing; an object or a list of objects is wanted ({} selects every network function)");
  }
  if (const Json::Object* object = value->as_object()) {
    return std::vector<Selector>{TRY(parse_selector(*object, "selectors", warnings), "")};
  }
  const Json::Array* list = value->as_array();
  if (list == nullptr) {
    return reader.error(
        "selectors", std::string("an object or a list of objects is wanted, this is ") + value->type_name());
  }
  if (list->empty()) return reader.error("selectors", "the list is empty; it needs at least one object");
  std::vector<Selector> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string path = "selectors[" + std::to_string(i) + "]";
    const Json::Object* object = (*list)[i].as_object();
    if (object == nullptr) {
      return reader.error(path, std::string("an object is wanted, this is ") + (*list)[i].type_name());
    }
    out.push_back(TRY(parse_selector(*object, path, warnings), ""));
  }
  return out;
}

Error no_string(const ObjectReader& reader, const std::string& path, const std::string& key,
                const Json& value) {
  constexpr size_t kShown = 60;  // enough to recognise the value in the file
  return reader.error(path + "." + key, std::string("a string is wanted, this is ") + value.type_name() +
                                            " (" + value.text().substr(0, kShown) + ")");
}

using AdditionalInfo = std::map<std::string, std::map<std::string, std::string>>;

Result<AdditionalInfo> parse_additional_info(ObjectReader& reader, ConfigWarnings& warnings) {
  AdditionalInfo out;
  const Json::Object* devices = TRY(reader.object("additionalInfo"), "");
  if (devices == nullptr) return out;
  for (const auto& [device, values] : *devices) {
    const std::string path = "additionalInfo[\"" + device + "\"]";
    const auto address = PciAddress::parse(device);
    if (device != "*" && (!address || address->text() != device)) {
      warnings.remark(path, "matches no device: \"*\" or a PCI address like 0000:3b:02.6 is compared");
    }
    if (values.is_null()) continue;
    const Json::Object* object = values.as_object();
    if (object == nullptr) {
      return reader.error(path, std::string("an object of strings is wanted, this is ") + values.type_name());
    }
    for (const auto& [key, value] : *object) {
      const std::string* text = value.as_text();
      if (text == nullptr) {
        return no_string(reader, path, key, value);
      }
      out[device][key] = *text;
    }
  }
  return out;
}

// The keys of a resource object, without its name and prefix, which the caller has read for its messages.
Result<ResourceConfig> parse_resource(ObjectReader& reader, ResourceConfig named, ConfigWarnings& warnings) {
  TRY(check_device_type(reader), "");
  TRY(check_resource_prefix(named.prefix), reader.path("resourcePrefix"));
  TRY(check_resource_name(named.name), reader.path("resourceName"));
  named.exclude_topology = TRY(reader.boolean("excludeTopology"), "").value_or(false);
  named.host_use = TRY(parse_host_use(reader), "");
  named.selectors = TRY(parse_selectors(reader, warnings), "");
  named.additional_info = TRY(parse_additional_info(reader, warnings), "");
  TRY(warnings.unknown_keys(reader, KeyPlace::resource), "");
  return named;
}

Result<> check_unique(const std::vector<ResourceConfig>& resources, const ResourceConfig& added) {
  for (size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].resource() == added.resource()) {
      return Error{Errc::invalid, 0,
                   "resourceName: \"" + added.resource() + "\" is already the name of resourceList[" +
                       std::to_string(i) + "]; a list of selectors in one resource says \"either\""};
    }
  }
  return {};
}

// Formats that a later version reads; the words are those that only they have.
Result<> refuse_other_formats(ObjectReader& reader) {
  struct Format {
    const char* key;
    const char* product;
  };
  for (const Format& format : {Format{"configList", "k8s-rdma-shared-dev-plugin"},
                               Format{"mode", "k8s-rdma-sriov-dev-plugin and its descendants"}}) {
    if (reader.value(format.key) == nullptr) continue;
    return Error{Errc::unsupported, 0,
                 std::string(format.key) + ": the format of " + format.product +
                     " is not in this version yet, resourceList is"};
  }
  return {};
}

Result<ResourceConfig> parse_list_entry(const Json& entry, size_t index, const ConfigOptions& options,
                                        Config& config) {
  const Json::Object* object = entry.as_object();
  if (object == nullptr) {
    return Error{Errc::invalid, 0, place(index, "") + ": an object is wanted, this is " + entry.type_name()};
  }
  ObjectReader reader(*object, "");
  ResourceConfig named;
  named.prefix = TRY(reader.text("resourcePrefix"), place(index, "")).value_or("");
  if (named.prefix.empty()) named.prefix = options.default_prefix;  // Go cannot tell "" from absent
  const auto name = TRY(reader.text("resourceName"), place(index, ""));
  if (!name) return reader.error("resourceName", "missing").in(place(index, ""));
  named.name = *name;
  const std::string where = place(index, named.resource());
  ConfigWarnings warnings(options.file + ": " + where, options.strict, config.warnings);
  ResourceConfig out = TRY(parse_resource(reader, std::move(named), warnings), where);
  TRY(check_unique(config.resources, out), where);
  return out;
}

Result<Config> parse_top_level(const Json& json, const ConfigOptions& options) {
  const Json::Object* top = json.as_object();
  if (top == nullptr) {
    return Error{Errc::invalid, 0,
                 std::string("an object with resourceList is wanted, this is ") + json.type_name()};
  }
  ObjectReader reader(*top, "");
  const Json::Array* list = TRY(reader.array("resourceList"), "");
  if (list == nullptr) {
    TRY(refuse_other_formats(reader), "");
    std::string keys;
    for (const auto& [key, value] : *top) {
      const std::string meant = nearest_name(key, {"resourceList"});
      if (!meant.empty() && key != meant) keys = "; there is \"" + key + "\", did you mean \"resourceList\"?";
    }
    return Error{Errc::invalid, 0, "resourceList: missing" + keys};
  }
  if (list->empty()) return Error{Errc::invalid, 0, "resourceList: empty, there is nothing to offer"};
  if (list->size() > kMaxResources) {
    return Error{Errc::invalid, 0, "resourceList: more than " + std::to_string(kMaxResources) + " resources"};
  }
  Config config;
  ConfigWarnings warnings(options.file, options.strict, config.warnings);
  TRY(warnings.unknown_keys(reader, KeyPlace::top_level), "");
  for (size_t i = 0; i < list->size(); ++i) {
    config.resources.push_back(TRY(parse_list_entry((*list)[i], i, options, config), ""));
  }
  return config;
}

}  // namespace

Result<Config> parse_config(std::string_view text, const ConfigOptions& options) {
  const Json json = TRY(Json::parse(text), options.file);
  return TRY(parse_top_level(json, options), options.file);
}

}  // namespace vfrail
