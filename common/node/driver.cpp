#include "common/node/driver.h"

namespace vfrail {

DriverKind Driver::kind() const {
  if (name_.empty()) return DriverKind::none;
  if (name_.find("vfio") != std::string::npos) return DriverKind::vfio;
  if (name_ == "uio" || name_ == "igb_uio") return DriverKind::uio;
  if (name_.starts_with("uio_") || name_.ends_with("_uio")) return DriverKind::uio_others;
  if (name_ == "pci-stub" || name_ == "pci-pf-stub" || name_ == "pciback" || name_ == "xen-pciback")
    return DriverKind::stub;
  return DriverKind::kernel;
}

bool Driver::is_user_space() const {
  const DriverKind of_driver = kind();
  return of_driver != DriverKind::none && of_driver != DriverKind::kernel;
}

}  // namespace vfrail
