// Reads the bonds of the host from sysfs. An RDMA LAG (mlx5_bond_0) sits on the PCI function of one member,
// so it seems to be one card's; only its bond shows what it is.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/device/inventory/inventory.h"

#include <vector>

namespace vfrail::plugin {

// Sorted by name.
Result<std::vector<Lag>> read_lags(const SysRoot& sys);

}  // namespace vfrail::plugin
