#include "cni/conf/check_network.h"

#include "cni/conf/net_conf.h"
#include "cni/conf/result.h"
#include "common/escape.h"
#include "common/text.h"

namespace vfrail::cni {

namespace {

constexpr const char* kResourceAnnotation = "k8s.v1.cni.cncf.io/resourceName";

const std::string* text_at(const Json* json, std::string_view key) {
  const Json* value = json == nullptr ? nullptr : json->find(key);
  return value == nullptr ? nullptr : value->as_text();
}

using Kind = NetworkRemark::Kind;
using Remarks = std::vector<NetworkRemark>;

enum class Place : uint8_t { first, behind };  // in its list

void check_plugin(const std::string& name, const Json& config, Place place, bool has_device,
                  const std::set<std::string>& types, Remarks& out) {
  const std::string* type = text_at(&config, "type");
  if (type == nullptr) return out.push_back({Kind::error, name, "type: missing"});
  if (!types.contains(*type)) return out.push_back({Kind::note, name, "not checked, it is of type " + *type});
  const auto conf = parse_net_conf(config.text());
  if (!conf) return out.push_back({Kind::error, name, conf.error().text, conf.error().id()});
  // ADD refuses it before it reads the rest; none is left to the runtime.
  const std::string* version = text_at(&config, "cniVersion");
  if (version != nullptr && !version->empty() && !version_supported(*version))
    return out.push_back({Kind::error, name,
                          "cniVersion " + *version + " is not supported; supported are " + version_list(),
                          ErrorId::cni_version});
  for (const std::string& key : conf->warnings)
    out.push_back({Kind::warning, name, key, ErrorId::network_key_ignored});
  if (conf->claims && place == Place::first)
    return out.push_back({Kind::error, name,
                          "claims: this entry stands in the list of the node's primary network, behind the "
                          "plugin that makes the pod's first interface",
                          ErrorId::network_config});
  if (conf->device.empty() && !has_device && place == Place::first)
    return out.push_back({Kind::warning, name,
                          std::string("no device: Multus adds one if the definition has the annotation ") +
                              kResourceAnnotation,
                          ErrorId::no_device_named});
  out.push_back({Kind::note, name, "no error found"});
}

class Report {
 public:
  explicit Report(const std::set<std::string>& types) : types_(types) {}

  void network(const std::string& name, const Json& config, bool has_resource) {
    for (const NetworkRemark& remark : check_network(config, has_resource, types_)) {
      static constexpr const char* kKinds[] = {"", "warning: ", "error: "};
      const bool well = remark.kind == Kind::note;
      const std::string text = well ? remark.text : text_with_id(remark.text, remark.id);
      line(name + (remark.plugin.empty() ? "" : ", " + remark.plugin),
           kKinds[static_cast<size_t>(remark.kind)] + text);
      out_.all_well &= well;
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
      return line(name,
                  "it has no spec.config: Multus takes a file of that name in /etc/cni/net.d of the node");
    auto decoded = Json::parse_object(Json::as_unicode(*config));
    if (!decoded) {
      out_.all_well = false;
      return line(name,
                  "error: " + text_with_id("spec.config: " + decoded.error().text, ErrorId::config_syntax));
    }
    if (decoded->find("name") == nullptr && own != nullptr) decoded->set("name", *own);  // Multus does it
    const Json* annotations = metadata == nullptr ? nullptr : metadata->find("annotations");
    network(name, *decoded, text_at(annotations, kResourceAnnotation) != nullptr);
  }

  NetworkReport report() && { return std::move(out_); }

 private:
  void line(const std::string& name, const std::string& what) {
    out_.text += escaped(name + ": " + what) + "\n";
  }

  const std::set<std::string>& types_;
  NetworkReport out_;
};

bool is_kind(const Json& json, std::string_view kind) {
  const std::string* own = text_at(&json, "kind");
  return own != nullptr && *own == kind;
}

}  // namespace

Remarks check_network(const Json& config, bool has_resource, const std::set<std::string>& types) {
  Remarks out;
  const Json* plugins = config.find("plugins");
  if (plugins == nullptr) {
    check_plugin("", config, Place::first, has_resource, types, out);
    return out;
  }
  if (plugins->as_array() == nullptr) return {{Kind::error, "", "plugins: must be a list"}};
  for (size_t i = 0; i < plugins->as_array()->size(); ++i) {
    Json one = (*plugins->as_array())[i];
    const std::string name = "plugins[" + std::to_string(i) + "]";
    if (one.as_object() == nullptr) {
      out.push_back({Kind::error, name, "must be an object"});
      continue;
    }
    // As libcni does (buildOneConfig()).
    for (const char* key : {"name", "cniVersion"})
      if (const Json* value = config.find(key)) one.set(key, *value);
    // Of a chain only the first entry needs the device.
    check_plugin(name, one, i == 0 ? Place::first : Place::behind, has_resource, types, out);
  }
  return out;
}

Result<NetworkReport> check_networks(std::string_view text, const std::set<std::string>& types) {
  auto json = Json::parse_object(Json::as_unicode(text), kMaxNetworksBytes);
  if (!json)
    return std::move(json.error())
        .in("it must be JSON (kubectl get network-attachment-definitions --all-namespaces -o json); a YAML "
            "file is checked by vfrail check-config FILE");
  Report report(types);
  const Json* items = json->find("items");
  if (items != nullptr && items->as_array() != nullptr) {
    for (const Json& item : *items->as_array())
      if (is_kind(item, "NetworkAttachmentDefinition")) report.definition(item);
  } else if (is_kind(*json, "NetworkAttachmentDefinition")) {
    report.definition(*json);
  } else if (json->find("type") != nullptr || json->find("plugins") != nullptr) {
    const std::string* name = text_at(&*json, "name");
    report.network(name == nullptr ? "the configuration" : *name, *json, false);
  } else {
    return Error{Errc::invalid, 0,
                 "it is not a network configuration, a NetworkAttachmentDefinition or a List of them"};
  }
  NetworkReport out = std::move(report).report();
  if (out.text.empty()) out.text = "there is no NetworkAttachmentDefinition in it\n";
  return out;
}

}  // namespace vfrail::cni
