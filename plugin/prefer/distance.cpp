#include "plugin/prefer/distance.h"

namespace vfrail {

Place place_of(const PciFunction& function) {
  return place_of(port_of(function), function.numa_node, function.pcie_path);
}

Place place_of(const Gpu& gpu) { return place_of(gpu.address, gpu.numa_node, gpu.pcie_path); }

PciAddress port_of(const PciFunction& function) { return function.pf.value_or(function.address); }

}  // namespace vfrail
