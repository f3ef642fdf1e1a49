#include "cni/check_network.h"

#include "cni/conf/net_conf.h"
#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"

namespace vfrail::cni {

namespace {

constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";

const std::string* text_at(const Json* json, std::string_view key) {
  const Json* value = json == nullptr ? nullptr : json->find(key);
  return value == nullptr ? nullptr : value->as_text();
}

class Checks {
 public:
  explicit Checks(const std::set<std::string>& types) : types_(types) {}

  // A configuration with one plugin or a list of them. `has_resource`: Multus adds the device.
  void network(const std::string& name, const Json& config, bool has_resource) {
    const Json* plugins = config.find("plugins");
    if (plugins == nullptr) return plugin(name, config, has_resource);
    if (plugins->as_array() == nullptr) return wrong(name, "plugins: must be a list");
    for (size_t i = 0; i < plugins->as_array()->size(); ++i) {
      Json one = (*plugins->as_array())[i];
      const std::string place = name + ", plugins[" + std::to_string(i) + "]";
      if (one.as_object() == nullptr) {
        wrong(place, "must be an object");
        continue;
      }
      // As libcni does (buildOneConfig()).
      for (const char* key : {"name", "cniVersion"})
        if (const Json* value = config.find(key)) one.set(key, *value);
      // Of a chain only the first entry needs the device.
      plugin(place, one, has_resource || i > 0);
    }
  }

  void definition(const Json& object) {
    const Json* metadata = object.find("metadata");
    const std::string* space = text_at(metadata, "namespace");
    const std::string* own = text_at(metadata, "name");
    const std::string name =
        (space == nullptr ? "" : *space + "/") + (own == nullptr ? "(without a name)" : *own);
    const std::string* config = text_at(object.find("spec"), "config");
    if (config == nullptr || config->empty())
      return note(name,
                  "it has no spec.config: Multus takes a file of that name in /etc/cni/net.d of the node");
    Json decoded;
    if (auto json = Json::parse_object(*config)) {
      decoded = std::move(*json);
    } else {
      return error(name, text_with_id("spec.config: " + json.error().text, ErrorId::config_syntax));
    }
    if (decoded.find("name") == nullptr && own != nullptr) decoded.set("name", *own);  // Multus does it
    const Json* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
    network(name, decoded, text_at(annotations, kResourceAnnotation) != nullptr);
  }

  NetworkReport report() && { return {std::move(text_), all_well_}; }

 private:
  void plugin(const std::string& name, const Json& config, bool has_device) {
    const std::string* type = text_at(&config, "type");
    if (type == nullptr) return wrong(name, "type: missing");
    if (!types_.contains(*type)) return note(name, "not checked, it is of type " + *type);
    const auto conf = parse_net_conf(config.text());
    if (!conf) return error(name, conf.error().text_with_id());
    for (const std::string& key : conf->warnings) warn(name, key, ErrorId::network_key_ignored);
    if (conf->device.empty() && !has_device)
      return warn(name,
                  std::string("no device: Multus adds one if the definition has the annotation ") +
                      kResourceAnnotation,
                  ErrorId::no_device_named);
    note(name, "no error found");
  }

  void note(const std::string& name, const std::string& what) { text_ += escaped(name + ": " + what) + "\n"; }
  void complain(const std::string& name, const std::string& what) {
    all_well_ = false;
    note(name, what);
  }
  void warn(const std::string& name, const std::string& what, ErrorId id) {
    complain(name, "warning: " + text_with_id(what, id));
  }
  void error(const std::string& name, const std::string& what) { complain(name, "error: " + what); }
  void wrong(const std::string& name, const std::string& what) {
    error(name, text_with_id(what, ErrorId::network_config));
  }

  const std::set<std::string>& types_;
  std::string text_;
  bool all_well_ = true;
};

bool is_kind(const Json& json, std::string_view kind) {
  const std::string* own = text_at(&json, "kind");
  return own != nullptr && *own == kind;
}

}  // namespace

Result<NetworkReport> check_networks(std::string_view text, const std::set<std::string>& types) {
  auto json = Json::parse_object(text, kMaxNetworksBytes);
  if (!json)
    return std::move(json.error())
        .in("it must be JSON (kubectl get network-attachment-definitions --all-namespaces -o json; of a YAML "
            "file: kubectl create --dry-run=client -o json -f FILE)");
  Checks checks(types);
  const Json* items = json->find("items");
  if (items != nullptr && items->as_array() != nullptr) {
    for (const Json& item : *items->as_array())
      if (is_kind(item, "NetworkAttachmentDefinition")) checks.definition(item);
  } else if (is_kind(*json, "NetworkAttachmentDefinition")) {
    checks.definition(*json);
  } else if (json->find("type") != nullptr || json->find("plugins") != nullptr) {
    const std::string* name = text_at(&*json, "name");
    checks.network(name == nullptr ? "the configuration" : *name, *json, false);
  } else {
    return Error{Errc::invalid, 0,
                 "it is not a network configuration, a NetworkAttachmentDefinition or a List of them"};
  }
  NetworkReport out = std::move(checks).report();
  if (out.text.empty()) out.text = "there is no NetworkAttachmentDefinition in it\n";
  return out;
}

}  // namespace vfrail::cni
