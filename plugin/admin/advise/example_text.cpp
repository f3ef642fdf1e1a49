#include "plugin/admin/advise/example_text.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

void comment(const std::string& text, std::string& out) { out += "# " + text + "\n"; }

// Why a pod does not start on this node, or gets other cards than those of its GPUs.
void say_doubts(const ExampleParts& parts, std::string& out) {
  const NodeShare& node = parts.node;
  const bool shared = shares(parts.first());
  if (node.gpus > 0 && parts.needs.gpus > node.gpus)
    comment("The node has " + counted(node.gpus, "GPU") + ": a pod with " + counted(parts.needs.gpus, "GPU") +
                " stays Pending where all nodes are as this one.",
            out);
  const size_t taken =
      parts.is_bundle() ? node.rails : static_cast<size_t>(parts.needs.units) * parts.resources.size();
  if (!shared && node.healthy < std::min(taken, node.rails))
    comment("Only " + std::to_string(node.healthy) + " of " + counted(node.rails, "card") +
                (node.healthy == 1 ? " is" : " are") +
                " healthy now, so this pod stays Pending here: vfrail inspect --unhealthy says why.",
            out);
  if (!shared && node.dark > 0)
    comment(std::to_string(node.dark) + " of " + counted(node.rails, "card") +
                (node.dark == 1 ? " has" : " have") +
                " no link now, and a pod may get it all the same: vfrail plan says which.",
            out);
  if (!node.others.empty())
    comment("The resource also has " + first_few(node.others) + " (" + node.why_others + "): " +
                (shared || parts.is_bundle() ? "a unit has them as well"
                                             : "a pod may get one of them in place of a card of its GPUs") +
                ". vfrail plan prints selectors without them.",
            out);
}

// The devices of the pod's GPUs, or why they are not known.
void say_share(const ExampleParts& parts, std::string& out) {
  const uint32_t gpus = parts.needs.gpus;
  const NodeShare& node = parts.node;
  if (gpus == 0 || shares(parts.first())) return;
  const uint32_t wanted = node.cards_of(gpus);
  const auto has = static_cast<uint32_t>(parts.needs.units * parts.resources.size());
  if (wanted == 0) {
    if (gpus > 1 && !parts.is_bundle())
      comment("How many devices belong to " + counted(gpus, "GPU") +
                  " is not known: --root with a captured node " + "of the resource shows it. With " +
                  counted(has, "device") + " the pod has no more than the speed of " +
                  (has == 1 ? "one port." : "so many ports."),
              out);
    return;
  }
  const std::string node_has =
      "The node has " + counted(node.rails, "card") + " of it for " + counted(node.gpus, "GPU");
  if (parts.is_bundle()) {
    comment(node_has + "; a unit has a device of each card" +
                (gpus < node.gpus ? ", also for a pod with fewer GPUs." : "."),
            out);
    return;
  }
  if (gpus > node.gpus) {
    comment(node_has + ".", out);
    return;
  }
  comment(node_has + (has == wanted ? ": " : ", so that ") + std::to_string(wanted) +
              (wanted == 1 ? " belongs to " : " belong to ") + counted(gpus, "GPU") +
              (has == wanted ? "." : "; this pod has " + std::to_string(has) + "."),
          out);
  if (!parts.request.claim && wanted < node.rails && parts.first().preference == Preference::none &&
      parts.resources.size() == 1)
    comment(
        "Which of them is kubelet's choice: \"preferredAllocation\": \"pcie\" of the resource keeps them "
        "near.",
        out);
}

// What has to be in the cluster, and what the constraints do.
void say_claim(const ExampleParts& parts, std::string& out) {
  const std::string name = name_of_network(parts.first());
  comment("By a ResourceClaim: Kubernetes 1.34 or later, and vfrail with dra.enabled and this class:", out);
  comment("  --set-json 'dra.deviceClasses=[{\"name\":\"" + name + "\",\"resource\":\"" +
              parts.first().resource() + "\"}]'",
          out);
  if (parts.needs.gpus == 0) return;
  comment("The GPUs are those of NVIDIA's DRA driver (class " + std::string(kGpuClass) + ").", out);
  if (is_aligned(claimed_devices(parts)))
    comment("Each GPU and its device are below one PCIe root; where no node has them so, the pod is Pending.",
            out);
  else
    comment("Nothing aligns the GPUs with the devices here.", out);
}

void say_networks(const ExampleParts& parts, std::string& out) {
  const bool placeholders = parts.request.networks.empty();
  if (needs_network(parts.first())) {
    comment(
        parts.is_bundle()
            ? "Multus attaches all devices of a unit, one of each rail, to each network of the annotation: "
              "net1, "
              "net1r1, net1r2 and so on. The network is in the pod's namespace."
            : "Multus attaches a device to each network of the annotation, which is in the pod's namespace.",
        out);
    if (parts.is_bundle() && placeholders && parts.node.rails == 0)
      comment("For a range of each rail: \"rails\": {\"ipam\": [{\"range\": ...}, ...]}.", out);
    const bool several = parts.resources.size() > 1 || (parts.is_bundle() && parts.node.rails > 1);
    if (placeholders && several)
      comment(
          "The ranges from " + placeholder_range(0) +
              " on are placeholders, one for each rail: put in those of your fabric. Where it routes between "
              "rails, give each range its gateway and routes.",
          out);
    else if (placeholders)
      comment(
          "The range " + placeholder_range(0) + " is a placeholder: put in one that is free on that fabric.",
          out);
    if (placeholders && !several && parts.needs.units > 1 && !parts.request.claim &&
        parts.node.takes_hosts_address.value_or(false))
      comment(
          "All devices of the pod get addresses of that range. Where each rail has a subnet of its own, a "
          "bundle or a resource per rail (vfrail plan) gives each its range.",
          out);
  } else if (parts.needs.host_network) {
    comment("RoCE and iWARP take their addresses from an interface that stays in the host: hostNetwork.",
            out);
  } else {
    comment("No network: the devices stay in the host, and the pod has their device nodes.", out);
    if (!parts.node.takes_hosts_address)
      comment("If they are RoCE or iWARP, the pod has to use the host's network: hostNetwork: true.", out);
  }
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

// vfrail-check needs nothing of the image; perftest's own choice of a device is the first, whatever its port
// is.
void say_test(const ExampleParts& parts, std::string& out) {
  std::string program = "vfrail-check";
  if (!parts.first().mount_check) {
    program = "/tmp/vfrail-check";
    comment(
        "vfrail-check is in each container with \"mountCheck\": true of the resource. Without it, from "
        "vfrail's "
        "image or release:",
        out);
    comment("  kubectl cp vfrail-check POD:/tmp/vfrail-check", out);
  }
  comment("Whether RDMA works in a pod, and if not, why: kubectl exec POD -- " + program, out);
  comment("Test, with two such pods on two nodes, and the address that the first command prints:", out);
  comment("  kubectl exec POD_A -- " + program + " --listen", out);
  comment("  kubectl exec POD_B -- " + program + " --to ADDRESS", out);
  comment("The result is near the speed of the port that vfrail plan shows.", out);
  const bool choice = shares(parts.first());
  const std::string device = choice ? " -d " + (parts.node.rdma.empty() ? "DEVICE" : parts.node.rdma) : "";
  comment("With perftest in the image: ib_write_bw" + device +
              " --report_gbits -F, and the same with ADDRESS" +
              (choice && parts.node.rdma.empty() ? "; DEVICE is one whose port is ACTIVE." : "."),
          out);
  if (std::string_view(parts.kind.name) != "pod")
    comment(std::string("RDMA is used if the log of a ") +
                (parts.kind.needs_gpu ? "rank" : "program with NCCL") + " has NET/IB; NET/Socket means TCP.",
            out);
}

}  // namespace

std::string placeholder_range(size_t rail) {
  constexpr size_t kFirst = 100;
  return "192.168." + std::to_string(std::min<size_t>(kFirst + rail, 255)) + ".0/24";
}

std::string name_of_network(const ResourceConfig& resource) {
  std::string out = resource.name;
  for (char& c : out) c = c == '_' ? '-' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  // A name of Kubernetes begins and ends with a letter or digit.
  while (!out.empty() && out.back() == '-') out.pop_back();
  while (!out.empty() && out.front() == '-') out.erase(0, 1);
  return out;
}

ClaimedDevices claimed_devices(const ExampleParts& parts) {
  return {.device_class = name_of_network(parts.first()),
          .devices = parts.needs.units,
          .gpus = parts.needs.gpus,
          .bundle = parts.is_bundle()};
}

std::string example_text(const ExampleParts& parts) {
  const PodNeeds& needs = parts.needs;
  std::string out;
  const std::string units = parts.resources.size() == 1
                                ? counted(needs.units, "unit") + " of " + parts.first().resource()
                                : "a unit of each of " + joined(needs.resources);
  comment(std::string(parts.kind.about) + " with " + units +
              (needs.gpus > 0 ? " and " + counted(needs.gpus, "GPU") + " each" : "") +
              ", made by vfrail example.",
          out);
  say_share(parts, out);
  say_doubts(parts, out);
  if (parts.request.claim) say_claim(parts, out);
  say_networks(parts, out);
  comment("Least of the image: libibverbs1 and ibverbs-providers (Debian's names); perftest for ib_write_bw.",
          out);
  say_memory(needs, out);
  say_test(parts, out);
  comment("If it fails: vfrail plan lists the errors of this node, vfrail explain ID what to do.", out);
  return out;
}

}  // namespace vfrail::plugin
