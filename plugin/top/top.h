// `vfrail top`: the traffic of devices and of the pods that have them, an interval after the other.
#pragma once

#include "common/json.h"
#include "plugin/report/inspect.h"
#include "plugin/report/terminal.h"
#include "plugin/top/traffic.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail {

struct TopOptions {
  std::string root = "/";
  std::string kubelet_root = "/var/lib/kubelet";
  std::string config_file;  // as InspectOptions
  std::string resource_prefix = kPeersPrefix;
  std::vector<std::string> devices;  // as DeviceFilter::devices, by the names at the start; none: all
  std::string pod;                   // "team/train-0"; empty: all
  double interval = 1;               // seconds, 0.1 to 3600
  unsigned count = 0;                // intervals; 0: until INT or TERM
  bool json = false;                 // one document for each interval, a line each
};

// As a table for a terminal, and as one line a device where there is none.
std::string render_rates(const std::vector<DeviceRates>& rates, const Terminal& terminal);
std::string rate_lines(const std::vector<DeviceRates>& rates, const std::string& time);
std::string render_summary(const Summary& summary);
// {"schema_version","interval_seconds","traffic":[{"id","names","pod","speed_mbps","percent","rates":{...}}]}.
Json rates_json(const std::vector<DeviceRates>& rates, double seconds);

// The world of the loop: how it reads, and how it waits (false: it is to end).
struct TopWorld {
  std::function<Result<Reading>()> read;
  std::function<bool(double seconds)> wait = {};
  std::function<void(const std::string&)> print = {};
  bool is_terminal = false;
  Terminal terminal = {};
};
Result<> watch_traffic(const TopOptions& options, const TopWorld& world);

// Exit code: 0 done, 1 the node cannot be read or has no such device, 2 the configuration is wrong.
int top(const TopOptions& options, const AskKubelet& ask_kubelet);

}  // namespace vfrail
