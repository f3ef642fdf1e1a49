// Who serves a unix socket, for messages about plugins that disturb each other. Connects, and queries the
// kernel; sends nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// "process 4711 (sriovdp)", of the process that called listen(2) (SO_PEERCRED, unix(7)). In another container
// its number has no meaning here: "a process of another container or of the host". Empty if nobody listens at
// `path`, or it cannot be found out.
std::optional<std::string> find_socket_owner(const std::string& path);

// Sockets of `folder` that somebody serves, but for `own` and hidden ones: "other.sock (process 12 (x))". At
// most 16.
std::vector<std::string> list_served_sockets(const std::string& folder, const std::string& own);

}  // namespace vfrail::plugin
