// write_all: writes from several ends at once for a while, and measures each. Pure but for what the ends do.
#pragma once

#include "cni/in_pod/traffic/traffic_end.h"

#include <functional>
#include <optional>
#include <vector>

namespace vfrail::pod {

// How long a small write takes until its completion (round_trips.h).
struct RoundTrips {
  uint32_t count = 0;
  uint64_t typical_ns = 0;              // the median
  std::optional<uint64_t> p99_ns = {};  // 99 of 100 take no longer; no value: too few were measured
  bool operator==(const RoundTrips&) const = default;
};

struct WriteResult {
  uint64_t bytes = 0;
  double seconds = 0;
  std::optional<TrafficFailure> failure = {};
  std::optional<RoundTrips> round_trips = {};  // no value: not measured
  double gbits() const { return seconds > 0 ? static_cast<double>(bytes) * 8e-9 / seconds : 0; }
  bool operator==(const WriteResult&) const = default;
};

// The world of a test: its time, and whether somebody wants it to end.
struct TrafficClock {
  std::function<double()> seconds;
  std::function<bool()> is_stopped;
};

struct WriteRules {
  EndSize size;
  double seconds = 0;
};

// What is under way when the time is over may complete: NCCL's queue pairs, too, retry for a long time.
inline constexpr double kDrainSeconds = 30;

// One thread serves all: messages are large, so the devices, and not their caller, are busy.
std::vector<WriteResult> write_all(const std::vector<TrafficEnd*>& ends, const WriteRules& rules,
                                   const TrafficClock& clock);

}  // namespace vfrail::pod
