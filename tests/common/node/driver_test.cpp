// common/node/driver.h: the one list of drivers that give a device to user space.
#include "common/node/driver.h"

#include <string_view>

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("a driver's kind is known by its name, variants of vfio-pci included") {
  for (const std::string_view name :
       {"vfio-pci", "mlx5_vfio_pci", "hisi_acc_vfio_pci", "hisi-acc-vfio-pci", "virtio_vfio_pci",
        "pds_vfio_pci", "qat_vfio_pci", "nvgrace-gpu-vfio-pci", "xe-vfio-pci"})
    CHECK(kind_of_driver(name) == DriverKind::vfio);
  for (const std::string_view name : {"uio_pci_generic", "igb_uio", "uio", "uio_hv_generic"})
    CHECK(kind_of_driver(name) == DriverKind::uio);
  for (const std::string_view name : {"pci-stub", "pci-pf-stub", "pciback"})
    CHECK(kind_of_driver(name) == DriverKind::stub);
  for (const std::string_view name : {"mlx5_core", "ice", "iavf", "igbvf", "bnxt_en", "virtio-pci", "ionic"})
    CHECK(kind_of_driver(name) == DriverKind::kernel);
  CHECK(kind_of_driver("") == DriverKind::none);
  CHECK_FALSE(is_user_space_driver(""));
  CHECK_FALSE(is_user_space_driver("mlx5_core"));
  CHECK(is_user_space_driver("mlx5_vfio_pci"));
}

}  // namespace vfrail
