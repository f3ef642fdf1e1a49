#include "plugin/kube/fabric/path.h"

#include <algorithm>
#include <cstdio>

namespace vfrail::kube {

std::vector<Path> paths_of(const FabricReport& report) {
  std::vector<Path> out;
  for (const PairMeasurement& pair : report.pairs) {
    for (size_t i = 0; i < pair.rails.size(); ++i) {
      const RailMeasurement& rail = pair.rails[i];
      out.push_back(
          {pair.from, pair.to, i, rail.rail, rail.port_gbits, rail.sent, rail.sent_round_trip, rail.failed});
      out.push_back({pair.to, pair.from, i, rail.peer_rail, rail.port_gbits, rail.received,
                     rail.received_round_trip, rail.failed});
    }
  }
  return out;
}

std::string number_text(double value) {
  char text[32] = {};
  std::snprintf(text, sizeof text, value >= 10 ? "%.0f" : value >= 1 || value <= 0 ? "%.1f" : "%.2f", value);
  return text;
}

std::string rate_text(double gbits, double port) {
  return number_text(gbits) + (port > 0 ? " of " + number_text(port) : "") + " Gb/s";
}

std::string round_trip_text(const RoundTrip& round_trip) {
  return number_text(round_trip.typical_us) +
         (round_trip.p99_us ? "/" + number_text(*round_trip.p99_us) : "");
}

std::string end_text(const FabricReport& report, size_t end) {
  const std::string& node = report.ends[end].node;
  const auto same = std::count_if(report.ends.begin(), report.ends.end(),
                                  [&](const FabricEnd& one) { return one.node == node; });
  return same > 1 ? node + " (" + report.ends[end].pod + ")" : node;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace vfrail::kube
