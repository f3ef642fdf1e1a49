// measure_round_trips: small writes one at a time, and how long each takes until its completion: to the
// peer's port and, on a reliable connection, its acknowledgement back. The peer's processor has no part in
// it. Pure but for what the end does.
#pragma once

#include "cni/in_pod/traffic/write_all.h"

#include <variant>

namespace vfrail::pod {

inline constexpr uint32_t kSmallWrite = 8;  // bytes
// So many at most, and so many seconds: with RDMA in hardware some milliseconds, in software a part of a
// second.
inline constexpr uint32_t kMostRoundTrips = 1000;
inline constexpr double kRoundTripSeconds = 1;
// The first ones resolve addresses and load tables, and are not counted.
inline constexpr uint32_t kFirstRoundTrips = 10;
// Of fewer the 99th percentile would be their maximum.
inline constexpr uint32_t kLeastForPercentile = 100;

// Of an end that is connected and has no write under way. `count` is 0 if somebody has ended the test before.
std::variant<RoundTrips, TrafficFailure> measure_round_trips(TrafficEnd& end, const TrafficClock& clock);

// Of the times of each in seconds, in any order.
RoundTrips summary_of(std::vector<double> seconds);

}  // namespace vfrail::pod
