// Reads the network interfaces of a PCI function from sysfs, and which of them is a PF's uplink.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/inventory/function_folder.h"
#include "plugin/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail {

// The interfaces of the function that are in the host's network namespace, sorted by name: net/ below the
// function, and below its virtioN child, which is where virtio-net registers them.
Result<std::vector<Netdev>> read_netdevs(const FunctionFolder& folder, const std::string& driver);

// The one of them that stands for the port itself (common/node/uplink.h). Null if there is none.
Result<const Netdev*> find_uplink(const SysRoot& sys, const std::vector<Netdev>& netdevs);

// "ether", "infiniband", or empty for an ARPHRD_* type that no selector knows.
std::string link_type_name(uint16_t arphrd);

}  // namespace vfrail
