// EventSource: reports that what a scan reads may have changed. Only requests a rescan, and never says what
// to do; the periodic rescan finds the rest. Adding one is one line in serve: events.add(...).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  // Called before each scan: tries again what could not be opened until now.
  virtual void open_missing() {}
  // Readable (poll(2)) when there is something to read; they can change with each call of the other
  // functions.
  virtual std::vector<int> fds() const = 0;
  // Reads what is there, without waiting. A few words for the log about what happened; empty if nothing
  // matters.
  virtual std::optional<std::string> read() = 0;
};

}  // namespace vfrail::plugin
