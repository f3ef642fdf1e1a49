#include "plugin/device/inventory/changed.h"

#include "plugin/device/inventory/inventory.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

// Adds the devices that have one of the names; false if one of the names is nobody's.
template <class NamesOf>
bool add_by(const std::set<std::string>& names, const Inventory& inventory, NamesOf names_of,
            std::set<DeviceId>& out) {
  if (names.empty()) return true;
  std::set<std::string> found;
  for (const DeviceFacts& function : inventory.functions) {
    for (const std::string& name : names_of(function)) {
      if (!names.contains(name)) continue;
      found.insert(name);
      out.insert(function.id);
    }
  }
  return found.size() == names.size();
}

}  // namespace

void Changed::add(const Changed& more) {
  devices.insert(more.devices.begin(), more.devices.end());
  interfaces.insert(more.interfaces.begin(), more.interfaces.end());
  rdma_devices.insert(more.rdma_devices.begin(), more.rdma_devices.end());
  iommu_groups.insert(more.iommu_groups.begin(), more.iommu_groups.end());
  const size_t names = devices.size() + interfaces.size() + rdma_devices.size() + iommu_groups.size();
  if (everything || more.everything || names > kMostNames) *this = all();
}

std::optional<std::set<DeviceId>> find_devices(const Changed& changed, const Inventory& inventory) {
  if (changed.everything) return std::nullopt;
  std::set<DeviceId> out;
  for (const std::string& name : changed.devices) {
    auto id = DeviceId::parse(name);
    if (!id) return std::nullopt;
    out.insert(*std::move(id));
  }
  const auto interfaces = [](const DeviceFacts& function) { return function.netdev_names(); };
  const auto rdma = [](const DeviceFacts& function) { return function.rdma_names(); };
  const auto group = [](const DeviceFacts& function) {
    return std::vector<std::string>{function.iommu_group};
  };
  const bool known = add_by(changed.interfaces, inventory, interfaces, out) &&
                     add_by(changed.rdma_devices, inventory, rdma, out) &&
                     add_by(changed.iommu_groups, inventory, group, out);
  return known ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace vfrail::plugin
