// Opens: reports when somebody opens a file, as a proof that a program has come to that point (inotify(7)).
#pragma once

#include "common/unique_fd.h"

#include <chrono>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>

namespace vfrail::test {

class Opens {
 public:
  // From now on.
  explicit Opens(const std::string& file) : inotify_(::inotify_init1(IN_CLOEXEC)) {
    if (::inotify_add_watch(inotify_.get(), file.c_str(), IN_OPEN) < 0)
      throw std::runtime_error("cannot watch " + file);
  }
  // The next one; false: none in that time. Several that nobody has read can have become one.
  bool next(std::chrono::milliseconds at_most) const {
    pollfd ready{inotify_.get(), POLLIN, 0};
    inotify_event event{};
    return ::poll(&ready, 1, static_cast<int>(at_most.count())) == 1 &&
           ::read(inotify_.get(), &event, sizeof event) == sizeof event;
  }

 private:
  UniqueFd inotify_;
};

}  // namespace vfrail::test
