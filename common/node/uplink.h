// Which interface of a PF stands for the port itself.
#pragma once

#include "common/node/sys_root.h"

#include <string>
#include <vector>

namespace vfrail {

// Of the interfaces of one PCI function, in the host. In switchdev mode the PF's folder also holds the
// representors of its VFs and SFs. Empty if there is none.
Result<std::string> choose_uplink(const SysRoot& sys, const std::vector<std::string>& netdevs);

}  // namespace vfrail
