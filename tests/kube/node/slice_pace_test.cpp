// How often a slice is replaced, by a clock of the test.
#include "plugin/kube/node/slice_pace.h"

#include <catch2/catch.hpp>

using namespace vfrail::kube;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const SlicePace::Steady::time_point kBegin{std::chrono::hours(1000)};

// Of a slice that changes all the time from `from` on: how many writes there are until `to`.
int writes(SlicePace& pace, SlicePace::Steady::time_point from, SlicePace::Steady::time_point to,
           size_t together = 1) {
  int out = 0;
  for (auto now = std::max(from, pace.replace_due(0, together)); now < to;
       now = pace.replace_due(0, together)) {
    pace.replaced(0, now);
    ++out;
  }
  return out;
}

}  // namespace

TEST_CASE("a slice that has not been written may be at once") {
  const SlicePace pace;
  CHECK(pace.create_due(3) <= kBegin);
  CHECK(pace.replace_due(3, 16) <= kBegin);
}

TEST_CASE("a port that flaps is ten writes a second apart, and then six a minute") {
  SlicePace pace;
  CHECK(writes(pace, kBegin, kBegin + seconds(10)) == 10);
  CHECK(writes(pace, kBegin + seconds(10), kBegin + minutes(1)) == 5);
  CHECK(writes(pace, kBegin + minutes(1), kBegin + minutes(61)) == 360);
}

TEST_CASE("a port that was quiet for a while is published at once again") {
  SlicePace pace;
  writes(pace, kBegin, kBegin + minutes(5));
  const auto later = kBegin + minutes(7);
  CHECK(pace.replace_due(0, 1) <= later);
  CHECK(writes(pace, later, later + seconds(10)) == 10);
}

TEST_CASE("another slice does not wait for the one with the port that flaps") {
  SlicePace pace;
  writes(pace, kBegin, kBegin + minutes(1));
  CHECK(pace.replace_due(1, 1) <= kBegin);
}

TEST_CASE("slices that are replaced together wait a second for each") {
  SlicePace pace;
  pace.replaced(0, kBegin);
  CHECK(pace.replace_due(0, 16) == kBegin + seconds(16));
}

TEST_CASE("what kubelet deletes is made again after a second, also of a node with a port that flaps") {
  SlicePace pace;
  writes(pace, kBegin, kBegin + minutes(10));
  pace.replaced(0, kBegin + minutes(10));
  CHECK(pace.create_due(0) == kBegin + minutes(10) + seconds(1));
  pace.created(0, kBegin + minutes(11));
  CHECK(pace.create_due(0) == kBegin + minutes(11) + seconds(1));
}
