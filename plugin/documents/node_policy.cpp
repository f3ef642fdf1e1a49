// SriovNetworkNodePolicies, made into a resourceList as sriov-network-operator makes one for the nodes of its
// policies. The operator does what a policy says about PFs (numVfs, mtu, eSwitchMode ...): VFs are served as
// they are.
#include "common/one_of.h"
#include "common/text.h"
#include "plugin/documents/config_parts.h"
#include "plugin/documents/vf_devices.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

// The operator leaves it alone.
constexpr const char* kDefaultPolicy = "default";
// As many as a configuration has resources.
constexpr size_t kMaxPolicies = 256;

struct Policy {
  const Document* document = nullptr;
  int64_t priority = 0;
  std::string resource;
  Json node_selector;
  Json lists = Json::object();    // of the selector: "vendors" -> ["15b3"]
  Json options = Json::object();  // isRdma, needVhostNet, vdpaType
  bool exclude_topology = false;
};

Result<std::string> read_word(ObjectReader& reader, const char* key,
                              const std::vector<std::string>& allowed) {
  const std::string word = TRY(reader.text(key)).value_or("");
  if (word.empty() || std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return word;
  return reader.error(key, must_be_one_of(allowed, word));
}

// A key that is nearly one of the selector's would select more than was meant without it; others are unknown
// to the operator, too.
Result<> check_keys(ObjectReader& reader, const std::vector<std::string>& known, bool selector,
                    const Document& document, FoundConfig& out) {
  for (const std::string& key : reader.unread()) {
    if (std::find(known.begin(), known.end(), key) != known.end() || reader.value(key) == nullptr) continue;
    const std::string meant = nearest_name(key, known);
    const std::string hint = meant.empty() ? "" : "; did you mean \"" + meant + "\"?";
    if (selector)
      return reader.error(key, "unknown key; without it, more devices are selected than intended" + hint);
    out.warn(document.where + ": " + reader.place(key) + ": unknown key, ignored" + hint,
             ErrorId::config_unknown_key);
  }
  return {};
}

Result<> add_list(ObjectReader& reader, const char* key, const char* to, Json& lists) {
  TRY(reader.texts(key));  // for its errors
  const Json* values = reader.value(key);
  if (values != nullptr && !values->as_array()->empty()) lists.set(to, *values);
  return {};
}

Result<> add_text(ObjectReader& reader, const char* key, const char* to, Json& lists) {
  if (!TRY(reader.text(key)).value_or("").empty())
    lists.set(to, Json(Json::Array{*reader.value(key)}).at_line(reader.value(key)->line()));
  return {};
}

// A policy's deviceID is the PF's. Of an unknown model the operator selects every one.
Result<> add_device(ObjectReader& reader, bool has_vfs, const Document& document, Policy& policy,
                    FoundConfig& out) {
  const std::string pf = TRY(reader.text("deviceID")).value_or("");
  if (pf.empty()) return {};
  const uint32_t line = reader.value("deviceID")->line();
  const std::string device = has_vfs ? vf_device_of(pf) : pf;
  if (!device.empty()) {
    policy.lists.set("devices", Json(Json::Array{Json(device).at_line(line)}).at_line(line));
    return {};
  }
  out.mistake(document.where + ": " + reader.place("deviceID") + ": \"" + pf +
              "\" is not the device id of a known PF, so it is ignored and VFs of every model are selected");
  return {};
}

Result<> read_nic_selector(ObjectReader& spec, bool has_vfs, const Document& document, Policy& policy,
                           FoundConfig& out) {
  const Json::Object* object = TRY(spec.object("nicSelector"));
  if (object == nullptr) return spec.error("nicSelector", "missing; it says which PFs' VFs are advertised");
  ObjectReader reader(*object, spec.path("nicSelector"), spec.value("nicSelector")->line());
  TRY(add_text(reader, "vendor", "vendors", policy.lists));
  TRY(add_device(reader, has_vfs, document, policy, out));
  TRY(add_list(reader, "pfNames", "pfNames", policy.lists));
  TRY(add_list(reader, "rootDevices", "rootDevices", policy.lists));
  if (!TRY(reader.text("netFilter")).value_or("").empty())
    return reader.error(
        "netFilter",
        "it asks the cloud's metadata, which vfrail does not, and in a virtual machine there is no PF to "
        "select "
        "by: write a resourceList with pciAddresses, macs, or vendors and devices; the operator's is in the "
        "ConfigMap device-plugin-config");
  TRY(check_keys(reader, {"vendor", "deviceID", "pfNames", "rootDevices", "netFilter"}, true, document, out));
  if (!policy.lists.as_object()->empty()) return {};
  out.mistake(document.where + ": " + spec.place("nicSelector") +
              ": it selects by nothing, so that every function is selected");
  return {};
}

// A VF bound to vfio-pci has no visible link type. The operator selects such VFs by their driver: of the same
// PFs there can be others, which are not for DPDK.
Result<> read_kind(ObjectReader& spec, Policy& policy) {
  const std::string type = TRY(read_word(spec, "deviceType", {"netdevice", "vfio-pci"}));
  const std::string link = TRY(read_word(spec, "linkType", {"eth", "ETH", "ib", "IB"}));
  if (!link.empty() && type != "vfio-pci") {
    const uint32_t line = spec.value("linkType")->line();
    const bool infiniband = link == "ib" || link == "IB";
    policy.lists.set("linkTypes", Json(Json::Array{Json(infiniband ? "infiniband" : "ether").at_line(line)}));
  }
  if (type == "vfio-pci") TRY(add_text(spec, "deviceType", "drivers", policy.lists));
  for (const char* key : {"isRdma", "needVhostNet"}) {
    if (TRY(spec.boolean(key)).value_or(false)) policy.options.set(key, *spec.value(key));
  }
  if (!TRY(read_word(spec, "vdpaType", {"virtio", "vhost"})).empty())
    policy.options.set("vdpaType", *spec.value("vdpaType"));
  return {};
}

Result<Policy> read_policy(const Document& document, FoundConfig& out) {
  ObjectReader reader = TRY(read_spec(document));
  Policy policy;
  policy.document = &document;
  policy.resource = TRY(reader.text("resourceName")).value_or("");
  if (policy.resource.empty()) return reader.error("resourceName", "missing");
  policy.priority = TRY(reader.integer("priority")).value_or(0);
  policy.exclude_topology = TRY(reader.boolean("excludeTopology")).value_or(false);
  const bool has_vfs = TRY(reader.integer("numVfs", 0)).value_or(0) > 0;
  if (const Json* nodes = reader.value("nodeSelector")) policy.node_selector = *nodes;
  TRY(read_nic_selector(reader, has_vfs, document, policy, out));
  TRY(read_kind(reader, policy));
  TRY(check_keys(reader, {"mtu", "eSwitchMode", "externallyManaged", "bridge"}, false, document, out));
  return policy;
}

void add_values(const Json& from, Json& to) {
  for (const auto& [key, values] : *from.as_object()) {
    const Json* known = to.find(key);
    Json all = known == nullptr ? Json(Json::Array()).at_line(values.line()) : *known;
    std::set<std::string> texts;
    for (const Json& value : *all.as_array()) texts.insert(*value.as_text());
    for (const Json& value : *values.as_array()) {
      if (texts.insert(*value.as_text()).second) all.push(value);
    }
    to.set(key, std::move(all));
  }
}

// As in the operator: the lists of all policies of a resource together, and the options of the first.
ConfigPart make_resource(const std::vector<Policy>& policies, const Policy& first,
                         const std::string& prefix) {
  Json selectors = first.options;
  Json lists = Json::object();
  bool exclude_topology = false;
  for (const Policy& policy : policies) {
    if (policy.resource != first.resource) continue;
    add_values(policy.lists, lists);
    exclude_topology = policy.exclude_topology;  // of the last
  }
  for (auto& [key, values] : *lists.as_object()) selectors.set(key, std::move(values));
  const uint32_t line = first.document->value.line();
  Json entry = Json::object()
                   .set("resourcePrefix", prefix)
                   .set("resourceName", first.resource)
                   .set("excludeTopology", exclude_topology)
                   .set("selectors", std::move(selectors.at_line(line)));
  return {
      first.document->where,
      Json::object().set("resourceList", Json(Json::Array{std::move(entry.at_line(line))})).at_line(line)};
}

void remark_nodes(const Policy& first, const Policy& other, FoundConfig& out) {
  if (first.node_selector == other.node_selector) return;
  out.mistake(other.document->where + ": spec.nodeSelector" + in_line(other.node_selector.line()) +
              ": it is another than that of " + first.document->title() +
              " with the same resourceName, and vfrail does not evaluate it: on every node both are "
              "selected; give each group of nodes a file of its own");
}

void note_policies(const std::vector<Policy>& policies, const std::string& prefix, FoundConfig& out) {
  if (policies.empty()) return;
  out.notes.push_back(policies.front().document->where +
                      ": the resources of SriovNetworkNodePolicies have the prefix " + prefix +
                      " (--resource-prefix); VFs are served as they are: numVfs, mtu, eSwitchMode and "
                      "nodeSelector are sriov-network-operator's");
}

}  // namespace

Result<> add_node_policies(const std::vector<const Document*>& documents, const std::string& prefix,
                           FoundConfig& out) {
  std::vector<Policy> policies;
  if (documents.size() > kMaxPolicies)
    return Error{Errc::invalid, 0,
                 documents.back()->where + ": more than " + std::to_string(kMaxPolicies) + " policies"};
  for (const Document* document : documents) {
    if (document->name == kDefaultPolicy) {
      out.notes.push_back(document->where + ": ignored, as by sriov-network-operator: its name is default");
      continue;
    }
    policies.push_back(TRY(read_policy(*document, out), document->where));
  }
  // The operator's order: a higher number first, then by name.
  std::stable_sort(policies.begin(), policies.end(), [](const Policy& a, const Policy& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.document->name < b.document->name;
  });
  for (size_t i = 0; i < policies.size(); ++i) {
    const auto same = [&](const Policy& other) { return other.resource == policies[i].resource; };
    const auto first = std::find_if(policies.begin(), policies.end(), same);
    if (first == policies.begin() + static_cast<ptrdiff_t>(i)) {
      out.parts.push_back(make_resource(policies, *first, prefix));
    } else {
      remark_nodes(*first, policies[i], out);
    }
  }
  note_policies(policies, prefix, out);
  return {};
}

}  // namespace vfrail::plugin
