// `vfrail-check --top`: the traffic of the pod's own RDMA devices, an interval after the other. Reads their
// counters; the loop is that of common/traffic.
#pragma once

#include "cni/in_pod/facts/rails.h"
#include "common/command/command_words.h"
#include "common/traffic/watch_traffic.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

std::vector<OptionText> pod_top_options();
// No value: it is not asked for.
Result<std::optional<WatchOptions>> read_pod_top(const CommandWords& words);

// The counters of these devices and of their interfaces now; a device that has gone has none.
Reading read_rail_traffic(const SysRoot& sys, const std::vector<Rail>& rails);

}  // namespace vfrail::pod
