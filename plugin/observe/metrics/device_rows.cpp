#include "plugin/observe/metrics/device_rows.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

using Owners = std::map<std::string, const PodContainer*>;

// By device. A unit may be several devices; a shared device has many owners, so none is named.
Owners find_owners(const PublishedPool& pool, const DevicesInUse& in_use) {
  Owners out;
  if (shares(pool->config)) return out;
  for (const Unit& unit : pool.units()) {
    const PodContainer* by = in_use.find(pool->resource(), unit.id);
    if (by == nullptr) continue;
    for (const PoolDevice* device : unit.devices) out.emplace(device->id(), by);
  }
  return out;
}

}  // namespace

std::vector<DeviceRow> list_device_rows(const std::vector<PublishedPool>& pools, const DevicesInUse* in_use) {
  static const PodContainer kNobody;
  std::vector<DeviceRow> out;
  std::set<std::string> seen;
  for (const PublishedPool& pool : pools) {
    const std::string resource = pool->resource();
    const Owners owners = in_use != nullptr ? find_owners(pool, *in_use) : Owners();
    for (const PoolDevice& device : pool->devices) {
      if (!seen.insert(device.id()).second) continue;
      const auto by = owners.find(device.id());
      out.push_back({&device, resource, by == owners.end() ? &kNobody : by->second});
    }
  }
  std::stable_partition(out.begin(), out.end(), [](const DeviceRow& row) { return !row.by->pod.empty(); });
  return out;
}

}  // namespace vfrail::plugin
