#include "plugin/inventory/gpu_facts.h"

#include "plugin/inventory/function_folder.h"

#include <algorithm>
#include <set>

namespace vfrail {

namespace {

// PCI Code and ID Assignment Specification, 1.4 and 1.19.
bool is_gpu_class(std::string_view code) {
  return code.starts_with("0x0302") || code.starts_with("0x0380") || code.starts_with("0x12");
}

}  // namespace

Result<std::vector<Gpu>> read_gpus(const SysRoot& sys, const std::vector<PciFunction>& known) {
  std::set<PciAddress> others;
  for (const PciFunction& function : known) {
    if (function.kind != FunctionKind::accelerator) others.insert(function.address);
  }
  std::vector<Gpu> out;
  for (const std::string& name : TRY(sys.list("sys/bus/pci/devices"), "").value_or(SysRoot::Names())) {
    const auto address = PciAddress::parse(name);
    if (!address || others.count(*address) != 0) continue;
    const std::string base = pci_folder(*address) + "/";
    if (!is_gpu_class(TRY(sys.text(base + "class"), "").value_or(""))) continue;
    if (TRY(sys.link_target(base + "physfn"), "")) continue;
    Gpu gpu;
    gpu.address = *address;
    gpu.vendor = TRY(sys.text(base + "vendor"), "").value_or("");
    if (gpu.vendor.starts_with("0x")) gpu.vendor.erase(0, 2);
    gpu.numa_node = numa_node_of(TRY(sys.number(base + "numa_node"), ""));
    gpu.pcie_path = TRY(read_pcie_path(sys, *address), "");
    out.push_back(std::move(gpu));
  }
  std::sort(out.begin(), out.end(), [](const Gpu& a, const Gpu& b) { return a.address < b.address; });
  return out;
}

}  // namespace vfrail
