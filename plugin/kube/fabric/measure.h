// What was measured between two ends: read from the output of vfrail-check. Pure.
#pragma once

#include "common/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

// RDMA writes over one rail, in Gb/s, counted by their completions at the writer.
struct RailMeasurement {
  std::string rail;                     // its RDMA device and port at the caller
  std::string peer_rail;                // and at the other end
  double port_gbits = 0;                // the lower rate of both ports; 0: not known
  std::optional<double> sent = {};      // to the other end
  std::optional<double> received = {};  // from it
  std::string failed = {};              // why one of them is missing
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
