// Inbox: what other threads post for the owner thread of the daemon, and the eventfd(2) that wakes it up.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"
#include "plugin/kubelet/kubelet.h"
#include "plugin/match/devices_in_use.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace vfrail::plugin {

// Shared with callbacks, which can outlive the daemon by a moment.
class Inbox {
 public:
  struct MatchResult {
    std::string resource;
    uint64_t attempt = 0;
    RegistrationResult result;
  };
  struct Content {
    std::vector<MatchResult> results;
    std::optional<Result<DevicesInUse>> in_use;
    bool stop = false;
    bool rescan = false;
  };

  Inbox() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  int fd() const { return fd_.get(); }

  template <class Change>
  void put(Change change) {
    {
      const std::lock_guard lock(mutex_);
      change(content_);
    }
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }

  Content take() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(content_, {});
  }

 private:
  const UniqueFd fd_;
  std::mutex mutex_;
  Content content_;
};

}  // namespace vfrail::plugin
