// open_by_vfio(): whether a VM or a program has a function open that is bound to vfio-pci. To unbind such a
// one takes the device from it, or waits for it without end. Reads sysfs alone, which needs no right.
#pragma once

#include "common/node/device_folder.h"
#include "common/result.h"

#include <optional>

namespace vfrail::plugin {

// VFIO enables a function when it is opened, and disables it when it is closed (vfio_pci_core_enable() and
// vfio_pci_core_disable() in drivers/vfio/pci/vfio_pci_core.c, by the kernel's source); sysfs has the count.
// No value: it is not known, as in a captured tree.
Result<std::optional<bool>> open_by_vfio(const DeviceFolder& function);

}  // namespace vfrail::plugin
