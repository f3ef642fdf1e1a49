// EventSource: something that says that what a scan reads may have changed. Says only "rescan", never what to
// do; what is not said is found at the periodic rescan. Adding one is one line in serve: events.add(...).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // Called before each scan: tries again what could not be opened until now.
  virtual void open_missing() {}
  // Readable (poll(2)) when there is something to read; they can change with each call of the others.
  virtual std::vector<int> fds() const = 0;
  // Takes what is there, without waiting. In a few words what happened, for the log; nothing if nothing
  // matters.
  virtual std::optional<std::string> read() = 0;
};

}  // namespace vfrail
