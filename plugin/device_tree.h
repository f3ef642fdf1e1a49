// DeviceTree: a pool's devices by where they are plugged in, from the whole node down to the PFs, counted.
// Pure; knows no policy.
#pragma once

#include "plugin/distance.h"
#include "plugin/pools.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace vfrail {

enum class Level : uint8_t { whole, numa_node, host_bridge, root_port, pcie_switch, card, pf };

// How far two functions are apart that meet at this level, and at none below.
Distance meet_at(Level level);

struct Group {
  Level level = Level::whole;
  size_t free = 0;   // devices here that may be chosen, `must` among them
  size_t must = 0;   // that have to be chosen
  size_t taken = 0;  // that may not: pods have them, mostly
  size_t gpus = 0;
  size_t rail = 0;                // of a PF: its number in the order of the PFs' addresses
  std::vector<size_t> children;   // indexes of groups, in the order of their first devices
  std::vector<size_t> available;  // of a PF: indexes into the pool's devices, `must` first
};

struct DeviceTree {
  std::vector<Group> groups;  // [0] is the whole node; each stands behind its parent
};

// `available` and `must` are indexes into the pool's devices, `must` a part of `available`.
DeviceTree build_tree(const Pool& pool, const std::set<size_t>& available, const std::set<size_t>& must);

}  // namespace vfrail
