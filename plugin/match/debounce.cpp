#include "plugin/match/debounce.h"

#include <algorithm>

namespace vfrail {

std::optional<Debounce::Time> Debounce::settle(std::vector<Pool>& pools, Time now) {
  std::map<std::string, Reported> still_there;
  std::optional<Time> next;
  for (Pool& pool : pools) {
    for (PoolDevice& device : pool.devices) {
      std::string key = pool.resource() + " " + device.id();
      const auto known = reported_.find(key);
      Reported reported =
          known == reported_.end() ? Reported{device.fault, std::nullopt} : std::move(known->second);
      const auto later = settle(device, reported, now);
      if (later) next = std::min(next.value_or(*later), *later);
      still_there.emplace(std::move(key), std::move(reported));
    }
  }
  reported_ = std::move(still_there);
  return next;
}

std::optional<Debounce::Time> Debounce::settle(PoolDevice& device, Reported& reported, Time now) const {
  // Another reason for being unhealthy is not a change for kubelet, and the newest is shown.
  if (device.fault.empty() == reported.fault.empty()) {
    reported = {device.fault, std::nullopt};
    return std::nullopt;
  }
  if (!reported.differs_since) reported.differs_since = now;
  const Time due = *reported.differs_since + hold_;
  if (now >= due) {
    reported = {device.fault, std::nullopt};
    return std::nullopt;
  }
  device.fault = reported.fault;
  return due;
}

}  // namespace vfrail
