// The metrics of `vfrail serve`, from what was counted and read. Pure: values in, text out. README.md
// beside this file lists them.
#pragma once

#include "plugin/device/match/devices_in_use.h"
#include "plugin/observe/metrics/device_counters.h"
#include "plugin/observe/metrics/process_facts.h"
#include "plugin/observe/status/counters.h"
#include "plugin/observe/status/status.h"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace vfrail::plugin {

struct MetricsInput {
  Counters::Content counts;
  std::shared_ptr<const NodeStatus> status;
  std::shared_ptr<const DevicesInUse> in_use;  // null: kubelet has not answered yet
  bool in_use_fresh = false;                   // kubelet answered this time
  std::chrono::steady_clock::time_point now;
  CountersOfDevices devices;
  ProcessFacts process;
  bool uses_cdi = false;
};

// The limit of series about single devices. A thousand VFs have 6 each; RDMA counters are 20 to 80 a device.
inline constexpr size_t kMaxDeviceSeries = 10'000;
inline constexpr size_t kMostDeviceSeries = 1'000'000;  // that can be configured: some 150 MB of text
// The limit of unhealthy devices with their reasons, in the resources' order; vfrail_devices counts all.
inline constexpr size_t kMaxUnhealthySeries = 1000;

// Devices in use come first when there is not room for all, then the order of their ids.
std::string render_metrics(const MetricsInput& input, size_t max_device_series = kMaxDeviceSeries);

}  // namespace vfrail::plugin
