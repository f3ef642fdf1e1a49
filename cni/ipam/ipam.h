// The IPAM plugin: found in CNI_PATH, run with our environment and the same configuration, bounded in time
// and output. Says nothing about what the addresses are used for.
#pragma once

#include "cni/conf/request.h"
#include "common/json.h"
#include "common/result.h"

#include <chrono>
#include <optional>
#include <string>

namespace vfrail {

// Set for an IPAM plugin, so that vfrail knows that it has been started by itself, however it is called.
inline constexpr const char* kDelegatedVariable = "VFRAIL_DELEGATED";

// The executable of that name; Errc::not_found names the folders that were searched. Errc::invalid: it is
// this program, which would run itself without end.
Result<std::string> find_plugin(const std::string& type, const std::vector<std::string>& path);

// Runs the plugin with CNI_COMMAND=`command` and the rest of the request. Its stdout (at most 1 MiB), or
// nothing if it printed nothing. Errc::peer with the plugin's own code and message when it refused;
// Errc::timeout after which it has been killed. Its stderr is ours, and so is the file `inherited`, if there
// is one.
Result<std::optional<Json>> run_ipam(const Request& request, Command command, const std::string& type,
                                     std::chrono::milliseconds timeout, int inherited = -1);

}  // namespace vfrail
