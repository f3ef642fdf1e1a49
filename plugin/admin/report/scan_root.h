// scan_root(): the node for a report: scanned, with the records of vfrail-cni. Reads only.
#pragma once

#include "common/result.h"
#include "plugin/device/inventory/inventory.h"

#include <string>

namespace vfrail::plugin {

// Where the node's files are: "/host" in the plugin's container, which has them there
// (manifests/daemonset.yaml), else "/".
std::string default_root();
// Whether `root` is this very node, and not a captured tree: only then its kubelet can be asked, and the
// configuration that is here is the node's.
bool is_live(const std::string& root);
// Where vfrail-cni of that node has its records.
std::string cni_state_dir(const std::string& root);
// Where serve of that node has what ends with a boot: "/run/vfrail".
std::string run_dir(const std::string& root);

// Scans the node. Unreadable state of vfrail-cni is a warning of the inventory.
Result<Inventory> scan_root(const std::string& root);

}  // namespace vfrail::plugin
