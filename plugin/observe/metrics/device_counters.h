// Traffic counters of the devices in the pools, wherever the devices are: in the host, or in a pod. Reads,
// and reports which it could not read and why. Decides nothing.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/rdma_counters.h"
#include "common/node/sys_root.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"
#include "plugin/observe/metrics/counter_memory.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Why a device has no counters.
enum class NoCounters : uint8_t {
  none_there,        // neither netdev nor RDMA device: it is bound to vfio, say
  silent_driver,     // the PF's driver reports zeros only, and the VF's own netdev is not accessible
  pf_out_of_reach,   // the PF's netdev is not in the network namespace of this process, the VF's not in the
                     // host
  pod_out_of_reach,  // it is in a pod, and this process may not enter network namespaces
  not_found,         // neither in the host nor in a pod that is known
};
const char* reason_name(NoCounters reason);  // "silent_driver"

struct DeviceCounters {
  std::optional<TrafficCounters> traffic;
  std::vector<RdmaPortCounters> rdma;
  std::optional<NoCounters> no_traffic;  // set if there is none
  std::optional<NoCounters> no_rdma;     // set if the device is RDMA-capable and there is none
  size_t unread_series = 0;  // that there are and that were not read, because there is no room for them

  static constexpr size_t kTrafficSeries = 6;
  size_t series() const;  // with those that were not read
};

// What the network namespaces of pods hold.
struct PodNamespaces {
  bool in_reach = false;
  std::map<std::string, TrafficCounters> netdevs;             // PCI address -> of its netdev
  std::map<std::string, std::vector<RdmaPortCounters>> rdma;  // RDMA device -> its ports
};

struct CounterSources {
  SysRoot sys;
  Kernel* kernel = nullptr;  // of the network namespace of this process; null: none
  // Called once at most, and only if a device has no counters without it.
  std::function<PodNamespaces()> pods;
  CounterMemory* memory = nullptr;  // of the scrapes before this one; null: none
  // Counters of RDMA devices are read as long as all that was read is not more than this. Devices that are in
  // use come first.
  size_t most_series = SIZE_MAX;
  const DevicesInUse* in_use = nullptr;
};

// Device id -> its counters. Each PF is queried once.
//
// The PF comes first, because its counters continue when the VF changes namespace or driver; then the VF's
// netdev, whose counters start again. Of the netdevs of the host all are read at once (host_traffic.h).
using CountersOfDevices = std::map<std::string, DeviceCounters>;
CountersOfDevices read_device_counters(const CounterSources& sources,
                                       const std::vector<PublishedPool>& pools);
CountersOfDevices read_device_counters(const CounterSources& sources,
                                       const std::vector<DeviceFacts>& functions);

}  // namespace vfrail::plugin
