#include "plugin/admin/advise/example.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/admin/advise/example_text.h"
#include "plugin/documents/yaml_text.h"

#include <algorithm>
#include <fnmatch.h>

namespace vfrail::plugin {

namespace {

using Resources = std::vector<const ResourceConfig*>;

// Of the objects that are printed.
constexpr const char* kExampleName = "rdma-test";

Result<Resources> find_resources(const Config& config, const std::string& name) {
  Resources out;
  std::vector<std::string> known;
  const bool pattern = name.find('*') != std::string::npos;
  for (const ResourceConfig& resource : config.resources) {
    known.push_back(resource.resource());
    if (pattern ? ::fnmatch(name.c_str(), known.back().c_str(), FNM_NOESCAPE) == 0 : known.back() == name)
      out.push_back(&resource);
  }
  if (out.empty()) {
    const std::string meant = nearest_name(name, known);
    return Error{Errc::invalid, 0,
                 "--resource " + name + " is not in the configuration; " +
                     (meant.empty() ? "there is " + first_few(known) : "did you mean \"" + meant + "\"?"),
                 ErrorId::network_resource};
  }
  for (const ResourceConfig* one : out) {
    if (out.size() > 1 && (shares(*one) || one->unit == UnitKind::bundle))
      return Error{Errc::invalid, 0,
                   "--resource " + name + " matches " + one->resource() +
                       ", of which a unit has several devices; name the only one that the pod is to have",
                   ErrorId::option_invalid};
  }
  return out;
}

Result<const JobKind*> find_kind(const std::string& name) {
  std::vector<std::string> known;
  for (const JobKind& kind : job_kinds()) {
    if (kind.name == name) return &kind;
    known.emplace_back(kind.name);
  }
  return Error{Errc::invalid, 0, "--kind " + name + " is not one of " + joined(known),
               ErrorId::option_invalid};
}

Json addresses_of_rails(size_t rails) {
  Json ipam = Json::array();
  for (size_t i = 0; i < rails; ++i) ipam.push(Json::object().set("range", placeholder_range(i)));
  return Json::object().set("ipam", std::move(ipam));
}

// The network of the resource, which is number `rail` of the pod's.
Json make_network(const ExampleParts& parts, size_t rail) {
  const ResourceConfig& resource = *parts.resources[rail];
  const std::string name = name_of_network(resource);
  Json ipam = Json::object().set("type", "whereabouts");
  const bool ranges = parts.is_bundle() && parts.node.rails > 1;
  if (!ranges) ipam.set("range", placeholder_range(rail));
  Json config = Json::object();
  config.set("cniVersion", "1.0.0").set("name", name).set("type", "vfrail");
  // Several devices in a pod: an answer has to leave by the one of its address.
  if (parts.is_bundle() || parts.needs.networks.size() > 1) config.set("sourceRouting", true);
  config.set("ipam", std::move(ipam));
  if (ranges) config.set("rails", addresses_of_rails(parts.node.rails));
  Json annotations = Json::object();
  annotations.set("k8s.v1.cni.cncf.io/resourceName", resource.resource());
  Json metadata = Json::object();
  metadata.set("name", name).set("annotations", std::move(annotations));
  return Json::object()
      .set("apiVersion", "k8s.cni.cncf.io/v1")
      .set("kind", "NetworkAttachmentDefinition")
      .set("metadata", std::move(metadata))
      .set("spec", Json::object().set("config", config.pretty() + "\n"));
}

// Multus passes a unit to each network.
void add_units(ExampleParts& parts) {
  PodNeeds& needs = parts.needs;
  needs.networks = parts.request.networks;
  if (!needs_network(parts.first())) return;
  if (parts.resources.size() > 1) {
    // As many rails as belong to the GPUs; which rail is near which GPU is not kubelet's question.
    const uint32_t wanted = parts.node.cards_of(needs.gpus);
    if (wanted > 0 && needs.networks.empty())
      parts.resources.resize(std::min<size_t>(wanted, parts.resources.size()));
    if (needs.networks.empty()) {
      for (const ResourceConfig* one : parts.resources) needs.networks.push_back(name_of_network(*one));
    }
    return;
  }
  // In a claim each GPU has its own device, where it is not known that several share one.
  const uint32_t least = parts.request.claim ? std::max<uint32_t>(needs.gpus, 1) : 1;
  const uint32_t known = parts.node.cards_of(needs.gpus);
  const uint32_t units = parts.is_bundle() ? 1 : known > 0 ? known : least;
  if (needs.networks.empty()) needs.networks.assign(units, name_of_network(parts.first()));
  needs.units = static_cast<uint32_t>(needs.networks.size());
}

Result<> check_networks(const ExampleParts& parts) {
  const auto& networks = parts.request.networks;
  if (parts.resources.size() == 1 || networks.empty() || networks.size() == parts.resources.size()) return {};
  return Error{Errc::invalid, 0,
               "--resource " + parts.request.resource + " matches " +
                   counted(parts.resources.size(), "resource") + ", and --network names " +
                   std::to_string(networks.size()) + ": give each its network, or none",
               ErrorId::option_invalid};
}

Result<> check_claim(const ExampleParts& parts) {
  if (!parts.request.claim) return {};
  if (shares(parts.first()))
    return Error{Errc::invalid, 0,
                 "--claim: " + parts.first().resource() +
                     " has devices that pods share, which stay with the device plugin",
                 ErrorId::option_invalid};
  if (parts.resources.size() == 1) return {};
  return Error{Errc::invalid, 0,
               "--claim: --resource " + parts.request.resource + " matches " +
                   counted(parts.resources.size(), "resource") + "; name one",
               ErrorId::option_invalid};
}

}  // namespace

bool needs_network(const ResourceConfig& resource) { return !shares(resource); }

Result<std::string> make_example(const Config& config, const ExampleRequest& request, const Inventory* node,
                                 const HardwareById& hardware) {
  const JobKind& kind = *TRY(find_kind(request.kind));
  auto resources = TRY(find_resources(config, request.resource));
  ExampleParts parts{request, kind, std::move(resources), {}, {}};
  TRY(check_networks(parts));
  TRY(check_claim(parts));
  parts.node = share_of(config, parts.resources, node, hardware);
  PodNeeds& needs = parts.needs;
  needs.limit_lifted = parts.first().memlock.has_value();
  needs.gpus = parts.kind.needs_gpu ? std::max<uint32_t>(request.gpus, 1) : request.gpus;
  add_units(parts);
  for (const ResourceConfig* one : parts.resources) needs.resources.push_back(one->resource());
  needs.host_network =
      shares(parts.first()) && request.networks.empty() && parts.node.takes_hosts_address.value_or(false);
  Json claim;
  if (request.claim) {
    needs.claim_template = kExampleName;
    claim = TRY(make_claim_template(kExampleName, claimed_devices(parts)));
  }
  std::string out = example_text(parts);
  const bool own = needs_network(parts.first()) && request.networks.empty();
  for (size_t i = 0; own && i < parts.resources.size(); ++i) out += to_yaml(make_network(parts, i)) + "---\n";
  if (!claim.is_null()) out += to_yaml(claim) + "---\n";
  bool first = true;
  for (const Json& object : parts.kind.make(needs)) {
    out += (first ? "" : "---\n") + to_yaml(object);
    first = false;
  }
  return out;
}

}  // namespace vfrail::plugin
