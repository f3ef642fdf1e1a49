// The warning when devlink cannot be queried: its answers are about this machine, and for the functions of
// the network namespace of the process alone (net/devlink/netlink.c, devlink_get_from_attrs()).
#pragma once

#include "common/node/sys_root.h"
#include "plugin/config/config.h"

#include <string>
#include <vector>

namespace vfrail {

// A sentence, if any of the resources needs devlink's health reporters and devlink cannot be queried.
std::vector<std::string> find_devlink_gaps(const SysRoot& sys, const Config& config);

}  // namespace vfrail
