// DeviceTree: the devices to choose from, by where they are plugged in, from the whole node down to the PFs,
// counted. Pure; knows no policy.
#pragma once

#include "plugin/device/inventory/inventory.h"
#include "plugin/device/prefer/distance.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

enum class Level : uint8_t { whole, numa_node, host_bridge, root_port, pcie_switch, card, pf };

// The distance of two functions that meet at this level, and at none below.
Distance meet_at(Level level);

struct Group {
  Level level = Level::whole;
  size_t free = 0;   // members here that may be chosen, `must` among them
  size_t must = 0;   // that have to be chosen
  size_t taken = 0;  // that may not: mostly because pods have them
  size_t gpus = 0;
  size_t rail = 0;                // of a PF: its number in the order of the PFs' addresses
  std::vector<size_t> children;   // indexes of groups, in the order of their first members
  std::vector<size_t> available;  // of a PF: indexes of members, `must` first
};

struct DeviceTree {
  std::vector<Group> groups;  // [0] is the whole node; each stands behind its parent
};

// Each member is a device, by the facts of its function; the same function can be several members (units of a
// shared device). `available` and `must` are indexes of members, `must` a part of `available`.
struct TreeInput {
  std::vector<const DeviceFacts*> members;
  std::vector<Gpu> gpus;
  std::set<size_t> available;
  std::set<size_t> must;
};
DeviceTree build_tree(const TreeInput& input);

}  // namespace vfrail::plugin
