#include "plugin/device/inventory/host_kernel.h"

#include "common/netlink/netlink_kernel.h"
#include "common/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>

#include <linux/magic.h>

namespace vfrail::plugin {

namespace {

// Each network namespace has its own, as all files of /proc/PID/net.
constexpr const char* kOwn = "/proc/thread-self/net/dev";
constexpr const char* kHosts = "proc/1/net/dev";

// No value: it is not there, or a copy that is not a file of procfs.
Result<std::optional<ino_t>> inode_in_procfs(const std::string& file) {
  const UniqueFd fd(::open(file.c_str(), O_PATH | O_CLOEXEC));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::optional<ino_t>();
  struct statfs system {};
  struct stat info {};
  if (!fd.valid() || ::fstatfs(fd.get(), &system) != 0 || ::fstat(fd.get(), &info) != 0)
    return Error::from_errno(errno, "read " + file);
  return system.f_type == PROC_SUPER_MAGIC ? std::optional(info.st_ino) : std::nullopt;
}

}  // namespace

// By the inode numbers of a file that procfs makes for each network namespace: one counter gives them out
// (proc_alloc_inum() in fs/proc/generic.c), in whichever mount of procfs a file is seen (proc_get_inode()).
// proc/1/ns/net would say the same, but reading that link takes CAP_SYS_PTRACE in a container
// (proc_ns_readlink()), and captured trees have equal ones, because the numbers of the first namespaces are
// constants.
Result<bool> is_host_netns(const SysRoot& sys) {
  const auto host = TRY(inode_in_procfs(sys.path(kHosts)));
  if (!host) return false;
  const auto own = TRY(inode_in_procfs(kOwn));
  if (!own) return Error{Errc::not_found, 0, std::string("read ") + kOwn + ": it is not there"};
  return *own == *host;
}

Result<std::unique_ptr<Kernel>> host_kernel(const std::string& root) {
  const bool is_root = root == "/" || root.empty();
  if (!is_root && !TRY(is_host_netns(SysRoot(root)), "compare the network namespace with the host's"))
    return std::unique_ptr<Kernel>();
  return NetlinkKernel::open_current();
}

}  // namespace vfrail::plugin
