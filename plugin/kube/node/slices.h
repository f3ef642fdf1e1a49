// The ResourceSlices of one driver on one node: which have to be made, replaced and removed so that they have
// the devices that are to be published. Pure; writes nothing.
//
// The API server's rules (k8s.io/dynamic-resource-allocation, resourceslice): of a pool the newest generation
// counts, and while it has fewer slices than resourceSliceCount nothing is allocated from it. The scheduler
// takes slices by name and devices in their order.
#pragma once

#include "common/json.h"
#include "plugin/kube/client/object_watch.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfrail::kube {

// 128 are allowed, 64 if any device of the slice has a taint, which may come at any time.
inline constexpr size_t kDevicesOfSlice = 64;

struct PoolName {
  std::string driver;
  std::string node;  // and name of the pool
  std::string node_uid;
};

// What this process has written, so that a pool that was deleted comes back newer and no smaller.
struct SliceMemory {
  // Devices as they were sent, and as the API server has kept them: without the fields that it does not know,
  // and with quantities as it writes them.
  struct Kept {
    std::string sent;
    std::string stored;
  };
  size_t count = 0;
  int64_t generation = 0;
  std::map<size_t, Kept> kept = {};  // by index, where they differ
};

struct SliceChange {
  enum class Kind : uint8_t { create, replace, remove };
  Kind kind;
  size_t index;      // in the pool
  ObjectName slice;  // of create: none
  std::string uid;   // of remove
  Json object;       // of create and replace
};

// The slices of that driver on that node alone.
ObjectWatch::Objects own_slices(const ObjectWatch::Objects& slices, const PoolName& pool);
// In the order in which they are to be carried out. Nothing: all is as it should be. `existing` are
// own_slices().
std::vector<SliceChange> decide_slices(const PoolName& pool, const Json::Array& devices,
                                       const ObjectWatch::Objects& existing, const SliceMemory& memory);

// After a write: `sent` is what was sent, `stored` what came back.
void remember(SliceMemory& memory, size_t index, const Json& sent, const Json& stored);

}  // namespace vfrail::kube
