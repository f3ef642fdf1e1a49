// EventSource: reports that what a scan reads may have changed, and of what. Only requests a rescan, and
// never says what to do; the periodic rescan finds the rest. Adding one is one line in serve:
// events.add(...).
#pragma once

#include "plugin/device/inventory/changed.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::plugin {

struct Event {
  std::string words;  // a few, for the log: what happened
  Changed changed;    // nothing: only what every rescan reads
};

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
  // Reads what is there, without waiting: all that changed, and the words of the first; empty if nothing
  // matters.
  virtual std::optional<Event> read() = 0;
};

// Another event behind those that were read before it.
inline void add_event(std::optional<Event> more, std::optional<Event>& events) {
  if (events && more) events->changed.add(more->changed);
  if (!events) events = std::move(more);
}

}  // namespace vfrail::plugin
