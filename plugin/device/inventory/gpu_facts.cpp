#include "plugin/device/inventory/gpu_facts.h"

#include <string_view>
#include <utility>

namespace vfrail::plugin {

namespace {

// PCI Code and ID Assignment Specification, 1.4 and 1.19.
bool is_gpu_class(std::string_view code) {
  return code.starts_with("0x0302") || code.starts_with("0x0380") || code.starts_with("0x12");
}

}  // namespace

Result<std::optional<Gpu>> find_gpu(const SysRoot& sys, Device device) {
  const auto address = device.id.pci();
  if (!address || !is_gpu_class(device.class_code)) return std::optional<Gpu>();
  // An accelerator that has been read already has its place.
  const bool there = !device.pcie_path.empty() || TRY(read_facts(sys, Facts::place | Facts::pf, device));
  if (!there || device.pf) return std::optional<Gpu>();
  return std::optional(Gpu{.address = *address,
                           .vendor = std::move(device.vendor),
                           .numa_node = device.numa_node,
                           .pcie_path = std::move(device.pcie_path)});
}

}  // namespace vfrail::plugin
