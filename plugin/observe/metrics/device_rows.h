// DeviceRow: a device of a pool and who has it, in the order in which an answer of limited size shows them.
// Pure.
#pragma once

#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct DeviceRow {
  const PoolDevice* device;
  std::string resource;
  const PodContainer* by;  // empty fields: nobody
};

// Every device once, under the first resource that has it; those in use first. Points into both arguments.
// Null: who has what is not known.
std::vector<DeviceRow> list_device_rows(const std::vector<PublishedPool>& pools, const DevicesInUse* in_use);

}  // namespace vfrail::plugin
