// What a device's driver makes of it: the one list of drivers that give a device to user space. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace vfrail {

enum class DriverKind : uint8_t {
  none,    // no driver is bound
  kernel,  // the kernel has the device: a netdev, an RDMA device or something of the driver's own
  vfio,    // a VFIO group: vfio-pci, and its variants that can migrate a VF (mlx5_vfio_pci, ...)
  uio,     // /dev/uioN: uio_pci_generic, igb_uio
  stub,    // nothing at all: pci-stub, pci-pf-stub (a PF for its VFs alone), a Xen guest's
};

// By the name that sysfs shows. Variants of vfio-pci are known by their names, which all have "vfio" in them
// (drivers/vfio/pci of Linux).
DriverKind kind_of_driver(std::string_view name);

// Bound to a driver that makes neither netdev nor RDMA device, in any network namespace.
bool is_user_space_driver(std::string_view name);

}  // namespace vfrail
