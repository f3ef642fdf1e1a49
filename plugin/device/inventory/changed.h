// Changed: what may have changed on the node since it was last read, as events name it, and which devices of
// an inventory that is. Pure.
#pragma once

#include "common/ids.h"

#include <cstddef>
#include <optional>
#include <set>
#include <string>

namespace vfrail::plugin {

struct Inventory;

struct Changed {
  // More than so many names are everything: reading the node then costs no more, and a storm of events keeps
  // no list that grows.
  static constexpr size_t kMostNames = 256;

  bool everything = false;                  // the names do not matter then
  std::set<std::string> devices = {};       // "0000:03:00.2", "mlx5_core.sf.4"
  std::set<std::string> interfaces = {};    // "ens1f0"
  std::set<std::string> rdma_devices = {};  // "mlx5_0"
  std::set<std::string> iommu_groups = {};  // "42"

  static Changed all() { return {.everything = true}; }
  void add(const Changed& more);
  bool operator==(const Changed&) const = default;
};

// The devices that are to be read again; no value: all, because a name is not known to the inventory. A PCI
// function that is not in it may be a new one, and is among them.
std::optional<std::set<DeviceId>> find_devices(const Changed& changed, const Inventory& inventory);

}  // namespace vfrail::plugin
