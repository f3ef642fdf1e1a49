// What a netdev has in sysfs that no netlink message of the kernels in use shows: packet steering (RPS, XPS),
// rate and byte limits of its queues, and how its NAPI instances work. A pod's process that may write sysfs
// can change it, and it survives a move.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::cni {

// Path below sys/class/net/NAME and content: "queues/rx-0/rps_cpus" -> "03".
using InterfaceFiles = std::map<std::string, std::string>;

// Reads the files that the interface has. sysfs shows the interfaces of the host's namespace.
Result<InterfaceFiles> read_interface_files(const SysRoot& sys, const std::string& interface);

// Writes the files that differ from `before`, and reads them again. Returns a sentence for each that still
// differs.
std::vector<std::string> restore_interface_files(const SysRoot& sys, const std::string& interface,
                                                 const InterfaceFiles& before);

}  // namespace vfrail::cni
