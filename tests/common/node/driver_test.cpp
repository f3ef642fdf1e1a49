// common/node/driver.h: the one list of drivers that give a device to user space.
#include "common/node/driver.h"

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("a driver's kind is known by its name, variants of vfio-pci included") {
  for (const char* name :
       {"vfio-pci", "mlx5_vfio_pci", "hisi_acc_vfio_pci", "hisi-acc-vfio-pci", "virtio_vfio_pci",
        "pds_vfio_pci", "qat_vfio_pci", "nvgrace-gpu-vfio-pci", "xe-vfio-pci"})
    CHECK(Driver(name).kind() == DriverKind::vfio);
  for (const char* name : {"igb_uio", "uio"}) CHECK(Driver(name).kind() == DriverKind::uio);
  for (const char* name : {"uio_pci_generic", "uio_hv_generic"})
    CHECK(Driver(name).kind() == DriverKind::uio_others);
  for (const char* name : {"pci-stub", "pci-pf-stub", "pciback"})
    CHECK(Driver(name).kind() == DriverKind::stub);
  for (const char* name : {"mlx5_core", "ice", "iavf", "igbvf", "bnxt_en", "virtio-pci", "ionic"})
    CHECK(Driver(name).kind() == DriverKind::kernel);
  CHECK(Driver("").kind() == DriverKind::none);
  CHECK_FALSE(Driver("").is_user_space());
  CHECK_FALSE(Driver("mlx5_core").is_user_space());
  CHECK(Driver("mlx5_vfio_pci").is_user_space());
}

}  // namespace vfrail
