#include "cni/in_pod/traffic/round_trips.h"

#include <algorithm>
#include <cmath>

namespace vfrail::pod {

namespace {

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(std::llround(std::max(0.0, seconds) * 1e9));
}

// No value: it has completed, or somebody has ended the test.
std::optional<TrafficFailure> write_one(TrafficEnd& end, double since, const TrafficClock& clock) {
  if (const auto failure = end.post(kSmallWrite)) return failure;
  while (!clock.is_stopped()) {
    const auto completed = end.poll();
    if (const auto* failure = std::get_if<TrafficFailure>(&completed)) return *failure;
    if (*std::get_if<uint32_t>(&completed) > 0) return {};
    if (clock.seconds() - since > kDrainSeconds) return TrafficFailure{TrafficStage::unfinished, 0};
  }
  return {};
}

}  // namespace

RoundTrips summary_of(std::vector<double> seconds) {
  RoundTrips out;
  if (seconds.empty()) return out;
  std::sort(seconds.begin(), seconds.end());
  out.count = static_cast<uint32_t>(seconds.size());
  out.typical_ns = nanoseconds(seconds[(seconds.size() - 1) / 2]);
  if (out.count >= kLeastForPercentile)
    out.p99_ns = nanoseconds(seconds[(seconds.size() * 99 + 99) / 100 - 1]);
  return out;
}

std::variant<RoundTrips, TrafficFailure> measure_round_trips(TrafficEnd& end, const TrafficClock& clock) {
  std::vector<double> took;
  took.reserve(kMostRoundTrips);
  const double begin = clock.seconds();
  for (uint32_t i = 0; took.size() < kMostRoundTrips; ++i) {
    const double since = clock.seconds();
    if (since - begin > kRoundTripSeconds && !took.empty()) break;
    if (const auto failure = write_one(end, since, clock)) return *failure;
    const double now = clock.seconds();
    if (clock.is_stopped()) break;  // what is under way then has not completed
    if (i >= kFirstRoundTrips) took.push_back(now - since);
  }
  return summary_of(std::move(took));
}

}  // namespace vfrail::pod
