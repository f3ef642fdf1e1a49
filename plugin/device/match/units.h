// Units: what kubelet counts and a pod requests. In most pools a unit is a device; a shared pool has as many
// as its configuration says, a bundle pool one for each VF index. Pure.
#pragma once

#include "common/errors/warning.h"
#include "plugin/device/match/pools.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct Unit {
  std::string id;                          // "0000:03:02.1", "17" (shared), "bundle-3"
  std::vector<const PoolDevice*> devices;  // of the pool: what a container gets for it
  std::vector<int> numa_nodes;             // in order; empty if kubelet is not to get them
  std::string fault;                       // why it is unhealthy; empty if it is healthy
  std::vector<PciAddress> missing_rails;   // of a bundle: the PFs that have no VF of its index in the pool
};

// The units of a pool, which has to outlive them. A shared pool without a device has none.
//
// shared: each unit stands for all devices, healthy while one of them is. shared_one: unit i stands for
// device i modulo their number, so that it is known without any memory which devices are in use. bundle: unit
// k stands for VF k of every PF that the pool has; without one of them, or with an unhealthy one, it is
// unhealthy.
std::vector<Unit> make_units(const Pool& pool);

size_t count_healthy(const std::vector<Unit>& units);

// A sentence for all bundles that lack the same devices: no device says that they are unhealthy.
std::vector<Warning> find_incomplete(const Pool& pool, const std::vector<Unit>& units);

}  // namespace vfrail::plugin
