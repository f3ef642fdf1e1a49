// What a test of the fabric has shown: which ends, paths and rails are slow or broken, and the matrix. Pure.
#pragma once

#include "common/json.h"
#include "plugin/kube/fabric/measure.h"

#include <string>
#include <vector>

namespace vfrail::kube {

// One end of the test.
struct FabricEnd {
  std::string node;
  std::string pod;          // "NAMESPACE/NAME"
  std::string failed = {};  // why it takes no part
};

struct FabricFinding {
  bool is_fault = true;  // else a note
  std::string text;      // "node-3, rail 2 (mlx5_2/1): 47 of 400 Gb/s to and from 7 of 7 nodes: ..."
};

struct FabricReport {
  std::vector<FabricEnd> ends;
  std::vector<PairMeasurement> pairs;
  uint32_t seconds = 0;  // of each measurement
  std::vector<FabricFinding> findings = {};
};

// A path is slow below this part of the median of its rail, if that is below the port's rate as well: what is
// slow everywhere is one finding about the rail and not one about each path.
inline constexpr double kSlowPart = 0.8;
// Of a port's rate what is expected between two good ends, as vfrail-check VF-P24 does.
inline constexpr double kExpectedPart = 0.9;

// A round trip is late above this many medians of its rail, if that is more than a microsecond: a rail has no
// rated latency, and one more switch on the way breaks nothing. So it is a note.
inline constexpr double kLateFactor = 2;
inline constexpr double kLateMicroseconds = 1;

// The findings: ends that failed, pairs that failed, then slow cards (most of the paths of an end on a rail
// are slow), slow paths between ends that are fast otherwise, rails that are slow as a whole; cards and pairs
// with late round trips.
std::vector<FabricFinding> evaluate(const FabricReport& report);

// The matrix of each rail, up to `most` ends (else its slowest paths alone), and the findings.
std::string render(const FabricReport& report, size_t most_ends = 16);
Json to_json(const FabricReport& report);

}  // namespace vfrail::kube
