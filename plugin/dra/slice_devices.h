// SliceDevices: which devices of ResourceSlices a pool comes to, by name: each unit is one, but for a shared
// pool, whose units stand for the same devices: there it is one for what a pod gets, with as many shares as
// there are such units. Pure.
#pragma once

#include "plugin/device/match/published_pool.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

// A request may have each device once, so a container that asks for two shares needs two devices: with more
// than one lane the shares are spread over so many devices that stand for the same.
inline constexpr uint32_t kMaxLanes = 16;  // each is an entry of a slice, of which a node has few

struct SliceDevice {
  std::string name;            // "0000-3b-02-1", "rdma-hca-bundle-3", "rdma-hca-shared"
  const Unit* unit = nullptr;  // of the pool; of a shared one the first that stands for these devices
  uint32_t step = 0;    // of a shared pool: so does each step-th unit after it; 0: pods do not share it
  uint32_t shares = 0;  // of a shared pool: how many pods can have it
};

// In the order of the pool's units. The pool outlives them. `lanes` is 1 to kMaxLanes.
std::vector<SliceDevice> slice_devices(const PublishedPool& pool, uint32_t lanes);

}  // namespace vfrail::plugin
