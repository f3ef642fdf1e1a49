#include "plugin/device/advertise/debounce.h"

#include <algorithm>

namespace vfrail::plugin {

std::optional<Debounce::Time> Debounce::settle(std::vector<Pool>& pools, Time now) {
  std::map<std::string, Reported> still_there;
  std::optional<Time> next;
  for (Pool& pool : pools) {
    for (PoolDevice& device : pool.devices) {
      std::string key = pool.resource() + " " + device.id();
      const auto known = reported_.find(key);
      Reported reported =
          known == reported_.end() ? Reported{.fault = device.fault} : std::move(known->second);
      for (const auto& later : {settle_fault(device, reported, now), settle_nodes(device, reported, now)}) {
        if (later) next = std::min(next.value_or(*later), *later);
      }
      still_there.emplace(std::move(key), std::move(reported));
    }
  }
  reported_ = std::move(still_there);
  return next;
}

std::optional<Debounce::Time> Debounce::settle_fault(PoolDevice& device, Reported& reported, Time now) const {
  // Another reason for being unhealthy is not a change for kubelet, and the newest is shown. What a container
  // has counts at once: another one could get it meanwhile.
  if (device.fault.empty() == reported.fault.empty() || device.fault.is_by_container()) {
    reported.fault = device.fault;
    reported.differs_since.reset();
    return std::nullopt;
  }
  if (!reported.differs_since) reported.differs_since = now;
  const Time due = *reported.differs_since + hold_;
  if (now >= due) {
    reported.fault = device.fault;
    reported.differs_since.reset();
    return std::nullopt;
  }
  device.fault = reported.fault;
  return due;
}

// A device whose RDMA device is in a pod has none to count.
std::optional<Debounce::Time> Debounce::settle_nodes(PoolDevice& device, Reported& reported, Time now) const {
  const bool fewer = device.rdma_nodes < reported.rdma_nodes;
  if (fewer && device.facts.rdma.empty()) {
    device.rdma_nodes = reported.rdma_nodes;
    reported.fewer_since.reset();
    return std::nullopt;
  }
  if (fewer && !reported.fewer_since) reported.fewer_since = now;
  if (fewer && now < *reported.fewer_since + hold_) {
    device.rdma_nodes = reported.rdma_nodes;
    return *reported.fewer_since + hold_;
  }
  reported.rdma_nodes = device.rdma_nodes;
  reported.fewer_since.reset();
  return std::nullopt;
}

}  // namespace vfrail::plugin
