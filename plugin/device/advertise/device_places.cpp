#include "plugin/device/advertise/device_places.h"

#include <utility>

namespace vfrail::plugin {

DevicePlaces::DevicePlaces(std::vector<Pool>& pools) {
  for (Pool& pool : pools) {
    if (shares(pool.config)) continue;
    for (size_t i = 0; i < pool.devices.size(); ++i) places_.emplace(pool.devices[i].id(), Place{&pool, i});
  }
}

const DevicePlaces::Place* DevicePlaces::find(const std::string& id) const {
  const auto at = places_.find(id);
  return at == places_.end() ? nullptr : &at->second;
}

const PoolDevice* DevicePlaces::device(const Place& place) const {
  const auto taken = taken_.find(place.pool);
  const bool gone = taken != taken_.end() && taken->second.contains(place.index);
  return gone ? nullptr : &place.pool->devices[place.index];
}

DeviceFacts DevicePlaces::take(const Place& place) {
  taken_[place.pool].insert(place.index);
  return std::move(place.pool->devices[place.index].facts);
}

void DevicePlaces::remove_taken() {
  places_.clear();
  for (const auto& [pool, indexes] : taken_) {
    std::vector<PoolDevice> rest;
    rest.reserve(pool->devices.size() - indexes.size());
    for (size_t i = 0; i < pool->devices.size(); ++i) {
      if (!indexes.contains(i)) rest.push_back(std::move(pool->devices[i]));
    }
    pool->devices = std::move(rest);
  }
  taken_.clear();
}

}  // namespace vfrail::plugin
