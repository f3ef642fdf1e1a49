// DevicePlaces: where each device of the exclusive pools of a scan is, found by its id, and the devices that
// are taken out of their pool. With a thousand devices in use each is asked for. Pure; decides nothing.
#pragma once

#include "plugin/match/pools.h"

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

  // The pools outlive it. Until remove_taken() devices may be added behind those that they have, nothing
  // else.
  explicit DevicePlaces(std::vector<Pool>& pools);

  // Null: it is in none of these pools. Also the place of one that has been taken.
  const Place* find(const std::string& id) const;
  // Null: it has been taken.
  const PoolDevice* device(const Place& place) const;
  // What the node says of a device that has not been taken yet; it leaves its pool.
  DeviceFacts take(const Place& place);
  // From here on no place is valid.
  void remove_taken();

 private:
  std::unordered_map<std::string, Place> places_;
  std::map<Pool*, std::set<size_t>> taken_;
};

}  // namespace vfrail::plugin
