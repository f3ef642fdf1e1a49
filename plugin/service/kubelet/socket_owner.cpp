#include "plugin/service/kubelet/socket_owner.h"

#include "common/node/sys_root.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/socket.h>
#include <sys/un.h>

namespace vfrail::plugin {

namespace {

// A line of a log; kubelet's folder has some ten sockets.
constexpr size_t kMostSockets = 16;

std::string name_of_process(pid_t pid) {
  // A name less in a message.
  return SysRoot().text("proc/" + std::to_string(pid) + "/comm").or_none().value_or("");
}

}  // namespace

std::optional<std::string> find_socket_owner(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return std::nullopt;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return std::nullopt;
  ucred owner{};
  socklen_t size = sizeof owner;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) != 0) return std::nullopt;
  // 0: in a PID namespace that is not below this one (pid_nr_ns() in kernel/pid.c).
  if (owner.pid == 0) return "a process of another container or of the host";
  const std::string name = name_of_process(owner.pid);
  return "process " + std::to_string(owner.pid) + (name.empty() ? "" : " (" + name + ")");
}

std::vector<std::string> list_served_sockets(const std::string& folder, const std::string& own) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (name == own || name.starts_with(".") || name == "kubelet.sock" || out.size() == kMostSockets)
      continue;
    if (const auto owner = find_socket_owner(at->path().string())) out.push_back(name + " (" + *owner + ")");
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace vfrail::plugin
