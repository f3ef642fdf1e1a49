#include "plugin/device/prefer/distance.h"

namespace vfrail::plugin {

Place place_of(const DeviceFacts& function) {
  return place_of(port_of(function), function.numa_node, function.pcie_path);
}

Place place_of(const Gpu& gpu) { return place_of(gpu.address, gpu.numa_node, gpu.pcie_path); }

PciAddress port_of(const DeviceFacts& function) { return function.pf.value_or(function.address); }

}  // namespace vfrail::plugin
