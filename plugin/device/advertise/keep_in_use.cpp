#include "plugin/device/advertise/keep_in_use.h"

#include "common/ids.h"
#include "common/text.h"
#include "plugin/device/advertise/device_places.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace vfrail::plugin {

namespace {

// Where each device of the node is now, built once.
struct Whereabouts {
  explicit Whereabouts(Pools& pools) : places(pools.pools) {
    for (const LeftOut& left : pools.left_out) left_out.emplace(left.id, &left);
  }

  Fault find_why_not_in_pool(const std::string& id) const {
    if (const auto* place = places.find(id))
      return {FaultCode::not_selected,
              place->pool->resource() + " selects it since the configuration has changed"};
    if (const auto left = left_out.find(id); left != left_out.end())
      return {FaultCode::not_selected, joined(texts_of(left->second->reasons), "; ")};
    return {FaultCode::gone, "it has vanished from the node"};
  }

  DevicePlaces places;
  std::unordered_map<std::string, const LeftOut*> left_out;
};

PoolDevice missing_device(const std::string& id, Fault fault) {
  PoolDevice out;
  out.facts.id = DeviceId::parse(id).value_or(DeviceId());
  if (const auto address = PciAddress::parse(id))
    out.facts.address = *address;
  else
    out.facts.kind = FunctionKind::sub_function;
  out.fault = std::move(fault);
  return out;
}

// The device of `id` out of the pool that selectors put it into, for the resource whose container has it. No
// value if what the container has of it cannot be the reason for that.
std::optional<PoolDevice> reclaim(const std::string& id, const ResourceConfig& resource, DevicePlaces& places,
                                  const DevicesInUse& in_use) {
  const auto* place = places.find(id);
  if (place == nullptr || in_use.find(place->pool->resource(), id) != nullptr) return std::nullopt;
  const PoolDevice* device = places.device(*place);
  if (device == nullptr || !device->facts.partly_away()) return std::nullopt;
  return make_device(resource, resource.selectors.front(), places.take(*place));
}

bool is_configured(const std::vector<Pool>& pools, const std::string& resource) {
  return std::any_of(pools.begin(), pools.end(),
                     [&](const Pool& pool) { return pool.resource() == resource; });
}

// Why another resource does not offer a device that a container has: the configuration has given it to that
// resource since, or the one that the container has it of was renamed, is another plugin's, or is a claim.
Fault withheld(const std::vector<Pool>& pools, const std::string& resource) {
  if (is_claim(resource)) return {FaultCode::not_selected, "allocated to a container by " + resource};
  return {FaultCode::not_selected, "allocated to a container as " + resource +
                                       (is_configured(pools, resource) ? "" : ", which is not configured")};
}

void withhold_from_others(std::vector<Pool>& pools, const DevicesInUse& in_use) {
  std::unordered_map<std::string_view, std::string_view> used_as;  // id -> the resource
  for (const auto& [resource, devices] : in_use.resources) {
    for (const auto& [id, container] : devices) used_as.emplace(id, resource);
  }
  for (Pool& pool : pools) {
    if (shares(pool.config)) continue;  // no container has it for itself
    const std::string here = pool.resource();
    for (PoolDevice& device : pool.devices) {
      if (!device.fault.empty()) continue;
      const auto at = used_as.find(device.id());
      if (at == used_as.end() || in_use.find(here, device.id()) != nullptr) continue;
      device.fault = withheld(pools, std::string(at->second));
    }
  }
}

// Of resources that are not configured, the devices that could be in a pool.
std::set<std::pair<std::string, std::string>> used_elsewhere(const std::vector<PublishedPool>& pools,
                                                             const DevicesInUse* all) {
  std::set<std::pair<std::string, std::string>> out;
  if (all == nullptr) return out;
  for (const auto& [resource, devices] : all->resources) {
    const auto is_it = [&name = resource](const PublishedPool& one) { return one->resource() == name; };
    if (std::any_of(pools.begin(), pools.end(), is_it)) continue;
    for (const auto& [id, container] : devices) {
      if (PciAddress::parse(id)) out.emplace(resource, id);
    }
  }
  return out;
}

}  // namespace

void keep_in_use(Pools& pools, const DevicesInUse& in_use) {
  std::vector<std::vector<PoolDevice>> kept(pools.pools.size());
  std::optional<Whereabouts> whereabouts;  // mostly nothing is missing
  for (size_t i = 0; i < pools.pools.size(); ++i) {
    const Pool& pool = pools.pools[i];
    const auto used = in_use.resources.find(pool.resource());
    if (pool.config.unit != UnitKind::device || used == in_use.resources.end()) continue;
    const DevicesById by_id = index(pool);
    for (const auto& [id, container] : used->second) {
      // An id in another notation was not advertised by vfrail, and would be a second entry of the same
      // device.
      const auto parsed = DeviceId::parse(id);
      if (by_id.contains(id) || !parsed || parsed->text() != id) continue;
      if (!whereabouts) whereabouts.emplace(pools);
      if (auto device = reclaim(id, pool.config, whereabouts->places, in_use))
        kept[i].push_back(*std::move(device));
      else
        kept[i].push_back(missing_device(id, whereabouts->find_why_not_in_pool(id)));
    }
  }
  if (whereabouts) whereabouts->places.remove_taken();
  withhold_from_others(pools.pools, in_use);
  for (size_t i = 0; i < kept.size(); ++i) {
    auto& devices = pools.pools[i].devices;
    for (PoolDevice& device : kept[i]) devices.push_back(std::move(device));
    if (kept[i].empty()) continue;
    std::stable_sort(devices.begin(), devices.end(), [](const PoolDevice& a, const PoolDevice& b) {
      return a.facts.address < b.facts.address;
    });
  }
}

bool waits_for_containers(const std::vector<PublishedPool>& pools) {
  const auto waits = [](const PoolDevice& device) { return device.fault.is_by_container(); };
  return std::any_of(pools.begin(), pools.end(), [&](const PublishedPool& pool) {
    return std::any_of(pool->devices.begin(), pool->devices.end(), waits);
  });
}

bool use_changed(const std::vector<PublishedPool>& pools, const DevicesInUse* before,
                 const DevicesInUse& now) {
  const DevicesInUse::Devices none;
  const auto of = [&](const DevicesInUse* all, const std::string& resource) -> const DevicesInUse::Devices& {
    if (all == nullptr) return none;
    const auto at = all->resources.find(resource);
    return at == all->resources.end() ? none : at->second;
  };
  const bool ours = std::any_of(pools.begin(), pools.end(), [&](const PublishedPool& one) {
    return of(before, one->resource()) != of(&now, one->resource());
  });
  return ours || used_elsewhere(pools, before) != used_elsewhere(pools, &now);
}

}  // namespace vfrail::plugin
