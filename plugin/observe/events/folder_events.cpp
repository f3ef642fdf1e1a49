#include "plugin/observe/events/folder_events.h"

#include <cstring>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace vfrail::plugin {

FolderEvents::FolderEvents(std::string folder) : folder_(std::move(folder)) { FolderEvents::open_missing(); }

void FolderEvents::open_missing() {
  if (watch_.valid()) return;
  UniqueFd watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  constexpr uint32_t kMask = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR;
  if (watch.valid() && ::inotify_add_watch(watch.get(), folder_.c_str(), kMask) >= 0)
    watch_ = std::move(watch);
}

std::vector<int> FolderEvents::fds() const {
  return watch_.valid() ? std::vector<int>{watch_.get()} : std::vector<int>();
}

std::optional<Event> FolderEvents::read() {
  std::optional<Event> out;
  alignas(inotify_event) char buffer[4096];
  bool gone = false;
  for (ssize_t got = 0; watch_.valid() && (got = ::read(watch_.get(), buffer, sizeof buffer)) > 0;) {
    out = Event{"files in " + folder_, {}};
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      gone = gone || (event.mask & IN_IGNORED) != 0;
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
  }
  // The folder was removed: one of that name that is made again is another one.
  if (gone) watch_.reset();
  return out;
}

}  // namespace vfrail::plugin
