// Hardware: facts about a function for people that no decision needs: its name, the speed of its port. Reads
// sysfs and the list of PCI names.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/device/inventory/inventory.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct Hardware {
  std::string vendor_name;             // "Mellanox Technologies"; empty: not known
  std::string device_name;             // "MT2910 Family [ConnectX-7]"; empty: not known
  std::optional<uint32_t> speed_mbps;  // of its own port as it is now
};

// Hardware by the ids of functions. Unreadable facts are missing.
using HardwareById = std::map<std::string, Hardware>;
// `pci_ids`: files in the format of pci.ids; the first that is there counts. What it does not have, or where
// none is there, has the name that the program knows (model_names.h).
HardwareById read_hardware(const SysRoot& sys, const std::vector<std::string>& pci_ids,
                           const Inventory& inventory);

// Where distributions have the list: below the root, then in this process's own file system.
std::vector<std::string> pci_ids_files(const std::string& root);

}  // namespace vfrail::plugin
