// DevicePlaces: where each device of the exclusive pools of a scan is, found by its id, and the devices that
// are taken out of their pool. With a thousand devices in use each is asked for. Pure; decides nothing.
#pragma once

#include "plugin/device/match/pools.h"

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace vfrail::plugin {

class DevicePlaces {
 public:
  struct Place {
    Pool* pool = nullptr;
    size_t index = 0;  // in its devices
  };

  // The pools outlive this object. Until remove_taken() devices may be added to them, at the end, and nothing
  // else may change in them.
  explicit DevicePlaces(std::vector<Pool>& pools);

  // The place of the device, also if it has been taken. Null: it is in none of these pools.
  const Place* find(const std::string& id) const;
  // The device at that place. Null: it has been taken.
  const PoolDevice* device(const Place& place) const;
  // Takes a device that has not been taken yet out of its pool, and returns its facts.
  DeviceFacts take(const Place& place);
  // From this call on no place is valid.
  void remove_taken();

 private:
  std::unordered_map<std::string, Place> places_;
  std::map<Pool*, std::set<size_t>> taken_;
};

}  // namespace vfrail::plugin
