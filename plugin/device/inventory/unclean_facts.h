// add_unclean(): which devices vfrail-cni could not restore after a pod had them. Reads its state folder
// only.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/inventory/inventory.h"

#include <string>

namespace vfrail::plugin {

// The boot id is the machine's, whatever namespaces this process is in: where the tree lacks it, as the
// host's folders that a container has mounted do, it is read from the container's own /proc.
Result<std::string> find_boot_id(const SysRoot& sys);

// An empty folder name: unknown. An error is a failed read: it marks no device as clean.
Result<> add_unclean(const SysRoot& sys, const std::string& cni_state_dir, Inventory& inventory);

}  // namespace vfrail::plugin
