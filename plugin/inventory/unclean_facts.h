// add_unclean(): which devices vfrail-cni could not make what they were before a pod had them. Reads its
// state folder only.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/inventory/inventory.h"

#include <string>

namespace vfrail {

// An empty folder name: nobody knows. An error is a failed look: it says of no device that it is clean.
Result<> add_unclean(const SysRoot& sys, const std::string& cni_state_dir, Inventory& inventory);

}  // namespace vfrail
