#include "plugin/documents/cni_config.h"

#include "common/one_of.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>

namespace vfrail::plugin {

namespace {

using Texts = std::vector<std::string>;

const Texts& versions() {
  static const Texts kVersions = {"0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"};
  return kVersions;
}

// Those that move a device into the pod, and the keys that name it without the scheduler.
constexpr const char* kMovers[] = {"vfrail", "host-device", "sriov", "ib-sriov"};
constexpr const char* kDeviceKeys[] = {"device", "deviceID",   "pciBusID",
                                       "hwaddr", "kernelpath", "runtimeConfig"};

// The CNI specification's rule for network names.
bool is_network_name(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && std::isalnum(static_cast<unsigned char>(name.front())) != 0 &&
         std::all_of(name.begin(), name.end(), allowed);
}

Result<> check_heading(ObjectReader& reader) {
  const std::string version = TRY(reader.text("cniVersion")).value_or("");
  if (!version.empty() && std::find(versions().begin(), versions().end(), version) == versions().end())
    return reader.error(
        "cniVersion",
        "\"" + version + "\" is not a known version of the CNI specification: " + joined(versions()));
  const auto name = TRY(reader.text("name"));
  if (name && !is_network_name(*name))
    return reader.error(
        "name", "must be letters and digits, behind the first also '_', '.' and '-', got \"" + *name + "\"");
  return {};
}

Result<> add_plugin(const Json& plugin, const std::string& path, CniConfig& out) {
  if (plugin.as_object() == nullptr)
    return Error{Errc::invalid, 0,
                 path + in_line(plugin.line()) + ": must be an object, got " + plugin.type_name()};
  ObjectReader reader(*plugin.as_object(), path, plugin.line());
  TRY(check_plugin_type(reader));
  const std::string type = *TRY(reader.text("type"));
  if (const Json* ipam = reader.value("ipam")) TRY(check_ipam(*ipam, reader.place("ipam")));
  const auto has = [&reader](const char* key) { return reader.value(key) != nullptr; };
  const bool moves = std::find(std::begin(kMovers), std::end(kMovers), type) != std::end(kMovers);
  if (moves && std::none_of(std::begin(kDeviceKeys), std::end(kDeviceKeys), has)) out.needs_allocation = true;
  out.types.push_back(type);
  return {};
}

}  // namespace

Result<> check_plugin_type(ObjectReader& plugin) {
  const std::string type = TRY(plugin.text("type")).value_or("");
  if (type.empty()) return plugin.error("type", "missing; it names the CNI plugin");
  if (type.find('/') != std::string::npos)
    return plugin.error("type", "\"" + type + "\" must be the name of an executable, without a folder");
  return {};
}

Result<> check_ipam(const Json& value, const std::string& place) {
  const Json::Object* object = value.as_object();
  if (object == nullptr)
    return Error{Errc::invalid, 0, place + ": must be an object, got " + std::string(value.type_name())};
  if (object->empty()) return {};  // no addresses
  ObjectReader reader(*object, "", value.line());
  TRY(check_plugin_type(reader), place);
  return {};
}

Result<CniConfig> read_cni_config(const Json& value) {
  if (value.as_object() == nullptr)
    return Error{Errc::invalid, 0, std::string("must be an object, got ") + value.type_name()};
  ObjectReader reader(*value.as_object(), "", value.line());
  TRY(check_heading(reader));
  CniConfig out;
  const Json::Array* plugins = TRY(reader.array("plugins"));
  if (plugins == nullptr) {
    TRY(add_plugin(value, "", out));
    return out;
  }
  if (plugins->empty()) return reader.error("plugins", "the list is empty; it needs at least one plugin");
  for (size_t i = 0; i < plugins->size(); ++i)
    TRY(add_plugin((*plugins)[i], "plugins[" + std::to_string(i) + "]", out));
  return out;
}

Result<std::string> read_json_text(ObjectReader& spec, const Document& document, const char* key,
                                   JsonText form) {
  const bool is_list = form == JsonText::plugins;
  std::string text = TRY(spec.text(key)).value_or("");
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return std::string();
  Json wrapped = Json(is_list ? "[" + text + "]" : text).at_line(spec.value(key)->line());
  const Json value = TRY(read_embedded(document, wrapped, "ipam.json"), spec.path(key));
  if (form == JsonText::capabilities) {
    if (value.as_object() != nullptr) return text;
    return Error{Errc::invalid, 0,
                 spec.path(key) + in_line(value.line()) + ": must be an object, got " + value.type_name()};
  }
  if (!is_list) {
    TRY(check_ipam(value, spec.path(key) + in_line(value.line())));
    return text;
  }
  for (const Json& plugin : *value.as_array()) {
    if (plugin.as_object() == nullptr)
      return Error{Errc::invalid, 0,
                   spec.path(key) + in_line(plugin.line()) +
                       ": must be objects with commas between them, got " + plugin.type_name()};
    ObjectReader reader(*plugin.as_object(), spec.path(key), plugin.line());
    TRY(check_plugin_type(reader));
  }
  return text;
}

}  // namespace vfrail::plugin
