// Data Direct: the second PCIe function of a ConnectX-8 and later, by which the card reaches the memory of a
// GPU that is not below the root of the port itself. Reads sysfs alone.
//
// From sources, not seen on hardware: the function is 15b3:2100 and has the driver mlx5_ib
// (drivers/infiniband/hw/mlx5/data_direct.c of the kernel, 6.12 and later); it and the ports that use it have
// the same text in the field V3 of their VPD (kernel-boot/rdma_topo of rdma-core).
#pragma once

#include "common/ids.h"
#include "common/node/sys_root.h"

#include <map>
#include <set>
#include <string>
#include <string_view>

namespace vfrail::plugin {

// The PCIe roots of the Data Direct functions of these ports: "pci0009:00"; "" for a port that has none, or
// of which it is not known. Empty: the node has no such function, and nothing was read of the ports.
std::map<PciAddress, std::string> find_data_direct_roots(const SysRoot& sys,
                                                         const std::set<PciAddress>& ports);

// A field of the read-only part of a device's vital product data (PCI Local Bus Specification 2.2, appendix
// I). Empty: it has none, or the data are cut. Pure.
std::string vpd_field(std::string_view vpd, std::string_view keyword);

}  // namespace vfrail::plugin
