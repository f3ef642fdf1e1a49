// Path: one direction over one rail of what a test of the fabric has measured, as findings, matrix and JSON
// need it; and how its numbers are shown. Pure.
#pragma once

#include "plugin/kube/fabric/fabric_report.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::kube {

// From one end to another over one rail; the writer is `from`.
struct Path {
  size_t from = 0;
  size_t to = 0;
  size_t rail = 0;
  std::string name;  // of the rail at the writer
  double port_gbits = 0;
  std::optional<double> gbits = {};
  std::optional<RoundTrip> round_trip = {};
  std::string failed = {};
};

std::vector<Path> paths_of(const FabricReport& report);

// A rate that was measured is not shown as 0.0: RDMA in software has some hundredths.
std::string number_text(double value);
// "12 of 200 Gb/s".
std::string rate_text(double gbits, double port);
// "2.1/3.4": the median, and the 99th percentile if there is one; in microseconds.
std::string round_trip_text(const RoundTrip& round_trip);

// The node; two ends on one node differ by their pods.
std::string end_text(const FabricReport& report, size_t end);

// 0 of none.
double median(std::vector<double> values);

}  // namespace vfrail::kube
