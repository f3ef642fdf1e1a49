// Inbox: what other threads post for the owner thread of the daemon, and the eventfd(2) that wakes it up.
#pragma once

#include "common/unique_fd.h"

#include <cstdint>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace vfrail::plugin {

// Shared with callbacks, which can outlive the daemon by a moment.
class Inbox {
 public:
  struct Content {
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
