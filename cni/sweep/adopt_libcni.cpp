// The cache of libcni: /var/lib/cni/results and /var/lib/cni/multus/results, a file for each attachment.
#include "cni/sweep/adopt.h"
#include "common/base64.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

constexpr size_t kMaxCacheBytes = 4 << 20;

// [["K8S_POD_NAME", "p"], ...] as CNI_ARGS has it.
Result<std::string> read_args(ObjectReader& cache) {
  std::string out;
  const Json::Array* pairs = TRY(cache.array("cniArgs"));
  if (pairs == nullptr) return out;
  for (const Json& pair : *pairs) {
    const Json::Array* two = pair.as_array();
    const bool texts = two != nullptr && two->size() == 2 && (*two)[0].as_text() != nullptr &&
                       (*two)[1].as_text() != nullptr;
    if (!texts) return cache.error("cniArgs", "must be pairs of texts");
    out += (out.empty() ? "" : ";") + *(*two)[0].as_text() + "=" + *(*two)[1].as_text();
  }
  return out;
}

// What libcni puts into the configuration of a plugin (buildOneConfig()): name and version of the list, and
// of the runtime's values those that the plugin is capable of.
Json as_sent(Json plugin, const Json& list, const Json* values) {
  for (const char* key : {"name", "cniVersion"}) {
    if (const Json* value = list.find(key)) plugin.set(key, *value);
  }
  const Json* capabilities = plugin.find("capabilities");
  if (capabilities == nullptr || capabilities->as_object() == nullptr || values == nullptr) return plugin;
  Json runtime = Json::object();
  for (const auto& [name, wanted] : *capabilities->as_object()) {
    const Json* value = values->find(name);
    if (wanted == Json(true) && value != nullptr) runtime.set(name, *value);
  }
  if (!runtime.as_object()->empty()) plugin.set("runtimeConfig", std::move(runtime));
  return plugin;
}

Result<std::vector<Json>> read_plugins(ObjectReader& cache) {
  const auto encoded = TRY(cache.text("config")).value_or("");
  const auto text = decode_base64(encoded);
  if (!text) return cache.error("config", "must be base64");
  const Json config = TRY(Json::parse_object(Json::as_unicode(*text)), cache.path("config"));
  const Json* values = cache.value("capabilityArgs");
  const Json* list = config.find("plugins");
  if (list == nullptr || list->as_array() == nullptr)
    return std::vector<Json>{as_sent(config, config, values)};
  std::vector<Json> out;
  for (const Json& plugin : *list->as_array()) {
    if (plugin.as_object() == nullptr) return cache.error("config", "plugins: must be objects");
    out.push_back(as_sent(plugin, config, values));
  }
  return out;
}

}  // namespace

Result<CachedAttachment> parse_cni_cache(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxCacheBytes));
  ObjectReader cache(*json.as_object(), "");
  if (TRY(cache.text("kind")) != "cniCacheV1") return cache.error("kind", "must be cniCacheV1");
  CachedAttachment out;
  out.name.container_id = TRY(cache.text("containerId")).value_or("");
  const std::string ifname = TRY(cache.text("ifName")).value_or("");
  const auto name = IfName::parse(ifname);
  if (!valid_container_id(out.name.container_id))
    return cache.error("containerId",
                       "must be the id of a container, got \"" + out.name.container_id.substr(0, 60) + "\"");
  if (!name)
    return cache.error("ifName", "must be the name of an interface, got \"" + ifname.substr(0, 60) + "\"");
  out.name.ifname = *name;
  out.network = TRY(cache.text("networkName")).value_or("");
  out.netns = TRY(cache.text("netns")).value_or("");
  out.cni_args = TRY(read_args(cache));
  out.plugins = TRY(read_plugins(cache));
  return out;
}

}  // namespace vfrail::cni
