#include "plugin/device/match/units.h"

#include "common/container/allocated_unit.h"
#include "common/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

void set_numa_nodes(const Pool& pool, Unit& unit) {
  if (pool.config.exclude_topology) return;
  std::vector<int>& nodes = unit.numa_nodes;
  for (const PoolDevice* device : unit.devices) {
    if (device->facts.numa_node) nodes.push_back(*device->facts.numa_node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

std::vector<Unit> each_device(const Pool& pool) {
  std::vector<Unit> out;
  for (const PoolDevice& device : pool.devices)
    out.push_back({device.id(), {&device}, {}, device.fault.text, {}});
  return out;
}

std::vector<Unit> all_devices(const Pool& pool) {
  Unit unit;
  bool any_healthy = false;
  for (const PoolDevice& device : pool.devices) {
    unit.devices.push_back(&device);  // also without a link: its nodes are needed when the link comes back
    any_healthy = any_healthy || device.fault.empty();
  }
  if (!any_healthy) unit.fault = pool.devices.front().id() + ": " + pool.devices.front().fault.text;
  std::vector<Unit> out;
  for (uint32_t i = 0; i < pool.config.units; ++i) {
    out.push_back(unit);
    out.back().id = std::to_string(i);
  }
  return out;
}

std::vector<Unit> one_device(const Pool& pool) {
  std::vector<Unit> out;
  for (uint32_t i = 0; i < pool.config.units; ++i) {
    const PoolDevice& device = pool.devices[i % pool.devices.size()];
    out.push_back({std::to_string(i), {&device}, {}, device.fault.text, {}});
  }
  return out;
}

// "rail 0000:07:00.0 has", "rails 0000:05:00.0 0000:07:00.0 have".
std::string rails_have(const std::vector<PciAddress>& rails) {
  std::vector<std::string> names;
  for (const PciAddress& rail : rails) names.push_back(rail.text());
  return (rails.size() == 1 ? "rail " : "rails ") + first_few(names) + (rails.size() == 1 ? " has" : " have");
}

std::vector<Unit> rail_sets(const Pool& pool) {
  using Rail = std::map<int, const PoolDevice*>;  // by VF index; a PF without VFs counts as 0
  std::map<PciAddress, Rail> rails;
  std::set<int> indexes;
  for (const PoolDevice& device : pool.devices) {
    const int index = std::max(device.facts.vf_index, 0);
    rails[device.facts.pf.value_or(device.facts.address)].emplace(index, &device);
    indexes.insert(index);
  }
  std::vector<Unit> out;
  for (const int index : indexes) {
    Unit unit;
    unit.id = std::string(kBundlePrefix) + std::to_string(index);
    for (const auto& [pf, rail] : rails) {
      const auto member = rail.find(index);
      if (member == rail.end()) {
        unit.missing_rails.push_back(pf);
        continue;
      }
      unit.devices.push_back(member->second);
      if (unit.fault.empty() && !member->second->fault.empty())
        unit.fault = member->second->id() + ": " + member->second->fault.text;
    }
    if (!unit.missing_rails.empty())
      unit.fault = rails_have(unit.missing_rails) + " no VF " + std::to_string(index) + " in this pool";
    out.push_back(std::move(unit));
  }
  return out;
}

std::vector<Unit> make(const Pool& pool) {
  if (pool.devices.empty()) return {};
  switch (pool.config.unit) {
    case UnitKind::device:
      break;
    case UnitKind::shared:
      return all_devices(pool);
    case UnitKind::shared_one:
      return one_device(pool);
    case UnitKind::bundle:
      return rail_sets(pool);
  }
  return each_device(pool);
}

}  // namespace

std::vector<Unit> make_units(const Pool& pool) {
  std::vector<Unit> out = make(pool);
  for (Unit& unit : out) set_numa_nodes(pool, unit);
  return out;
}

size_t count_healthy(const std::vector<Unit>& units) {
  return static_cast<size_t>(
      std::count_if(units.begin(), units.end(), [](const Unit& unit) { return unit.fault.empty(); }));
}

std::vector<Warning> find_incomplete(const Pool& pool, const std::vector<Unit>& units) {
  std::map<std::vector<PciAddress>, std::vector<std::string>> by_rails;
  for (const Unit& unit : units) {
    if (!unit.missing_rails.empty()) by_rails[unit.missing_rails].push_back(unit.id);
  }
  std::vector<Warning> out;
  for (const auto& [rails, ids] : by_rails)
    out.push_back({pool.resource() + ": " + first_few(ids) + (ids.size() == 1 ? " is" : " are") +
                       " incomplete: " + rails_have(rails) + " no VF of that index in this pool",
                   ErrorId::bundle_incomplete, pool.resource(), first_few(ids)});
  return out;
}

}  // namespace vfrail::plugin
