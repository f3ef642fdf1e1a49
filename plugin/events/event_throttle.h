// Pace: when to listen to events and when to look at the node because of them. Pure: told the time, never
// asks for it. A burst becomes one look shortly after it; a storm neither keeps the look from happening nor
// makes it happen all the time, and costs few wake-ups.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace vfrail {

class EventThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // After an event nobody listens for so long; when nothing has been said meanwhile, it is time to look.
  static constexpr std::chrono::milliseconds kQuiet{100};
  // From the first event of a burst to the look, at most.
  static constexpr std::chrono::milliseconds kLongest{500};
  // From one look because of events to the next.
  static constexpr std::chrono::milliseconds kApart{300};

  // Whether events are to be read now. If not, they are to wait in their sockets.
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
  // When something is due if nothing happens: the look, or to listen again.
  Time next(Time now) const {
    Time out = first_ ? due_at_ : Time::max();
    if (listen_at_ > now) out = std::min(out, listen_at_);
    return out;
  }

 private:
  Time listen_at_{};
  Time due_at_{};
  Time scanned_{};
  std::optional<Time> first_;  // event since the last look
};

}  // namespace vfrail
