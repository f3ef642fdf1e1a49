// Where devices are plugged in: PCIe, NUMA nodes, GPUs.
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/prefer/distance.h"

#include <algorithm>
#include <charconv>

namespace vfrail::plugin {

namespace {

constexpr const char* kNvidia = "10de";

double leading_number(const std::string& text) {
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// "8.0 GT/s PCIe", "16": a link that trained below what both ends can do.
Result<CheckResults> check_pcie_links(const CheckedNode& node) {
  CheckResults out;
  size_t cards = 0;
  size_t links = 0;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (!function.is_pf()) continue;
    ++cards;
    const DeviceFolder folder(node.sys, function.id);
    for (const char* what : {"link_speed", "link_width"}) {
      const std::string now = TRY(folder.text(std::string("current_") + what));
      const std::string most = TRY(folder.text(std::string("max_") + what));
      links += now.empty() || most.empty() ? 0 : 1;
      if (leading_number(now) <= 0 || leading_number(now) >= leading_number(most)) continue;
      out.push_back({Finding::advice,
                     shown_device(function) + ": PCIe " + what + " is " + now + " of " + most,
                     "reseat the card, or use another slot: lspci -vv shows the link of each bridge"});
    }
  }
  if (cards > 0 && links == 0)
    return CheckResults{{Finding::unknown, "no card has current_link_speed and max_link_speed here"}};
  return out;
}

constexpr const char* kNumaNodes = "sys/devices/system/node";

// No value: the folder is not there.
Result<std::optional<size_t>> count_numa_nodes(const SysRoot& sys) {
  const auto names = TRY(sys.list(kNumaNodes));
  if (!names) return std::optional<size_t>();
  return std::optional<size_t>(std::count_if(
      names->begin(), names->end(), [](const std::string& name) { return name.starts_with("node"); }));
}

Result<CheckResults> check_numa(const CheckedNode& node) {
  const auto nodes = TRY(count_numa_nodes(node.sys));
  if (nodes && *nodes < 2) return CheckResults();
  std::vector<std::string> unknown;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.is_pf() && !function.numa_node) unknown.push_back(shown_device(function));
  }
  if (unknown.empty()) return CheckResults();
  if (!nodes)
    return CheckResults{{Finding::unknown, "no NUMA node of " + first_few(unknown) + ", and no " +
                                               node.sys.path(kNumaNodes) + " that says how many there are"}};
  return CheckResults{{Finding::advice, "the firmware names no NUMA node of " + first_few(unknown),
                       "an update of the firmware; until then kubelet's topology manager cannot align them"}};
}

bool serves_rdma(const DeviceFacts& function) {
  return function.rdma_capable && !function.manages_nvlink && !serves_host(function.host_use);
}

constexpr const char* kNearRemedy =
    "preferredAllocation: pcie of the resource gives a pod the devices that are near its GPUs";

Result<CheckResults> check_gpus(const CheckedNode& node) {
  std::vector<std::string> far;
  std::vector<std::string> behind_bridge;
  std::vector<Place> places;
  for (const DeviceFacts& function : node.inventory.functions) {
    if (serves_rdma(function)) places.push_back(place_of(function));
  }
  if (places.empty()) return CheckResults();
  for (const Gpu& gpu : node.inventory.gpus) {
    Distance nearest = Distance::sys;
    for (const Place& place : places) nearest = std::min(nearest, distance(place_of(gpu), place));
    if (nearest >= Distance::node) far.push_back(gpu.address.text());
    if (nearest == Distance::phb) behind_bridge.push_back(gpu.address.text());
  }
  CheckResults out;
  if (!far.empty())
    out.push_back({Finding::note,
                   "no RDMA device is below the host bridge of GPU " + first_few(far) +
                       ": GPUDirect RDMA goes through the CPU there",
                   kNearRemedy});
  if (!behind_bridge.empty())
    out.push_back({Finding::note,
                   "the nearest RDMA device of GPU " + first_few(behind_bridge) +
                       " is PHB, and NCCL uses GPUDirect RDMA up to PXB unless NCCL_NET_GDR_LEVEL says PHB",
                   kNearRemedy});
  return out;
}

// Of the modules of NVIDIA's driver the open ones alone export dma-buf, which verbs take since Linux 5.12;
// the closed ones taint the kernel as proprietary.
Result<CheckResults> check_dma_buf(const CheckedNode& node) {
  const auto taint = TRY(node.sys.text("sys/module/nvidia/taint"));
  if (!taint)
    return CheckResults{{Finding::unknown,
                         "nvidia_peermem is not loaded, and whether the nvidia module is the open one, which "
                         "has dma-buf, is not known: no " +
                             node.sys.path("sys/module/nvidia/taint")}};
  const std::string without = "nvidia_peermem is not loaded: GPUDirect RDMA is not possible, because ";
  if (taint->find('P') != std::string::npos)
    return CheckResults{{Finding::advice, without + "the closed GPU kernel modules have no dma-buf",
                         "modprobe nvidia-peermem, which needs the RDMA drivers of DOCA or OFED; or the open "
                         "GPU kernel modules, with Linux 5.12 or later"}};
  const auto text = TRY(node.kernel.text(kKernelRelease));
  const auto release = parse_release(text.value_or(""));
  if (!release)
    return CheckResults{
        {Finding::unknown, "nvidia_peermem is not loaded, and whether Linux is 5.12 or later is not known"}};
  if (*release >= std::pair(5, 12))
    return CheckResults{{Finding::good, "by dma-buf, which the open GPU kernel modules have"}};
  return CheckResults{{Finding::advice,
                       without + "dma-buf for RDMA came with Linux 5.12, and this is " + *text,
                       "modprobe nvidia-peermem, which needs the RDMA drivers of DOCA or OFED; or Linux 5.12 "
                       "or later"}};
}

Result<CheckResults> check_peer_memory(const CheckedNode& node) {
  const auto& gpus = node.inventory.gpus;
  if (gpus.empty() || !has_rdma(node.inventory)) return CheckResults();
  if (std::none_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.vendor == kNvidia; }))
    return CheckResults{{Finding::unknown,
                         "the GPUs are not NVIDIA's: how their memory is registered is not "
                         "known here"}};
  if (!TRY(node.sys.exists("sys/module/nvidia")))
    return CheckResults{
        {Finding::unknown, "the nvidia module is not loaded, or modules cannot be read here"}};
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"}) {
    if (TRY(node.sys.exists(std::string("sys/module/") + module))) return CheckResults();
  }
  return check_dma_buf(node);
}

}  // namespace

const NodeChecks& placement_checks() {
  static const NodeChecks kChecks = {
      {"VF-N22", "numa", "the NUMA node of every device is known, or there is one alone", check_numa,
       lacks_ports},
      {"VF-N23", "pcie-links", "every card has the PCIe link that it can have", check_pcie_links,
       lacks_ports},
      {"VF-N25", "gpus", "every GPU has an RDMA device nearby", check_gpus, lacks_gpus},
      {"VF-N26", "peer-memory", "GPU memory can be registered with RDMA devices", check_peer_memory,
       lacks_gpu_rails},
  };
  return kChecks;
}

}  // namespace vfrail::plugin
