// `vfrail top`: the traffic of devices and of the pods that have them, an interval after the other.
#pragma once

#include "common/terminal.h"
#include "common/traffic/watch_traffic.h"
#include "plugin/admin/report/inspect.h"
#include "plugin/admin/report/report.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct TopOptions : WatchOptions {
  TopOptions() { schema_version = kSchemaVersion; }
  std::string root = "/";
  std::string kubelet_root = kKubeletRoot;
  std::string config_file;  // empty: the facts alone
  std::string resource_prefix = kPeersPrefix;
  std::vector<std::string> devices;  // as DeviceFilter::devices, by the names at the start; none: all
  std::string pod;                   // "team/train-0"; empty: all
};

std::string render_rates(const std::vector<DeviceRates>& rates, const Terminal& terminal);
std::string render_summary(const Summary& summary);

// Exit code: 0 done, 1 the node cannot be read or has no such device, 2 the configuration is wrong.
int top(const TopOptions& options, const AskKubelet& ask_kubelet);

}  // namespace vfrail::plugin
