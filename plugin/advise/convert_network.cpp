// The CNI side of convert(): the type changes, all keys stay, because vfrail-cni reads those of each of them.
#include "plugin/advise/convert.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

std::string cni_type(const Json& plugin) {
  const Json* type = plugin.find("type");
  return type == nullptr || type->as_text() == nullptr ? "" : *type->as_text();
}

bool moves_device(const std::string& type) {
  return type == "host-device" || type == "sriov" || type == "ib-sriov";
}

std::optional<Json> convert_list(const Json& config, const Json::Array& plugins) {
  const bool has_rdma = std::any_of(plugins.begin(), plugins.end(),
                                    [](const Json& plugin) { return cni_type(plugin) == "rdma"; });
  Json list = Json::array();
  bool found = false;
  for (Json plugin : plugins) {
    if (cni_type(plugin) == "rdma") continue;
    if (moves_device(cni_type(plugin))) {
      found = true;
      plugin.set("type", "vfrail");
      // The plugin that is left out fails where there is no RDMA device.
      if (has_rdma) plugin.set("rdma", "require");
    }
    list.push(std::move(plugin));
  }
  if (!found) return std::nullopt;
  Json out = config;
  out.set("plugins", std::move(list));
  return out;
}

}  // namespace

std::optional<Json> convert_network(const Json& config) {
  if (const Json* plugins = config.find("plugins"); plugins != nullptr && plugins->as_array() != nullptr)
    return convert_list(config, *plugins->as_array());
  if (!moves_device(cni_type(config))) return std::nullopt;
  Json out = config;
  out.set("type", "vfrail");
  return out;
}

}  // namespace vfrail::plugin
