// sriov-network-operator's SriovNetwork and SriovIBNetwork: what is known of the NetworkAttachmentDefinition
// that it makes of one.
#include "common/one_of.h"
#include "plugin/documents/cni_config.h"
#include "plugin/documents/network.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr const char* kGroup = "sriovnetwork.openshift.io";
constexpr int64_t kMaxVlan = 4094;
constexpr int64_t kMaxPriority = 7;

bool is_infiniband(const Document& document) { return document.is(kGroup, "SriovIBNetwork"); }

Result<> read_one_of(ObjectReader& spec, const char* key, const std::vector<std::string>& words) {
  const std::string word = TRY(spec.text(key)).value_or("");
  if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) return {};
  return spec.error(key, must_be_one_of(words, word));
}

Result<> read_number(ObjectReader& spec, const char* key, int64_t most) {
  const auto number = TRY(spec.integer(key, 0));
  if (!number || *number <= most) return {};
  return spec.error(key, "must be 0 to " + std::to_string(most) + ", got " + std::to_string(*number));
}

Result<> read_ethernet(ObjectReader& spec) {
  TRY(read_number(spec, "vlan", kMaxVlan));
  TRY(read_number(spec, "vlanQoS", kMaxPriority));
  for (const char* rate : {"minTxRate", "maxTxRate"}) TRY(spec.integer(rate, 0));
  for (const char* flag : {"spoofChk", "trust"}) TRY(read_one_of(spec, flag, {"on", "off"}));
  return read_one_of(spec, "vlanProto", {"802.1q", "802.1Q", "802.1ad", "802.1AD"});
}

Result<> add_types(const std::string& meta_plugins, Network& out) {
  if (meta_plugins.empty()) return {};
  const Json list = TRY(Json::parse("[" + meta_plugins + "]"));
  for (const Json& plugin : *list.as_array()) out.types.push_back(*plugin.find("type")->as_text());
  return {};
}

Result<> read_spec_of(const Document& document, const std::string& prefix, Network& out) {
  ObjectReader spec = TRY(read_spec(document));
  if (const std::string of_pods = TRY(spec.text("networkNamespace")).value_or(""); !of_pods.empty())
    out.name = of_pods + "/" + document.name;
  const std::string resource = TRY(spec.text("resourceName")).value_or("");
  if (resource.empty())
    return spec.error("resourceName", "missing; it names the resource of a SriovNetworkNodePolicy");
  out.resource = prefix + "/" + resource;
  out.resource_line = spec.value("resourceName")->line();
  TRY(read_json_text(spec, document, "ipam", JsonText::ipam));
  TRY(add_types(TRY(read_json_text(spec, document, "metaPlugins", JsonText::plugins)), out));
  TRY(read_json_text(spec, document, "capabilities", JsonText::capabilities));
  TRY(read_one_of(spec, "linkState", {"auto", "enable", "disable"}));
  for (const char* word : {"logLevel", "logFile"}) TRY(spec.text(word));
  if (!is_infiniband(document)) TRY(read_ethernet(spec));
  for (const std::string& key : spec.unread()) {
    if (spec.value(key) != nullptr) return spec.error(key, "unknown key");
  }
  return {};
}

}  // namespace

bool is_sriov_network(const Document& document) {
  return document.is(kGroup, "SriovNetwork") || is_infiniband(document);
}

Network read_sriov_network(const Document& document, const std::string& operator_prefix) {
  Network out;
  out.where = document.where;
  // The definition goes to the operator's namespace where none is named.
  out.name = (document.name_space.empty() ? "default" : document.name_space) + "/" + document.name;
  out.types = {is_infiniband(document) ? "ib-sriov" : "sriov"};
  if (document.name.empty()) out.faults.push_back(document.where + ": metadata.name: missing");
  if (const auto read = read_spec_of(document, operator_prefix, out); !read)
    out.faults.push_back(document.where + ": " + read.error().text);
  return out;
}

}  // namespace vfrail::plugin
