// The warnings when devlink cannot be queried, or does not have the answer: its answers are about this
// machine, and for the functions of the network namespace of the process alone (net/devlink/netlink.c,
// devlink_get_from_attrs()).
#pragma once

#include "common/errors/warning.h"
#include "common/node/sys_root.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// A sentence if the configuration demands devlink's health reporters (`"devlink": true`) and devlink cannot
// be queried, and one if any resource selects by DDP packages.
std::vector<Warning> find_devlink_gaps(const SysRoot& sys, const Config& config);
// A sentence for each resource that selects by DDP packages, and would have functions whose driver does not
// report them. sriov-network-device-plugin asks Intel's ddptool, which finds them.
std::vector<Warning> find_ddp_gaps(const Config& config, const Inventory& inventory);
// Where no node is known: a sentence for each resource that selects by DDP packages.
std::vector<std::string> describe_ddp_reach(const Config& config);

}  // namespace vfrail::plugin
