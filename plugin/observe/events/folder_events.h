// FolderEvents: files and folders that are created in a folder, replaced, or removed (inotify(7)). For
// folders whose files are about devices and which every rescan reads, so no device is named. One that does
// not exist yet, or no longer, is tried again before each scan.
#pragma once

#include "common/unique_fd.h"
#include "plugin/observe/events/event_source.h"

#include <string>

namespace vfrail::plugin {

class FolderEvents : public EventSource {
 public:
  explicit FolderEvents(std::string folder);

  void open_missing() override;
  std::vector<int> fds() const override;
  std::optional<Event> read() override;

 private:
  const std::string folder_;
  UniqueFd watch_;
};

}  // namespace vfrail::plugin
