// TrafficOutcome: what a test of the rails of two pods has measured. A value.
#pragma once

#include "cni/in_pod/traffic/traffic_message.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

struct TrafficSize {
  uint32_t message_bytes = 1 << 20;
  int64_t seconds = 2;
};
struct RailMeasure {
  std::optional<TrafficFailure> failure;  // of either end, before anything was written
  bool at_peer = false;                   // whose
  WriteResult sent;
  WriteResult received;  // measured by the peer; not at all if sending failed
};

struct RailOutcome {
  TrafficRail rail;
  OfferedRail peer;  // its rail of the same order
  RailMeasure alone;
  std::optional<RailMeasure> together;  // all rails at once, if there are several
};

struct TrafficOutcome {
  std::string peer;  // its address; empty: each rail with itself
  TrafficSize size;
  std::vector<RailOutcome> rails;
  std::vector<std::string> unmatched;       // rails of this pod that have none at the peer
  std::vector<std::string> peer_unmatched;  // and the reverse
};

}  // namespace vfrail::pod
