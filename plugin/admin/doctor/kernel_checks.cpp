// The kernel: its modules, modes and settings.
#include "common/node/attachments.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/match/pools.h"

#include <algorithm>
#include <map>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr const char* kIommuGroups = "sys/kernel/iommu_groups/";

Result<CheckResults> check_modules(const CheckedNode& node) {
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!function.rdma.empty() && function.verbs_nodes.empty())
      out.push_back({Finding::fault, shown_device(function) + " has an RDMA device without a verbs node",
                     "modprobe ib_uverbs, and name it in /etc/modules-load.d"});
  }
  const auto& functions = node.inventory.functions;
  const auto bare = std::find_if(functions.begin(), functions.end(), [](const DeviceFacts& function) {
    return function.driver.name() == "mlx5_core" && !function.is_vf() && function.rdma.empty() &&
           function.verbs_nodes.empty();
  });
  // Only where modules are listed: not every captured tree has them.
  const bool lists_modules = TRY(node.sys.exists("sys/module/mlx5_core"));
  if (bare != functions.end() && lists_modules && !TRY(node.sys.exists("sys/module/mlx5_ib"))) {
    out.push_back({Finding::fault, shown_device(*bare) + " has no RDMA device: mlx5_ib is not loaded",
                   "modprobe mlx5_ib, and name it in /etc/modules-load.d"});
  }
  if (has_rdma(node.inventory) && !node.inventory.rdma_cm)
    out.push_back({Finding::advice,
                   "there is no /dev/infiniband/rdma_cm: what uses the RDMA CM fails (ib_write_bw -R)",
                   "modprobe rdma_ucm, and name it in /etc/modules-load.d"});
  return out;
}

// RDMA_NLDEV_CMD_SYS_SET and moving an RDMA device came with Linux 5.1 and 5.2.
Result<CheckResults> check_kernel(const CheckedNode& node) {
  const auto text = TRY(node.kernel.text(kKernelRelease));
  if (!text) return CheckResults{{Finding::unknown, std::string(kKernelRelease) + " is not there"}};
  const auto release = parse_release(*text);
  if (!release) return CheckResults{{Finding::unknown, "\"" + *text + "\" is not a release of Linux"}};
  // The oldest that the tests run on (tests/lab/all --kernel 5.10).
  if (*release >= std::pair(5, 10)) return CheckResults();
  if (*release >= std::pair(5, 2))
    return CheckResults{
        {Finding::note, "Linux " + *text +
                            " is older than 5.10, the oldest that vfrail was tried on; what it needs "
                            "is there since 5.2"}};
  // Red Hat and others bring it to older releases: exclusive mode is there only where devices can move.
  if (node.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive) return CheckResults();
  if (TRY(node.kernel.exists("sys/module/ib_core/parameters/netns_mode")) ||
      TRY(node.sys.exists("sys/module/ib_core/parameters/netns_mode")))
    return CheckResults{{Finding::unknown, "Linux " + *text +
                                               " is older than 5.2, and knows RDMA namespace modes: whether "
                                               "it can move RDMA devices shows in exclusive mode alone"}};
  return CheckResults{{has_rdma(node.inventory) ? Finding::advice : Finding::note,
                       "Linux " + *text + " cannot move RDMA devices between network namespaces",
                       "Linux 5.2 or later; until then RDMA devices are shared by all pods"}};
}

// What the mode is for: resources of which each pod has its device alone, and resources that share theirs.
struct ModeUsers {
  std::vector<std::string> alone = {};
  std::vector<std::string> sharing = {};
  std::vector<std::string> faults = {};  // of what shares in exclusive mode
};

// Networks that want the RDMA device to move (rdmaIsolation, rdmaName). What cannot be read names none.
std::vector<std::string> isolated_networks(const std::string& cni_state) {
  std::vector<std::string> out;
  if (cni_state.empty()) return out;
  const Attachments attachments(cni_state);
  for (const AttachmentName& name : attachments.list().value_or(std::vector<AttachmentName>())) {
    const auto record = attachments.load(name);
    if (!record || !*record) continue;
    const auto network = Json::parse((*record)->config);
    const Json* isolation = network ? network->find("rdmaIsolation") : nullptr;
    const Json* renamed = network ? network->find("rdmaName") : nullptr;
    const bool wanted = isolation != nullptr && isolation->as_bool() != nullptr && *isolation->as_bool();
    if (wanted || renamed != nullptr) out.push_back("the network of " + attachment_text(**record));
  }
  return out;
}

ModeUsers users_of_mode(const CheckedNode& node) {
  ModeUsers out;
  out.alone = isolated_networks(node.cni_state);
  if (node.config == nullptr) return out;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    // A pool without a device may get some, such as VFs.
    const bool rdma = pool.devices.empty() ||
                      std::any_of(pool.devices.begin(), pool.devices.end(),
                                  [](const PoolDevice& device) { return device.facts.rdma_capable; });
    if (rdma) (shares(pool.config) ? out.sharing : out.alone).push_back(pool.resource());
    if (std::string fault = sharing_fault(pool, node.inventory); !fault.empty())
      out.faults.push_back(std::move(fault));
  }
  return out;
}

constexpr const char* kMakeExclusive =
    "for a pod to have its RDMA device alone: \"options ib_core netns_mode=0\" in "
    "/etc/modprobe.d, renew the "
    "initramfs, reboot";

// In shared mode an RDMA device cannot move (rdma_dev_change_netns() of the kernel): a pod uses it through
// its character devices alone, and sees the devices of all others. In exclusive mode no pod can use a device
// that stays in the host.
Result<CheckResults> check_rdma_mode(const CheckedNode& node) {
  if (!has_rdma(node.inventory)) return CheckResults{{Finding::good, "no RDMA device on this node"}};
  if (!node.inventory.rdma_netns_mode)
    return CheckResults{{Finding::unknown, "the kernel does not report the mode"}};
  const ModeUsers users = users_of_mode(node);
  if (*node.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive) {
    CheckResults out;
    for (const std::string& fault : users.faults)
      out.push_back({Finding::fault, fault,
                     "\"options ib_core netns_mode=1\" in /etc/modprobe.d, renew the initramfs, reboot; or "
                     "hostNetwork in the pods; or a resource that does not share"});
    return out;
  }
  if (node.config != nullptr && users.alone.empty())
    return CheckResults{{Finding::good, users.sharing.empty()
                                            ? std::string("shared, and no resource needs another mode")
                                            : "shared, as " + joined(users.sharing) + " needs it"}};
  const std::string what = "shared: every pod sees the RDMA devices of all, and GIDs of other namespaces";
  if (users.sharing.empty()) return CheckResults{{Finding::advice, what, kMakeExclusive}};
  return CheckResults{{Finding::note,
                       what + "; in exclusive mode a pod of " + joined(users.alone) +
                           " would have its device alone, and pods of " + joined(users.sharing) +
                           " could use none",
                       "leave it as it is, or take the resources that share away first"}};
}

Result<CheckResults> check_iommu(const CheckedNode& node) {
  CheckResults out;
  std::vector<std::string> translated;
  size_t asked = 0;
  size_t answers = 0;
  for (const DeviceFacts& function : node.inventory.functions) {
    const std::string& group = function.iommu_group;
    if (function.driver.kind() == DriverKind::vfio && group.empty())
      out.push_back({Finding::fault,
                     shown_device(function) + " is bound to " + function.driver.name() +
                         " and has no IOMMU group: it cannot be allocated",
                     "switch the IOMMU on in the firmware and by the kernel's parameter intel_iommu=on or "
                     "amd_iommu=on"});
    if (node.inventory.gpus.empty() || group.empty() || !function.rdma_capable) continue;
    const auto type = TRY(node.kernel.text(kIommuGroups + group + "/type"));
    ++asked;
    answers += type ? 1 : 0;
    if (type && type->starts_with("DMA")) translated.push_back(function.id.text());
  }
  if (asked > 0 && answers == 0)
    out.push_back({Finding::unknown, "the types of IOMMU groups are not in " +
                                         node.kernel.path(kIommuGroups) +
                                         ": whether the DMA of RDMA devices is translated is not known"});
  if (!translated.empty()) {
    out.push_back({Finding::advice,
                   "the IOMMU translates the DMA of " + first_few(translated) +
                       ": traffic between GPU and NIC goes through the CPU",
                   "the kernel's parameter iommu=pt"});
  }
  return out;
}

Result<CheckResults> check_vfio_groups(const CheckedNode& node) {
  std::map<std::string, std::pair<bool, std::vector<std::string>>>
      groups;  // has vfio; bound to other drivers
  CheckResults out;
  for (const DeviceFacts& function : node.inventory.functions) {
    auto& [has_vfio, others] = groups[function.iommu_group];
    const bool vfio = function.driver.kind() == DriverKind::vfio;
    has_vfio |= vfio;
    if (!vfio && function.driver.is_bound() && function.driver.kind() != DriverKind::stub)
      others.push_back(function.id.text());
    if (vfio && function.vfio_noiommu)
      out.push_back(
          {Finding::note,
           shown_device(function) + " uses VFIO without an IOMMU: a pod that has it can read all memory"});
  }
  for (const auto& [group, members] : groups) {
    const auto& [has_vfio, others] = members;
    if (group.empty() || !has_vfio || others.empty()) continue;
    out.push_back({Finding::fault,
                   "IOMMU group " + group + " has functions for VFIO and " + first_few(others) +
                       ", which a driver of the kernel has: VFIO does not open the group",
                   "bind all functions of the group to vfio-pci, or use a slot with ACS"});
  }
  return out;
}

Result<CheckResults> check_hugepages(const CheckedNode& node) {
  bool wanted = false;
  for (const DeviceFacts& function : node.inventory.functions)
    wanted |= function.kind == FunctionKind::network && function.driver.is_user_space() &&
              function.driver.kind() != DriverKind::stub;
  if (!wanted) return CheckResults();
  const std::string folder = "sys/kernel/mm/hugepages";
  const auto sizes = TRY(node.kernel.list(folder));
  if (!sizes) return CheckResults{{Finding::unknown, folder + " is not there"}};
  for (const std::string& size : *sizes) {
    if (TRY(node.kernel.number(folder + "/" + size + "/nr_hugepages")).value_or(0) > 0) return CheckResults();
  }
  return CheckResults{{Finding::advice, "functions are bound for DPDK, and the node has no huge pages",
                       "reserve them: the kernel's parameters hugepagesz=1G hugepages=8"}};
}

Result<CheckResults> check_latency(const CheckedNode& node) {
  CheckResults out;
  const auto balancing = TRY(node.kernel.number("proc/sys/kernel/numa_balancing"));
  if (balancing == 1)
    out.push_back({Finding::note, "numa_balancing is on: pages that move between nodes cost latency"});
  const auto governor = TRY(node.sys.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  if (!balancing && !governor)
    return CheckResults{{Finding::unknown, "neither numa_balancing nor the CPU frequency governor is here"}};
  if (governor == "powersave")
    out.push_back(
        {Finding::note,
         "the CPU frequency governor is powersave: latency of small messages, not bandwidth of RDMA"});
  return out;
}

}  // namespace

const NodeChecks& kernel_checks() {
  static const NodeChecks kChecks = {
      {"VF-N01", "rdma-modules", "the RDMA modules are loaded", check_modules, lacks_ports},
      {"VF-N03", "kernel", "Linux can move RDMA devices between network namespaces", check_kernel},
      {"VF-N04", "rdma-netns-mode", "exclusive: a pod has its RDMA device alone", check_rdma_mode},
      {"VF-N05", "iommu", "the IOMMU is as the devices need it", check_iommu},
      {"VF-N40", "latency", "nothing that costs latency", check_latency},
      {"VF-N41", "hugepages", "no device needs huge pages that are missing", check_hugepages, lacks_config},
      {"VF-N42", "vfio-groups", "no IOMMU group is shared with a driver of the kernel", check_vfio_groups},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
