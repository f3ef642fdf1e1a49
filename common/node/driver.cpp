#include "common/node/driver.h"

namespace vfrail {

DriverKind kind_of_driver(std::string_view name) {
  if (name.empty()) return DriverKind::none;
  if (name.find("vfio") != std::string_view::npos) return DriverKind::vfio;
  if (name == "uio" || name.starts_with("uio_") || name.ends_with("_uio")) return DriverKind::uio;
  if (name == "pci-stub" || name == "pci-pf-stub" || name == "pciback" || name == "xen-pciback")
    return DriverKind::stub;
  return DriverKind::kernel;
}

bool is_user_space_driver(std::string_view name) {
  const DriverKind kind = kind_of_driver(name);
  return kind == DriverKind::vfio || kind == DriverKind::uio || kind == DriverKind::stub;
}

}  // namespace vfrail
