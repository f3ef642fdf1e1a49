#include "plugin/events/folder_events.h"

#include <sys/inotify.h>
#include <unistd.h>
#include <utility>

namespace vfrail {

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

std::optional<std::string> FolderEvents::read() {
  std::optional<std::string> out;
  char buffer[4096];
  while (watch_.valid() && ::read(watch_.get(), buffer, sizeof buffer) > 0) out = "files in " + folder_;
  return out;
}

}  // namespace vfrail
