#include "plugin/admin/advise/example.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/admin/advise/jobs.h"
#include "plugin/documents/yaml_text.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// A placeholder: no fact of a node says which addresses are free.
constexpr const char* kRange = "192.168.100.0/24";

Result<const ResourceConfig*> find_resource(const Config& config, const std::string& name) {
  std::vector<std::string> known;
  for (const ResourceConfig& resource : config.resources) {
    if (resource.resource() == name) return &resource;
    known.push_back(resource.resource());
  }
  const std::string meant = nearest_name(name, known);
  return Error{Errc::invalid, 0,
               "--resource " + name + " is not in the configuration; " +
                   (meant.empty() ? "there is " + first_few(known) : "did you mean \"" + meant + "\"?"),
               ErrorId::network_resource};
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

bool is_only(const std::vector<std::string>& values, std::string_view word) {
  return values.size() == 1 && values[0] == word;
}

// Without a link type nothing is known of the devices.
bool selects_infiniband(const ResourceConfig& resource) {
  return std::all_of(resource.selectors.begin(), resource.selectors.end(), [](const Selector& selector) {
    return is_only(selector.list("linkTypes"), "infiniband");
  });
}

// Every selector is for devices that take their addresses from an interface of the host: on Ethernet, or
// eRDMA, whose interface is another function's.
bool uses_hosts_addresses(const ResourceConfig& resource) {
  constexpr const char* kAlibaba = "1ded";
  return std::all_of(resource.selectors.begin(), resource.selectors.end(), [&](const Selector& selector) {
    return is_only(selector.list("linkTypes"), "ether") || is_only(selector.list("vendors"), kAlibaba);
  });
}

std::string own_network(const ResourceConfig& resource) {
  std::string out = resource.name;
  for (char& c : out) c = c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  // A name of Kubernetes begins and ends with a letter or digit.
  while (!out.empty() && out.back() == '-') out.pop_back();
  while (!out.empty() && out.front() == '-') out.erase(0, 1);
  return out;
}

Json make_network(const ResourceConfig& resource, const std::string& name) {
  Json config = Json::object();
  config.set("cniVersion", "1.0.0").set("name", name).set("type", "vfrail");
  // Several rails of one range: an answer has to leave by the rail of its address.
  if (resource.unit == UnitKind::bundle) config.set("sourceRouting", true);
  config.set("ipam", Json::object().set("type", "whereabouts").set("range", kRange));
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

void comment(const std::string& text, std::string& out) { out += "# " + text + "\n"; }

void say_network(const ResourceConfig& resource, const ExampleRequest& request, const PodNeeds& needs,
                 std::string& out) {
  if (needs_network(resource)) {
    comment(
        resource.unit == UnitKind::bundle
            ? "Multus attaches all devices of a unit, one of each rail, to each network of the annotation: "
              "net1, "
              "net1r1, net1r2 and so on. The network is in the pod's namespace."
            : "Multus attaches a device to each network of the annotation, which is in the pod's namespace.",
        out);
    if (resource.unit == UnitKind::bundle && request.networks.empty())
      comment("For a range of each rail: \"rails\": {\"ipam\": [{\"range\": ...}, ...]}.", out);
    if (request.networks.empty())
      comment(
          "The range " + std::string(kRange) + " is a placeholder: put in one that is free on that fabric.",
          out);
  } else if (needs.host_network) {
    comment("RoCE and iWARP take their addresses from an interface that stays in the host: hostNetwork.",
            out);
  } else {
    comment("No network: the devices stay in the host, and the pod has their device nodes.", out);
    if (!selects_infiniband(resource))
      comment("Of RoCE and iWARP devices the pod has to use the host's network: hostNetwork: true.", out);
  }
}

void say_test(const ResourceConfig& resource, const JobKind& kind, std::string& out) {
  if (resource.mount_check)
    comment("Whether RDMA works in a pod, and if not, why: kubectl exec POD -- vfrail-check", out);
  if (std::string_view(kind.name) != "pod") {
    if (kind.needs_gpu)
      comment("RDMA is used if the log of a rank says NET/IB; NET/Socket means TCP.", out);
    else
      comment("RDMA is used if the log of a program with NCCL says NET/IB; NET/Socket means TCP.", out);
    return;
  }
  comment("Test, with two such pods on two nodes and ADDRESS of the first (kubectl get pod -o wide):", out);
  const char* listens = resource.mount_check ? "vfrail-check --listen" : "ib_write_bw --report_gbits -F";
  const char* calls =
      resource.mount_check ? "vfrail-check --to ADDRESS" : "ib_write_bw --report_gbits -F ADDRESS";
  comment(std::string("  kubectl exec POD_A -- ") + listens, out);
  comment(std::string("  kubectl exec POD_B -- ") + calls, out);
  comment(shares(resource) ? "The result is near the speed of the port that vfrail plan shows. Where a port "
                             "is down or a device is not the pod's, name one with -d."
                           : "The result is near the speed of the port that vfrail plan shows.",
          out);
}

void say_memory(const PodNeeds& needs, std::string& out) {
  if (needs.limit_lifted) {
    comment("Memory: the resource's memlock lifts the limit of pinned memory, for any user.", out);
    return;
  }
  comment(
      "Memory: IPC_LOCK lifts the limit of pinned memory for a container that runs as root, and for no "
      "other.",
      out);
  comment(
      "As another user: memlock of the resource, or LimitMEMLOCK of the container runtime on the node "
      "(vfrail "
      "doctor, VF-N36).",
      out);
}

std::string header(const ResourceConfig& resource, const ExampleRequest& request, const PodNeeds& needs,
                   const JobKind& kind) {
  std::string out;
  comment(std::string(kind.about) + " with " + counted(needs.devices, "unit") + " of " + resource.resource() +
              (needs.gpus > 0 ? " and " + counted(needs.gpus, "GPU") + " each" : "") +
              ", made by vfrail example.",
          out);
  say_network(resource, request, needs, out);
  comment("Least of the image: libibverbs1 and ibverbs-providers (Debian's names); perftest for ib_write_bw.",
          out);
  say_memory(needs, out);
  say_test(resource, kind, out);
  comment("If it fails: vfrail plan lists the errors of this node, vfrail explain ID what to do.", out);
  return out;
}

}  // namespace

bool needs_network(const ResourceConfig& resource) { return !shares(resource); }

Result<std::string> make_example(const Config& config, const ExampleRequest& request) {
  const ResourceConfig& resource = *TRY(find_resource(config, request.resource));
  const JobKind& kind = *TRY(find_kind(request.kind));
  const bool own = needs_network(resource) && request.networks.empty();
  PodNeeds needs;
  needs.resource = resource.resource();
  needs.limit_lifted = resource.memlock.has_value();
  needs.gpus = kind.needs_gpu ? std::max<uint32_t>(request.gpus, 1) : request.gpus;
  needs.networks = own ? std::vector<std::string>{own_network(resource)} : request.networks;
  // Multus passes one unit to each network.
  if (needs_network(resource)) needs.devices = static_cast<uint32_t>(needs.networks.size());
  needs.host_network = shares(resource) && request.networks.empty() && uses_hosts_addresses(resource);
  std::string out = header(resource, request, needs, kind);
  if (own) out += to_yaml(make_network(resource, needs.networks.front())) + "---\n";
  bool first = true;
  for (const Json& object : kind.make(needs)) {
    out += (first ? "" : "---\n") + to_yaml(object);
    first = false;
  }
  return out;
}

}  // namespace vfrail::plugin
