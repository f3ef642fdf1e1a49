#include "plugin/debounce.h"

#include <algorithm>

namespace vfrail {

std::optional<Debounce::Time> Debounce::settle(std::vector<Pool>& pools, Time now) {
  std::map<std::string, Told> still_there;
  std::optional<Time> next;
  for (Pool& pool : pools) {
    for (PoolDevice& device : pool.devices) {
      std::string key = pool.resource() + " " + device.id();
      const auto known = told_.find(key);
      Told told = known == told_.end() ? Told{device.fault, std::nullopt} : std::move(known->second);
      const auto later = settle(device, told, now);
      if (later) next = std::min(next.value_or(*later), *later);
      still_there.emplace(std::move(key), std::move(told));
    }
  }
  told_ = std::move(still_there);
  return next;
}

std::optional<Debounce::Time> Debounce::settle(PoolDevice& device, Told& told, Time now) const {
  // Another reason for being unhealthy is no change for kubelet, and the newest is the best to show.
  if (device.fault.empty() == told.fault.empty()) {
    told = {device.fault, std::nullopt};
    return std::nullopt;
  }
  if (!told.differs_since) told.differs_since = now;
  const Time due = *told.differs_since + hold_;
  if (now >= due) {
    told = {device.fault, std::nullopt};
    return std::nullopt;
  }
  device.fault = told.fault;
  return due;
}

}  // namespace vfrail
