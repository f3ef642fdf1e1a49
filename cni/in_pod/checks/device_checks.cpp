// What the pod was given: pod.json, the nodes in /dev/infiniband, the drivers of its image.
#include "cni/in_pod/checks/pod_check.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <set>

namespace vfrail::pod {

namespace {

constexpr const char* kVisibleOnly =
    "request the resource in this container's limits; a container without it sees the devices and cannot use "
    "them";

bool has_name(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The addresses of devices that kubelet allocated to this container: PCIDEVICE_NVIDIA_COM_HOSTDEV and the
// like, without those that end in _INFO.
std::set<std::string> allocated_addresses(const CheckedPod& pod) {
  std::set<std::string> out;
  for (const auto& [name, text] : pod.environment) {
    if (!name.starts_with("PCIDEVICE_") || name.ends_with("_INFO")) continue;
    for (const std::string& address : split(text, ",")) out.insert(address);
  }
  if (!pod.file || !*pod.file) return out;
  for (const DescribedInterface& one : (*pod.file)->interfaces) out.insert(one.device);
  return out;
}

Result<CheckResults> check_pod_description(const CheckedPod& pod) {
  if (!pod.file)
    return CheckResults{{Finding::advice, pod.sys.path(kPodDescription) + ": " + pod.file.error().text,
                         "use the vfrail-check of the version that the node has"}};
  if (*pod.file) return CheckResults();
  if (!pod.own_rails().empty() && allocated_addresses(pod).empty())
    return CheckResults{{Finding::not_applicable,
                         "no device was allocated to this container alone: shared ones need no network"}};
  return CheckResults{{Finding::note,
                       "there is no " + pod.sys.path(kPodDescription) +
                           ": no network of vfrail has written it, so nothing is known of what was attached",
                       "name the network in the pod's annotation k8s.v1.cni.cncf.io/networks"}};
}

// In exclusive mode sysfs has the pod's own devices alone; in shared mode those of the whole node, so a
// device without a node is another's as long as one has one.
Result<CheckResults> check_own_nodes(const CheckedPod& pod) {
  if (!TRY(pod.sys.exists("sys/class")))
    return CheckResults{{Finding::unknown, pod.sys.path("sys/class") + " is not there: mount sysfs at /sys"}};
  const auto rails = TRY(pod.rails);
  std::vector<std::string> without;
  for (const Rail& rail : rails) {
    if (!rail.has_node && pod.attachment_of(rail) != nullptr) without.push_back(shown_rail(rail));
  }
  if (without.empty() && !rails.empty() && pod.own_rails().empty()) {
    for (const Rail& rail : rails) without.push_back(shown_rail(rail));
  }
  if (!without.empty())
    return CheckResults{
        {Finding::fault, "visible, and no node in /dev/infiniband: " + first_few(without), kVisibleOnly}};
  CheckResults out;
  for (const DescribedInterface& one :
       pod.file&&* pod.file ? (*pod.file)->interfaces : std::vector<DescribedInterface>()) {
    const bool there = one.rdma.empty() || std::any_of(rails.begin(), rails.end(), [&](const Rail& rail) {
                         return rail.name == one.rdma;
                       });
    if (!there)
      out.push_back(
          {Finding::fault, one.name + " was attached with " + one.rdma + ", which is not here",
           "delete the pod, so that it is created again; on the node: /opt/cni/bin/vfrail sweep --dry-run"});
  }
  if (out.empty() && rails.empty())
    out.push_back({Finding::fault, "there is no RDMA device in this pod",
                   "request an RDMA resource in the container's limits, and name its network in the pod's "
                   "annotation (a shared resource needs none)"});
  return out;
}

Result<CheckResults> check_foreign_nodes(const CheckedPod& pod) {
  const auto allocated = allocated_addresses(pod);
  const auto in_dev = TRY(list_device_nodes(pod.sys));
  std::vector<std::string> foreign;
  for (const VerbsNode& node : TRY(read_verbs_nodes(pod.sys))) {
    if (!node.pci.empty() && has_name(in_dev, node.name) && !allocated.contains(node.pci))
      foreign.push_back(node.name + " (" + node.pci + ")");
  }
  if (foreign.empty()) return CheckResults();
  if (allocated.empty())
    return CheckResults{
        {Finding::unknown, "which devices were allocated is not known: no PCIDEVICE_ variable, and no " +
                               pod.sys.path(kPodDescription)}};
  return CheckResults{{Finding::advice,
                       "/dev/infiniband has nodes of devices that were not allocated: " + first_few(foreign) +
                           ": NCCL may take them",
                       "remove the hostPath volume of /dev/infiniband, and privileged, from the pod; or list "
                       "the pod's own devices in NCCL_IB_HCA"}};
}

constexpr const char* kStaleNode =
    "the node was allocated before the device moved and was renumbered: enable CDI in the container runtime "
    "and in vfrail (--use-cdi), and create the pod again";

constexpr const char* kNoNetwork =
    "name the network of this resource in the pod's annotation k8s.v1.cni.cncf.io/networks, once for each "
    "device, and create the pod again";

// Whether it was allocated and never attached: in exclusive mode the kernel opens a node (EPERM) for the
// network namespace alone that the device is in, and no network has moved this one into the pod's.
bool lacks_network(const VerbsNode& node, const CheckedPod& pod) {
  if (!pod.rails || !pod.file) return false;
  const auto is_here = [&](const Rail& rail) { return rail.name == node.rdma; };
  if (std::any_of(pod.rails->begin(), pod.rails->end(), is_here)) return false;
  const auto attached = *pod.file ? (*pod.file)->interfaces : std::vector<DescribedInterface>();
  return std::none_of(attached.begin(), attached.end(),
                      [&](const DescribedInterface& one) { return one.device == node.pci; });
}

void evaluate_probe(const NodeProbe& probe, const VerbsNode& node, bool is_allocated, const CheckedPod& pod,
                    CheckResults& out) {
  const std::string path = "/dev/infiniband/" + probe.name;
  if (!probe.number.empty() && !node.number.empty() && probe.number != node.number)
    out.push_back({Finding::fault,
                   path + " is device " + probe.number + ", and " + node.rdma + " is " + node.number,
                   kStaleNode});
  else if (probe.error == EPERM && is_allocated && lacks_network(node, pod))
    out.push_back({Finding::fault,
                   path + " cannot be opened: " + node.rdma + " (" + node.pci +
                       ") was allocated to this container, and no network has attached it to the pod",
                   kNoNetwork});
  else if (probe.error != 0)
    out.push_back({Finding::fault, path + " cannot be opened: " + errno_text(probe.error),
                   probe.error == EACCES ? "the node's mode on the host: chmod 666, by a rule of udev"
                   : is_allocated        ? kStaleNode
                                         : kVisibleOnly});
}

// Nodes of others' devices, which VF-P03 is about, have to be neither.
Result<CheckResults> check_node_numbers(const CheckedPod& pod) {
  CheckResults out;
  const auto nodes = TRY(read_verbs_nodes(pod.sys));
  auto allocated = allocated_addresses(pod);
  for (const Rail& rail : pod.own_rails()) {
    const DescribedInterface* attached = pod.attachment_of(rail);
    if (attached == nullptr) continue;
    allocated.insert(rail.pci);
    if (!attached->uverbs.empty() && attached->uverbs != rail.uverbs)
      out.push_back({Finding::fault,
                     shown_rail(rail) + " is " + rail.uverbs + ", and was " + attached->uverbs +
                         " when it was attached",
                     kStaleNode});
  }
  if (!pod.probes) return out;
  for (const NodeProbe& probe : pod.probes->nodes) {
    const auto node = std::find_if(nodes.begin(), nodes.end(),
                                   [&](const VerbsNode& one) { return one.name == probe.name; });
    if (node == nodes.end()) continue;
    const bool is_allocated = allocated.contains(node->pci);
    if (is_allocated || allocated.empty()) evaluate_probe(probe, *node, is_allocated, pod, out);
  }
  return out;
}

// The provider of a kernel driver, as libibverbs names its library: "mlx5" of "mlx5_core".
std::string provider_of(const std::string& driver) {
  constexpr std::pair<const char*, const char*> kProviders[] = {
      {"mlx5_core", "mlx5"}, {"mlx4_core", "mlx4"}, {"bnxt_en", "bnxt_re"}, {"ice", "irdma"},
      {"iavf", "irdma"},     {"i40e", "irdma"},     {"qede", "qedr"},       {"hns3", "hns"},
      {"hclgevf", "hns"},    {"cxgb4", "cxgb4"},    {"efa", "efa"},         {"erdma", "erdma"},
      {"mana", "mana"},      {"rxe", "rxe"}};
  for (const auto& [name, provider] : kProviders) {
    if (driver == name) return provider;
  }
  return {};
}

// The folders of libraries of Debian's and Red Hat's images.
constexpr const char* kLibraryFolders[] = {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu",
                                           "usr/lib64", "usr/lib", "usr/local/lib"};

// "libmlx5-rdmav34.so" in a folder libibverbs, below one of them.
Result<bool> has_provider(const SysRoot& sys, const std::string& provider) {
  for (const std::string folder : kLibraryFolders) {
    for (const std::string& name : TRY(sys.list(folder + "/libibverbs")).value_or(SysRoot::Names())) {
      if (name.starts_with("lib" + provider + "-")) return true;
    }
  }
  return false;
}

Result<CheckResults> check_providers(const CheckedPod& pod) {
  std::set<std::string> missing;
  for (const Rail& rail : pod.own_rails()) {
    const std::string provider = provider_of(rail.driver);
    if (provider.empty()) continue;
    const bool there = TRY(has_provider(pod.sys, provider)) &&
                       TRY(pod.sys.exists("etc/libibverbs.d/" + provider + ".driver"));
    if (!there) missing.insert(provider);
  }
  if (missing.empty()) return CheckResults();
  return CheckResults{{Finding::advice,
                       "this image has no driver of libibverbs for " +
                           joined({missing.begin(), missing.end()}) +
                           ": NCCL finds no RDMA device with it, "
                           "and uses TCP",
                       "install ibverbs-providers (Debian, Ubuntu) or libibverbs and rdma-core (Red Hat) in "
                       "the image"}};
}

Result<CheckResults> check_other_nodes(const CheckedPod& pod) {
  const auto names = TRY(list_device_nodes(pod.sys));
  if (pod.own_rails().empty()) return CheckResults();
  CheckResults out;
  if (!has_name(names, "rdma_cm"))
    out.push_back(
        {Finding::note,
         "there is no /dev/infiniband/rdma_cm: ib_write_bw -R, rping and NVMe over RDMA do not work",
         "modprobe rdma_ucm on the node; NCCL does not need it"});
  if (std::none_of(names.begin(), names.end(),
                   [](const std::string& one) { return one.starts_with("umad"); }))
    out.push_back({Finding::note, "there is no /dev/infiniband/umad: ibstat and the like do not work",
                   "NCCL does not need it"});
  return out;
}

}  // namespace

const PodChecks& device_checks() {
  static const PodChecks kChecks = {
      {"VF-P01", "pod-file", "vfrail-cni has described what it gave to the pod", check_pod_description},
      {"VF-P02", "own-nodes", "programs can use the pod's RDMA devices: their nodes are in /dev/infiniband",
       check_own_nodes, lacks_rails},
      {"VF-P03", "foreign-nodes", "/dev/infiniband has no nodes of others' devices", check_foreign_nodes,
       lacks_rails},
      {"VF-P04", "node-numbers", "every node is that of its device, and can be opened", check_node_numbers,
       lacks_rails},
      {"VF-P05", "image-drivers", "the image has the libraries for the RDMA devices", check_providers,
       lacks_rails},
      {"VF-P14", "other-nodes", "the nodes of the RDMA CM and of management are there", check_other_nodes,
       lacks_rails},
  };
  return kChecks;
}

}  // namespace vfrail::pod
