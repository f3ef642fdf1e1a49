#include "plugin/events/event_throttle.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using std::chrono::milliseconds;

namespace {

const EventThrottle::Time kStart = EventThrottle::Time{} + std::chrono::hours{1};

// A loop that sleeps until the pace says so, and is woken by an event every `step` while it listens. Counts.
struct Played {
  int looks = 0;
  int wakes = 0;
  milliseconds first_look{-1};
};
Played play(milliseconds step, milliseconds length, bool matters) {
  EventThrottle pace;
  Played out;
  for (EventThrottle::Time now = kStart; now < kStart + length; now += milliseconds{1}) {
    const bool event = (now - kStart) % step == milliseconds{0};
    const bool wake = (event && pace.listens(now)) || now >= pace.next(now);
    if (!wake) continue;
    ++out.wakes;
    if (pace.listens(now)) pace.note_event(now, matters);
    if (!pace.due(now)) continue;
    pace.scanned(now);
    if (out.looks++ == 0) out.first_look = std::chrono::duration_cast<milliseconds>(now - kStart);
  }
  return out;
}

}  // namespace

TEST_CASE("a single event leads to one rescan after a short delay") {
  EventThrottle pace;
  CHECK(pace.listens(kStart));
  CHECK(pace.next(kStart) == EventThrottle::Time::max());
  pace.note_event(kStart, true);
  CHECK_FALSE(pace.listens(kStart + milliseconds{99}));
  CHECK_FALSE(pace.due(kStart + milliseconds{99}));
  REQUIRE(pace.next(kStart) == kStart + milliseconds{100});
  CHECK(pace.due(kStart + milliseconds{100}));
  pace.scanned(kStart + milliseconds{110});
  CHECK(pace.next(kStart + milliseconds{110}) == EventThrottle::Time::max());
}

TEST_CASE("an event that does not matter leads to no rescan, and to at most ten wake-ups per second") {
  EventThrottle pace;
  pace.note_event(kStart, false);
  CHECK_FALSE(pace.due(kStart + milliseconds{1000}));
  const Played storm = play(milliseconds{1}, milliseconds{10'000}, false);
  CHECK(storm.looks == 0);
  CHECK(storm.wakes <= 101);
}

TEST_CASE("a burst is one rescan, at its end but within half a second of its begin") {
  EventThrottle pace;
  EventThrottle::Time now = kStart;
  for (int i = 0; i < 4; ++i, now += milliseconds{100}) {
    pace.note_event(now, true);
    CHECK_FALSE(pace.due(now));
  }
  CHECK(pace.next(now) == kStart + milliseconds{400});
  pace.note_event(kStart + milliseconds{450}, true);
  CHECK(pace.due(kStart + milliseconds{500}));
}

TEST_CASE("a storm leads to few rescans and few wake-ups, and to the first rescan in time") {
  for (const int step : {1, 7, 99, 150, 301}) {
    const Played storm = play(milliseconds{step}, milliseconds{60'000}, true);
    INFO(step << " ms apart: " << storm.looks << " looks, " << storm.wakes << " wake-ups");
    CHECK(storm.first_look <= milliseconds{500});
    CHECK(storm.looks >= 60);
    CHECK(storm.looks <= 200);
    CHECK(storm.wakes <= 1300);
  }
}
