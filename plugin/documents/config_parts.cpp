#include "plugin/documents/config_parts.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr const char* kNvidiaGroup = "mellanox.com";
constexpr const char* kSriov = "sriovnetwork.openshift.io";

const std::vector<std::string>& known_kinds() {
  static const std::vector<std::string> kKinds = {
      "ConfigMap",         "NicClusterPolicy", "NicNodePolicy", "SriovNetworkNodePolicy",
      "HostDeviceNetwork", "MacvlanNetwork",   "IPoIBNetwork",  "NetworkAttachmentDefinition",
      "SriovNetwork",      "SriovIBNetwork"};
  return kKinds;
}

// Other kinds are ignored, unless one is nearly a known one.
void remark_kind(const Document& document, FoundConfig& out) {
  const std::string meant = nearest_name(document.kind, known_kinds());
  if (!meant.empty() && meant != document.kind)
    out.warn(document.where + ": kind" + in_line(document.value.find("kind")->line()) +
                 ": ignored; did you mean \"" + meant + "\"?",
             ErrorId::config_doubtful);
}

}  // namespace

Result<FoundConfig> find_config(const std::vector<Document>& documents, const std::string& policy_prefix) {
  FoundConfig out;
  std::vector<const Document*> policies;
  for (const Document& document : documents) {
    if (document.kind.empty()) {
      out.parts.push_back({document.where, document.value});
    } else if (document.is("", "ConfigMap")) {
      TRY(add_config_map(document, out));
    } else if (document.is(kNvidiaGroup, "NicClusterPolicy") || document.is(kNvidiaGroup, "NicNodePolicy")) {
      TRY(add_nic_policy(document, out));
    } else if (document.is(kSriov, "SriovNetworkNodePolicy")) {
      policies.push_back(&document);
    } else {
      remark_kind(document, out);
    }
  }
  TRY(add_node_policies(policies, policy_prefix, out));
  return out;
}

std::string no_config(const std::vector<Document>& documents) {
  if (documents.empty()) return "it is empty";
  std::vector<std::string> titles;
  for (const Document& document : documents) titles.push_back(document.title());
  return "no configuration: there is " + first_few(titles) +
         "; expected a resourceList or configList, or a ConfigMap, NicClusterPolicy or "
         "SriovNetworkNodePolicy with one";
}

}  // namespace vfrail::plugin
