// The IPAM plugin: found in CNI_PATH, run with our environment and the same configuration, bounded in time
// and output. Does not interpret the addresses.
#pragma once

#include "cni/conf/request.h"
#include "common/json.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail::cni {

// Set for an IPAM plugin, so that vfrail detects that it has been started by itself, whatever its name.
inline constexpr const char* kDelegatedVariable = "VFRAIL_DELEGATED";

// The executable of that name; Errc::not_found names the folders that were searched. Errc::invalid: it is
// this program, which would run itself without end.
Result<std::string> find_plugin(const std::string& type, const std::vector<std::string>& path);

// Runs the plugin with CNI_COMMAND=`command` and the rest of the request. Returns its stdout (at most 1 MiB),
// or no value if it printed nothing. Errc::peer with the plugin's own code and message when it refused;
// Errc::timeout after which it has been killed. It inherits our stderr and `inherited`, if there is one: the
// file of a lock, which it keeps after us, and which then names its process group for kill_holder().
Result<std::optional<Json>> run_ipam(const Request& request, Command command, const std::string& type,
                                     std::chrono::milliseconds timeout, int inherited = -1);

// Whether the plugin knows the verbs that begin with CNI 1.1.0, GC and STATUS: it is asked for its VERSION.
// False: its answer has no such version, or it is older than VERSION. One that does not answer it well may
// know them.
Result<bool> knows_newer_verbs(const Request& request, const std::string& type,
                               std::chrono::milliseconds timeout);

// Kills the plugin that has inherited the lock with this file, and its children. False: no process of the
// group that the file names has it open, so nothing is known of the lock's holder, and nothing is done.
Result<bool> kill_holder(const SysRoot& sys, const std::string& lock_file);

}  // namespace vfrail::cni
