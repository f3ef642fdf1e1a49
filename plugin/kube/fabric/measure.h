// What was measured between two ends: read from the output of vfrail-check. Pure.
#pragma once

#include "common/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

// Of a write of 8 bytes, one at a time, from posting it until the other port has acknowledged it: median and
// 99th percentile, in microseconds, as the writer has measured them.
struct RoundTrip {
  double typical_us = 0;
  std::optional<double> p99_us = {};  // no value: too few were measured
};

// RDMA writes over one rail, in Gb/s, counted by their completions at the writer.
struct RailMeasurement {
  std::string rail;                               // its RDMA device and port at the caller
  std::string peer_rail;                          // and at the other end
  double port_gbits = 0;                          // the lower rate of both ports; 0: not known
  std::optional<double> sent = {};                // to the other end
  std::optional<double> received = {};            // from it
  std::string failed = {};                        // why one of them is missing
  std::optional<RoundTrip> sent_round_trip = {};  // no value: an older vfrail-check, which measures none
  std::optional<RoundTrip> received_round_trip = {};
};

struct PairMeasurement {
  size_t from = 0;  // the caller
  size_t to = 0;
  std::vector<RailMeasurement> rails = {};  // in the order of the pods' devices
  std::string failed = {};                  // of the whole: nothing was measured
};

// Of `vfrail-check --to ... --output json`. Errc::protocol for anything else.
Result<std::vector<RailMeasurement>> read_measurement(std::string_view json);

}  // namespace vfrail::kube
