// Reads the GPUs and accelerators of the node from sysfs, for their places alone: vfrail does not hand them
// out.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/inventory/inventory.h"

#include <vector>

namespace vfrail {

// PCI classes 0x0302 (3D controller), 0x0380 (display controller, AMD's Instinct) and 0x12 (processing
// accelerator), sorted by address. 0x0300 is left out: nearly every server has a VGA of its BMC. So are the
// VFs of GPUs, which would count one GPU several times, and the functions that are known to be something
// else.
Result<std::vector<Gpu>> read_gpus(const SysRoot& sys, const std::vector<PciFunction>& known);

}  // namespace vfrail
