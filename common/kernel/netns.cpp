#include "common/kernel/netns.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <thread>
#include <utility>

#include <linux/nsfs.h>

namespace vfrail {

namespace {

constexpr int kMaxReturns = 10;

Result<NetnsId> id_of(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Error::from_errno(errno, "stat network namespace " + path);
  return NetnsId{info.st_dev, info.st_ino};
}

}  // namespace

Result<std::optional<Netns>> Netns::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ESRCH) return std::optional<Netns>();
    return Error::from_errno(errno, "open network namespace " + path);
  }
  const int type = ::ioctl(fd.get(), NS_GET_NSTYPE);
  if (type < 0) {
    // ENOTTY: an ordinary file, as `ip netns` leaves when its mount is gone (a reboot). Any other error means
    // something else; a namespace that is wrongly taken for gone keeps its device.
    if (errno == ENOTTY) return std::optional<Netns>();
    return Error::from_errno(errno, "open network namespace " + path);
  }
  if (type != CLONE_NEWNET) {
    return Error{Errc::wrong_netns, 0, path + " is a namespace of another kind, not a network namespace"};
  }
  const auto id = TRY(id_of(fd.get(), path));
  return std::optional<Netns>(Netns(std::move(fd), id));
}

Result<Netns> Netns::current() {
  auto netns = TRY(open("/proc/thread-self/ns/net"));
  if (!netns) return Error{Errc::system, 0, "/proc/thread-self/ns/net is missing: is /proc mounted?"};
  return std::move(*netns);
}

Result<NetnsScope> NetnsScope::enter(const Netns& target, const Netns& origin) {
  if (target.id() == origin.id()) return NetnsScope(-1);
  if (::setns(target.fd(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "enter network namespace");
  return NetnsScope(origin.fd());
}

Result<> NetnsScope::change(const Netns& target, const Netns& origin) {
  if (::setns(target.fd(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "enter network namespace");
  origin_fd_ = origin.fd();
  return {};
}

NetnsScope::~NetnsScope() {
  if (origin_fd_ < 0) return;
  // It needs memory (create_new_namespaces()), which can be short for a moment; so it is retried.
  for (int tries = 1; ::setns(origin_fd_, CLONE_NEWNET) != 0; ++tries) {
    if (tries == kMaxReturns) {
      std::perror("vfrail: return from a network namespace");
      std::abort();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace vfrail
