// Driver: the driver that a device is bound to, and what kind it is: the one list of drivers that give a
// device to user space. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace vfrail {

enum class DriverKind : uint8_t {
  none,        // no driver is bound
  kernel,      // the kernel has the device: a netdev, an RDMA device or something of the driver's own
  vfio,        // a VFIO group: vfio-pci, and its variants that can migrate a VF (mlx5_vfio_pci, ...)
  uio,         // /dev/uioN: uio, igb_uio
  uio_others,  // /dev/uioN, too, but unknown to the peers, whose users mount it themselves: uio_pci_generic
  stub,        // nothing at all: pci-stub, pci-pf-stub (a PF for its VFs alone), a Xen guest's
};

class Driver {
 public:
  Driver() = default;
  explicit Driver(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }  // as sysfs shows it; empty: none is bound
  bool is_bound() const { return !name_.empty(); }
  // Decided by the name alone. Variants of vfio-pci all have "vfio" in theirs (drivers/vfio/pci of Linux).
  DriverKind kind() const;
  // The driver makes neither netdev nor RDMA device, in any network namespace.
  bool is_user_space() const;
  bool operator==(const Driver&) const = default;

 private:
  std::string name_;
};

}  // namespace vfrail
