#include "plugin/observe/events/event_throttle.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using std::chrono::milliseconds;

namespace {

const EventThrottle::Time kStart = EventThrottle::Time{} + std::chrono::hours{1};

// A loop that sleeps until the throttle says so, and is woken by an event every `step` while it listens.
// Counts.
struct Played {
  int scans = 0;
  int wakes = 0;
  milliseconds first_scan{-1};
};
Played play(milliseconds step, milliseconds length, bool matters) {
  EventThrottle throttle;
  Played out;
  for (EventThrottle::Time now = kStart; now < kStart + length; now += milliseconds{1}) {
    const bool event = (now - kStart) % step == milliseconds{0};
    const bool wake = (event && throttle.listens(now)) || now >= throttle.next(now);
    if (!wake) continue;
    ++out.wakes;
    if (throttle.listens(now)) throttle.note_event(now, matters);
    if (!throttle.due(now)) continue;
    throttle.scanned(now);
    if (out.scans++ == 0) out.first_scan = std::chrono::duration_cast<milliseconds>(now - kStart);
  }
  return out;
}

}  // namespace

TEST_CASE("a single event leads to one rescan after a short delay") {
  EventThrottle throttle;
  CHECK(throttle.listens(kStart));
  CHECK(throttle.next(kStart) == EventThrottle::Time::max());
  throttle.note_event(kStart, true);
  CHECK_FALSE(throttle.listens(kStart + milliseconds{99}));
  CHECK_FALSE(throttle.due(kStart + milliseconds{99}));
  REQUIRE(throttle.next(kStart) == kStart + milliseconds{100});
  CHECK(throttle.due(kStart + milliseconds{100}));
  throttle.scanned(kStart + milliseconds{110});
  CHECK(throttle.next(kStart + milliseconds{110}) == EventThrottle::Time::max());
}

TEST_CASE("an event that does not matter leads to no rescan, and to at most ten wake-ups per second") {
  EventThrottle throttle;
  throttle.note_event(kStart, false);
  CHECK_FALSE(throttle.due(kStart + milliseconds{1000}));
  const Played storm = play(milliseconds{1}, milliseconds{10'000}, false);
  CHECK(storm.scans == 0);
  CHECK(storm.wakes <= 101);
}

TEST_CASE("a burst is one rescan, at its end but within half a second of its begin") {
  EventThrottle throttle;
  EventThrottle::Time now = kStart;
  for (int i = 0; i < 4; ++i, now += milliseconds{100}) {
    throttle.note_event(now, true);
    CHECK_FALSE(throttle.due(now));
  }
  CHECK(throttle.next(now) == kStart + milliseconds{400});
  throttle.note_event(kStart + milliseconds{450}, true);
  CHECK(throttle.due(kStart + milliseconds{500}));
}

TEST_CASE("a storm leads to few rescans and few wake-ups, and to the first rescan in time") {
  for (const int step : {1, 7, 99, 150, 301}) {
    const Played storm = play(milliseconds{step}, milliseconds{60'000}, true);
    INFO(step << " ms apart: " << storm.scans << " scans, " << storm.wakes << " wake-ups");
    CHECK(storm.first_scan <= milliseconds{500});
    CHECK(storm.scans >= 60);
    CHECK(storm.scans <= 200);
    CHECK(storm.wakes <= 1300);
  }
}
