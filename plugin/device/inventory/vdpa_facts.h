// Finds the vDPA devices of the node and the PCI function each belongs to, from sysfs.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/device/inventory/inventory.h"

#include <map>

namespace vfrail::plugin {

// The first vDPA device of each function, by name, as the peers count.
Result<std::map<PciAddress, Vdpa>> read_vdpa_devices(const SysRoot& sys);

}  // namespace vfrail::plugin
