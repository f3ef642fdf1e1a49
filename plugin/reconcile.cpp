#include "plugin/reconcile.h"

#include "common/ids.h"
#include "common/text.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail {

namespace {

// Which pool has the device now; empty: none.
std::string find_owner(const Pools& pools, const std::string& id) {
  for (const Pool& pool : pools.pools) {
    if (!shares(pool.config) && pool.find(id) != nullptr) return pool.resource();
  }
  return "";
}

std::string say_why(const Pools& pools, const std::string& id) {
  if (const std::string owner = find_owner(pools, id); !owner.empty())
    return owner + " has it by the configuration of now";
  for (const LeftOut& left : pools.left_out) {
    if (left.id == id) return joined(left.reasons, "; ");
  }
  return "it has vanished from the node";
}

PoolDevice missing_device(const std::string& id, std::string fault) {
  PoolDevice out;
  if (const auto address = PciAddress::parse(id)) {
    out.facts.address = *address;
  } else {
    out.facts.kind = FunctionKind::sub_function;
    out.facts.aux_name = id;
  }
  out.fault = std::move(fault);
  return out;
}

}  // namespace

void keep_in_use(Pools& pools, const DevicesInUse& in_use) {
  std::vector<std::vector<PoolDevice>> kept(pools.pools.size());
  for (size_t i = 0; i < pools.pools.size(); ++i) {
    const Pool& pool = pools.pools[i];
    const auto used = in_use.resources.find(pool.resource());
    if (pool.config.unit != UnitKind::device || used == in_use.resources.end()) continue;
    for (const auto& [id, container] : used->second) {
      const bool known = pool.find(id) != nullptr || !DeviceId::parse(id);
      if (!known) kept[i].push_back(missing_device(id, say_why(pools, id)));
    }
  }
  for (size_t i = 0; i < kept.size(); ++i) {
    auto& devices = pools.pools[i].devices;
    for (PoolDevice& device : kept[i]) devices.push_back(std::move(device));
    if (kept[i].empty()) continue;
    std::stable_sort(devices.begin(), devices.end(), [](const PoolDevice& a, const PoolDevice& b) {
      return a.facts.address < b.facts.address;
    });
  }
}

std::map<std::string, std::string> find_left_behind(const std::vector<std::shared_ptr<const Pool>>& pools,
                                                    const DevicesInUse& in_use,
                                                    const std::vector<std::string>& recorded) {
  std::set<std::string> used;
  for (const auto& [resource, devices] : in_use.resources) {
    for (const auto& [id, container] : devices) used.insert(id);
  }
  const std::set<std::string> with_record(recorded.begin(), recorded.end());
  std::map<std::string, std::string> out;
  for (const auto& pool : pools) {
    if (pool->config.unit != UnitKind::device) continue;
    for (const PoolDevice& device : pool->devices) {
      const std::string id = device.id();
      if (used.contains(id)) continue;
      if (with_record.contains(id)) out[id] = "has the record of an attachment";
      if (device.facts.away()) out[id] = "is in another network namespace";
    }
  }
  return out;
}

}  // namespace vfrail
