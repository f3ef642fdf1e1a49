// Netns: an open network namespace. The only place that calls setns(2).
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace vfrail {

// Identifies a namespace while it exists (nsfs device and inode, ioctl_ns(2)); a number can be used again
// later.
struct NetnsId {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const NetnsId&) const = default;
};

class Netns {
 public:
  // No value if the path does not exist or is no longer a namespace (a stale mount point of `ip netns`).
  static Result<std::optional<Netns>> open(const std::string& path);
  // The namespace that this thread is in.
  static Result<Netns> current();

  int fd() const { return fd_.get(); }
  NetnsId id() const { return id_; }

 private:
  Netns(UniqueFd fd, NetnsId id) : fd_(std::move(fd)), id_(id) {}
  UniqueFd fd_;
  NetnsId id_;
};

// The calling thread is in `target` while the scope lives. If switching back fails the process aborts:
// whatever it did next would happen in the wrong namespace.
class NetnsScope {
 public:
  static Result<NetnsScope> enter(const Netns& target, const Netns& origin);
  // From there to another one, without a return in between. After an error the thread is where it was.
  Result<> change(const Netns& target, const Netns& origin);
  NetnsScope(NetnsScope&& other) noexcept : origin_fd_(std::exchange(other.origin_fd_, -1)) {}
  NetnsScope& operator=(NetnsScope&&) = delete;
  ~NetnsScope();

 private:
  explicit NetnsScope(int origin_fd) : origin_fd_(origin_fd) {}
  int origin_fd_;  // not owned: `origin` outlives the scope; -1 when there is nothing to switch back to
};

}  // namespace vfrail
