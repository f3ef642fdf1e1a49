// EventThrottle: when to read events and when to rescan the node because of them. Pure: the caller passes the
// time. A burst becomes one rescan shortly after it; a storm neither prevents rescans nor makes them
// continuous, and costs few wake-ups.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace vfrail::plugin {

class EventThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // After an event the sockets are not read for this long; if nothing has arrived then, a rescan is due.
  static constexpr std::chrono::milliseconds kQuiet{100};
  // From the first event of a burst to the rescan, at most.
  static constexpr std::chrono::milliseconds kLongest{500};
  // From one rescan because of events to the next.
  static constexpr std::chrono::milliseconds kApart{300};

  // Whether events are to be read now. If not, they wait in their sockets.
  bool listens(Time now) const { return now >= listen_at_; }
  // Events were read; `matters` if one of them was about the node.
  void note_event(Time now, bool matters) {
    listen_at_ = now + kQuiet;
    if (!matters) return;
    if (!first_) first_ = now;
    due_at_ = std::max(std::min(now + kQuiet, *first_ + kLongest), scanned_ + kApart);
  }
  bool due(Time now) const { return first_ && now >= due_at_; }
  void scanned(Time now) {
    scanned_ = now;
    first_.reset();
  }
  // When something is due if nothing happens: the rescan, or reading events again.
  Time next(Time now) const {
    Time out = first_ ? due_at_ : Time::max();
    if (listen_at_ > now) out = std::min(out, listen_at_);
    return out;
  }

 private:
  Time listen_at_{};
  Time due_at_{};
  Time scanned_{};
  std::optional<Time> first_;  // event since the last rescan
};

}  // namespace vfrail::plugin
