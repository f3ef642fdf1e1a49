// The loop of `vfrail top` and of `vfrail-check --top`: reads counters, an interval after the other, and
// prints their rates. What is read is the caller's, and how it is drawn on a terminal.
#pragma once

#include "common/json.h"
#include "common/traffic/traffic.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail {

struct WatchOptions {
  double interval = 1;     // seconds, 0.1 to 3600
  unsigned count = 0;      // intervals; 0: until INT or TERM
  bool json = false;       // one document for each interval, a line each
  int schema_version = 1;  // of that document
};

// A line for each device.
std::string rate_lines(const std::vector<DeviceRates>& rates, const std::string& time);
// A line for each counter of a device that has counted anything.
std::string summary_lines(const Summary& summary);
// {"schema_version","interval_ms","traffic":[{"id","names","pod","claim","speed_mbps","percent","per_second":{...}}]}.
Json rates_json(const std::vector<DeviceRates>& rates, double seconds, int schema_version);

using DrawRates = std::function<std::string(const std::vector<DeviceRates>&)>;

struct WatchWorld {
  std::function<Result<Reading>()> read;
  std::function<bool(double seconds)> wait = {};  // false: it is to end
  std::function<void(const std::string&)> print = {};
  DrawRates draw = {};  // for a terminal; none: rate_lines()
  std::function<std::string(const Summary&)> summarise = summary_lines;
};
Result<> watch_traffic(const WatchOptions& options, const WatchWorld& world);

// Waits so long. Blocks INT and TERM, which end the wait and so the loop: the summary is still printed.
std::function<bool(double seconds)> wait_until_signal();

}  // namespace vfrail
