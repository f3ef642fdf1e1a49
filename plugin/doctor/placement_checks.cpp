// Where devices are plugged in: PCIe, NUMA nodes, GPUs.
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/doctor/check.h"
#include "plugin/prefer/distance.h"

#include <algorithm>
#include <charconv>

namespace vfrail {

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
  for (const PciFunction& function : node.inventory.functions) {
    if (function.kind != FunctionKind::network || function.is_vf()) continue;
    const DeviceFolder folder(node.sys, function.id);
    for (const char* what : {"link_speed", "link_width"}) {
      const std::string now = TRY(folder.text(std::string("current_") + what), "");
      const std::string most = TRY(folder.text(std::string("max_") + what), "");
      if (leading_number(now) <= 0 || leading_number(now) >= leading_number(most)) continue;
      out.push_back({Finding::advice, describe(function) + ": PCIe " + what + " is " + now + " of " + most,
                     "reseat the card, or use another slot: lspci -vv shows the link of each bridge"});
    }
  }
  return out;
}

Result<size_t> count_numa_nodes(const SysRoot& sys) {
  size_t out = 0;
  for (const std::string& name : TRY(sys.list("sys/devices/system/node"), "").value_or(SysRoot::Names()))
    out += name.starts_with("node") ? 1 : 0;
  return out;
}

Result<CheckResults> check_numa(const CheckedNode& node) {
  if (TRY(count_numa_nodes(node.sys), "") < 2) return CheckResults();
  std::vector<std::string> unknown;
  for (const PciFunction& function : node.inventory.functions) {
    if (function.kind == FunctionKind::network && !function.is_vf() && !function.numa_node)
      unknown.push_back(describe(function));
  }
  if (unknown.empty()) return CheckResults();
  return CheckResults{{Finding::advice, "the firmware names no NUMA node of " + first_few(unknown),
                       "an update of the firmware; until then kubelet's topology manager cannot align them"}};
}

bool serves_rdma(const PciFunction& function) {
  return function.rdma_capable && !function.manages_nvlink && function.host_use.empty();
}

Result<CheckResults> check_gpus(const CheckedNode& node) {
  std::vector<std::string> far;
  const auto& functions = node.inventory.functions;
  if (std::none_of(functions.begin(), functions.end(), serves_rdma)) return CheckResults();
  for (const Gpu& gpu : node.inventory.gpus) {
    const Place here = place_of(gpu);
    const bool near = std::any_of(functions.begin(), functions.end(), [&](const PciFunction& function) {
      return serves_rdma(function) && distance(here, place_of(function)) < Distance::node;
    });
    if (!near) far.push_back(gpu.address.text());
  }
  if (far.empty()) return CheckResults();
  return CheckResults{{Finding::note, "no RDMA device is below the host bridge of GPU " + first_few(far) +
                                          ": GPUDirect RDMA goes through the CPU there"}};
}

Result<CheckResults> check_peer_memory(const CheckedNode& node) {
  const auto& gpus = node.inventory.gpus;
  const bool nvidia =
      std::any_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.vendor == kNvidia; });
  if (!nvidia || !has_rdma(node.inventory)) return CheckResults();
  if (!TRY(node.sys.exists("sys/module/nvidia"), ""))
    return CheckResults{
        {Finding::unknown, "the nvidia module is not loaded, or modules cannot be read here"}};
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"}) {
    if (TRY(node.sys.exists(std::string("sys/module/") + module), "")) return CheckResults();
  }
  return CheckResults{
      {Finding::advice,
       "nvidia_peermem is not loaded: GPUDirect RDMA only by dma-buf (the open GPU kernel modules)",
       "modprobe nvidia-peermem; not needed with the open modules, where NCCL uses dma-buf by itself"}};
}

}  // namespace

const NodeChecks& placement_checks() {
  static const NodeChecks kChecks = {
      {"VF-N22", "numa", "the NUMA node of every device is known, or there is one alone", check_numa},
      {"VF-N23", "pcie-links", "every card has the PCIe link that it can have", check_pcie_links},
      {"VF-N25", "gpus", "every GPU has an RDMA device nearby", check_gpus},
      {"VF-N26", "peer-memory", "GPU memory can be registered with RDMA devices", check_peer_memory},
  };
  return kChecks;
}

}  // namespace vfrail
