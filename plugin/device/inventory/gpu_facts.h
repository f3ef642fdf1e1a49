// The GPUs and accelerators of the node, for their places alone: vfrail does not allocate them.
#pragma once

#include "common/node/device.h"
#include "common/node/sys_root.h"
#include "plugin/device/inventory/inventory.h"

#include <optional>

namespace vfrail::plugin {

// `device` has its ids; what else a GPU needs is read. PCI classes 0x0302 (3D controller), 0x0380 (display
// controller, AMD's Instinct) and 0x12 (processing accelerator). 0x0300 is left out: nearly every server has
// a VGA of its BMC. So are the VFs of GPUs, which would count one GPU several times. No value: it is not a
// GPU.
Result<std::optional<Gpu>> find_gpu(const SysRoot& sys, Device device);

}  // namespace vfrail::plugin
