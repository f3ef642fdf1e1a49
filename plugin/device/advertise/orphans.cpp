#include "plugin/device/advertise/orphans.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace vfrail::plugin {

namespace {

// Those that containers have, each by its own id. Not those of shared pools, which no container has for
// itself.
std::set<std::string> devices_of(const DevicesInUse& in_use, const std::vector<PublishedPool>& pools) {
  std::vector<PublishedPool> own;
  std::copy_if(pools.begin(), pools.end(), std::back_inserter(own),
               [](const PublishedPool& pool) { return !shares(pool->config); });
  std::set<std::string> out;
  for (const auto& [resource, devices] : with_devices_of_units(in_use, own).resources) {
    for (const auto& [id, container] : devices) out.insert(id);
  }
  return out;
}

}  // namespace

DevicesInUse with_devices_of_units(DevicesInUse in_use, const std::vector<PublishedPool>& pools) {
  for (const PublishedPool& pool : pools) {
    const auto used = in_use.resources.find(pool->resource());
    if (pool->config.unit == UnitKind::device || used == in_use.resources.end()) continue;
    const DevicesInUse::Devices units = used->second;
    for (const auto& [id, container] : units) {
      const Unit* unit = pool.find_unit(id);
      if (unit == nullptr) continue;
      for (const PoolDevice* device : unit->devices) used->second.emplace(device->id(), container);
    }
  }
  return in_use;
}

std::map<std::string, std::string> find_orphaned(const std::vector<PublishedPool>& pools,
                                                 const DevicesInUse& in_use,
                                                 const AttachedDevices& attached) {
  const std::set<std::string> used = devices_of(in_use, pools);
  std::map<std::string, std::string> out;
  for (const auto& pool : pools) {
    if (shares(pool->config)) continue;
    for (const PoolDevice& device : pool->devices) {
      const std::string id = device.id();
      if (used.contains(id)) continue;
      if (attached.contains(id)) out[id] = "has the record of an attachment";
      if (device.facts.away()) out[id] = "is in another network namespace";
    }
  }
  return out;
}

}  // namespace vfrail::plugin
