// A test of the rails of two pods: what the caller orders, and what the listener does for it. Both are ends
// of one conversation (traffic_message.h). Each rail alone against the peer's of the same order, then all at
// once; each time to the peer, and from it.
#pragma once

#include "cni/in_pod/traffic/traffic_channel.h"
#include "cni/in_pod/traffic/traffic_outcome.h"

#include <vector>

namespace vfrail::pod {

struct TrafficSide {
  std::vector<TrafficRail> rails;
  TrafficDevices& devices;
  const TrafficClock& clock;
  std::string test = {};  // its name, which that of the peer must be
};

// A hello is written, and must have come, within so many seconds.
inline constexpr double kHelloSeconds = 5;

// Writes under way at the same time: enough for a busy rail, and not more than 16 MiB.
uint32_t depth_of(uint32_t message_bytes);

Result<TrafficOutcome> call_for_traffic(TrafficChannel& channel, const TrafficSide& side, TrafficSize size);

// Answers the first line of who has connected. An error, which is its answer, too: it does not call for this
// test. A caller of another version can then say why.
Result<TrafficSize> greet_caller(TrafficChannel& channel, const TrafficSide& side,
                                 const Result<std::string>& line);
// Until the caller ends the test.
Result<> serve_traffic(TrafficChannel& channel, const TrafficSide& side, TrafficSize size);

// Each rail with itself, one after the other: the path through the device, without the fabric.
TrafficOutcome loop_back(const TrafficSide& side, TrafficSize size);

}  // namespace vfrail::pod
