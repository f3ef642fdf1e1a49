// ConfigMaps, with the configuration under the keys that the device plugins' manifests give it.
#include "common/text.h"
#include "plugin/documents/config_parts.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// In this order: sriov-network-device-plugin, network-operator and k8s-rdma-shared-dev-plugin have the first.
constexpr const char* kKeys[] = {"config.json", "config.yaml", "config.yml", "config"};

// Whether a text under another key, such as a node's name, is a configuration.
bool is_configuration(const Document& document, const std::string& key, const Json& text) {
  const auto value = read_embedded(document, text, key);
  if (!value || value->as_object() == nullptr) return false;
  return std::any_of(value->as_object()->begin(), value->as_object()->end(), [](const auto& member) {
    return nearest_name(member.first, {"resourceList", "configList"}) != "" || member.first == "mode" ||
           member.first == "vfs";
  });
}

// The usual keys that are there; without one every key with a configuration.
std::vector<std::string> candidates(const Document& document, const Json::Object& data) {
  std::vector<std::string> out;
  for (const char* key : kKeys) {
    const bool there =
        std::any_of(data.begin(), data.end(), [&](const auto& one) { return one.first == key; });
    if (there) out.emplace_back(key);
  }
  if (!out.empty()) return out;
  for (const auto& [key, text] : data) {
    if (is_configuration(document, key, text)) out.push_back(key);
  }
  return out;
}

}  // namespace

Result<> add_config_map(const Document& document, FoundConfig& out) {
  const Json* data = document.value.find("data");
  if (data == nullptr || data->as_object() == nullptr) return {};
  const auto keys = candidates(document, *data->as_object());
  if (keys.empty()) return {};
  const std::string& key = keys.front();
  const std::string place = "data[\"" + key + "\"]";
  const Json& text = *data->find(key);
  const bool usual = std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
  if (keys.size() > 1 && !usual)
    return Error{Errc::invalid, 0,
                 document.where + ": data" + in_line(data->line()) + ": " + joined(keys) +
                     " have a configuration each, and none is called config.json: give one of them, as with "
                     "kubectl get configmap -o jsonpath='{.data.KEY}'"};
  out.notes.push_back(document.where + ": the configuration is " + place + in_line(text.line()) +
                      (keys.size() > 1 ? ", not " + joined({keys.begin() + 1, keys.end()}) : ""));
  Json value = TRY(read_embedded(document, text, key), document.where + ": " + place);
  out.parts.push_back({document.where + ": " + place, std::move(value)});
  return {};
}

}  // namespace vfrail::plugin
