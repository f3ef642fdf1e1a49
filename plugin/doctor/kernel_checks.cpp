// The kernel: its modules, modes and settings.
#include "common/text.h"
#include "plugin/doctor/check.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace vfrail {

namespace {

constexpr const char* kIommuGroups = "sys/kernel/iommu_groups/";

Result<CheckResults> check_modules(const CheckedNode& node) {
  CheckResults out;
  for (const PciFunction& function : node.inventory.functions) {
    if (!function.rdma.empty() && function.verbs_nodes.empty())
      out.push_back({Finding::fault, describe(function) + " has an RDMA device without a verbs node",
                     "modprobe ib_uverbs, and name it in /etc/modules-load.d"});
  }
  const auto& functions = node.inventory.functions;
  const auto bare = std::find_if(functions.begin(), functions.end(), [](const PciFunction& function) {
    return function.driver.name() == "mlx5_core" && !function.is_vf() && function.rdma.empty() &&
           function.verbs_nodes.empty();
  });
  // Only where modules are listed: not every captured tree has them.
  const bool lists_modules = TRY(node.sys.exists("sys/module/mlx5_core"), "");
  if (bare != functions.end() && lists_modules && !TRY(node.sys.exists("sys/module/mlx5_ib"), "")) {
    out.push_back({Finding::fault, describe(*bare) + " has no RDMA device: mlx5_ib is not loaded",
                   "modprobe mlx5_ib, and name it in /etc/modules-load.d"});
  }
  if (has_rdma(node.inventory) && !node.inventory.rdma_cm)
    out.push_back({Finding::advice,
                   "there is no /dev/infiniband/rdma_cm: what uses the RDMA CM fails (ib_write_bw -R)",
                   "modprobe rdma_ucm, and name it in /etc/modules-load.d"});
  return out;
}

// "6.1.0-13-amd64" is {6, 1}.
std::optional<std::pair<int, int>> parse_release(std::string_view release) {
  const auto parts = split(release, ".-");
  std::pair<int, int> out;
  const auto number = [](const std::string& text, int& to) {
    return std::from_chars(text.data(), text.data() + text.size(), to).ec == std::errc();
  };
  if (parts.size() < 2 || !number(parts[0], out.first) || !number(parts[1], out.second)) return std::nullopt;
  return out;
}

// RDMA_NLDEV_CMD_SYS_SET and moving an RDMA device came with Linux 5.1 and 5.2.
Result<CheckResults> check_kernel(const CheckedNode& node) {
  const auto text = TRY(node.kernel.text("proc/sys/kernel/osrelease"), "");
  if (!text) return CheckResults{{Finding::unknown, "proc/sys/kernel/osrelease is not there"}};
  const auto release = parse_release(*text);
  if (!release) return CheckResults{{Finding::unknown, "\"" + *text + "\" is not a release of Linux"}};
  if (*release >= std::pair(5, 2)) return CheckResults();
  return CheckResults{{has_rdma(node.inventory) ? Finding::advice : Finding::note,
                       "Linux " + *text + " cannot move RDMA devices between network namespaces",
                       "Linux 5.2 or later; until then RDMA devices are shared by all pods"}};
}

// In shared mode an RDMA device cannot move (rdma_dev_change_netns() of the kernel): a pod uses it through
// its character devices alone, and sees the devices of all others.
Result<CheckResults> check_rdma_mode(const CheckedNode& node) {
  if (!has_rdma(node.inventory)) return CheckResults{{Finding::good, "no RDMA device on this node"}};
  if (!node.inventory.rdma_netns_mode)
    return CheckResults{{Finding::unknown, "the kernel does not report the mode"}};
  if (*node.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive) return CheckResults();
  return CheckResults{{Finding::advice,
                       "shared: every pod sees the RDMA devices of all, and GIDs of other namespaces",
                       "for a pod to have its RDMA device alone: \"options ib_core netns_mode=0\" in "
                       "/etc/modprobe.d, renew the "
                       "initramfs, reboot"}};
}

Result<CheckResults> check_iommu(const CheckedNode& node) {
  CheckResults out;
  std::vector<std::string> translated;
  for (const PciFunction& function : node.inventory.functions) {
    const std::string& group = function.iommu_group;
    if (function.driver.kind() == DriverKind::vfio && group.empty())
      out.push_back({Finding::fault,
                     describe(function) + " is bound to " + function.driver.name() +
                         " and has no IOMMU group: it cannot be allocated",
                     "switch the IOMMU on in the firmware and by the kernel's parameter intel_iommu=on or "
                     "amd_iommu=on"});
    if (node.inventory.gpus.empty() || group.empty() || !function.rdma_capable) continue;
    const std::string type = TRY(node.kernel.text(kIommuGroups + group + "/type"), "").value_or("");
    if (type.starts_with("DMA")) translated.push_back(function.id.text());
  }
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
  for (const PciFunction& function : node.inventory.functions) {
    auto& [has_vfio, others] = groups[function.iommu_group];
    const bool vfio = function.driver.kind() == DriverKind::vfio;
    has_vfio |= vfio;
    if (!vfio && function.driver.is_bound() && function.driver.kind() != DriverKind::stub)
      others.push_back(function.id.text());
    if (vfio && function.vfio_noiommu)
      out.push_back(
          {Finding::note,
           describe(function) + " uses VFIO without an IOMMU: a pod that has it can read all memory"});
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
  for (const PciFunction& function : node.inventory.functions)
    wanted |= function.kind == FunctionKind::network && function.driver.is_user_space() &&
              function.driver.kind() != DriverKind::stub;
  if (!wanted) return CheckResults();
  const std::string folder = "sys/kernel/mm/hugepages";
  const auto sizes = TRY(node.kernel.list(folder), "");
  if (!sizes) return CheckResults{{Finding::unknown, folder + " is not there"}};
  for (const std::string& size : *sizes) {
    if (TRY(node.kernel.number(folder + "/" + size + "/nr_hugepages"), "").value_or(0) > 0)
      return CheckResults();
  }
  return CheckResults{{Finding::advice, "functions are bound for DPDK, and the node has no huge pages",
                       "reserve them: the kernel's parameters hugepagesz=1G hugepages=8"}};
}

Result<CheckResults> check_latency(const CheckedNode& node) {
  CheckResults out;
  if (TRY(node.kernel.number("proc/sys/kernel/numa_balancing"), "").value_or(0) == 1)
    out.push_back({Finding::note, "numa_balancing is on: pages that move between nodes cost latency"});
  const auto governor = TRY(node.sys.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"), "");
  if (governor == "powersave")
    out.push_back(
        {Finding::note,
         "the CPU frequency governor is powersave: latency of small messages, not bandwidth of RDMA"});
  return out;
}

}  // namespace

const NodeChecks& kernel_checks() {
  static const NodeChecks kChecks = {
      {"VF-N01", "rdma-modules", "the RDMA modules are loaded", check_modules},
      {"VF-N03", "kernel", "Linux can move RDMA devices between network namespaces", check_kernel},
      {"VF-N04", "rdma-netns-mode", "exclusive: a pod has its RDMA device alone", check_rdma_mode},
      {"VF-N05", "iommu", "the IOMMU is as the devices need it", check_iommu},
      {"VF-N40", "latency", "nothing that costs latency", check_latency},
      {"VF-N41", "hugepages", "no device needs huge pages that are missing", check_hugepages},
      {"VF-N42", "vfio-groups", "no IOMMU group is shared with a driver of the kernel", check_vfio_groups},
  };
  return kChecks;
}

}  // namespace vfrail
