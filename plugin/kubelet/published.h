// Published: the pool of one resource as the gRPC threads may see it, an immutable snapshot with a
// generation. The owner thread publishes, any thread reads. Wakes nobody: that is what ListStreams is for.
#pragma once

#include "plugin/match/pools.h"

#include <cstdint>
#include <memory>
#include <mutex>

namespace vfrail {

class Published {
 public:
  struct Snapshot {
    uint64_t generation = 0;  // counts the lists that differ for kubelet
    std::shared_ptr<const Pool> pool;
  };

  explicit Published(Pool first);

  Snapshot get() const;
  // Replaces the pool. True if kubelet needs a new list: the generation went up.
  bool publish(Pool next);

 private:
  mutable std::mutex mutex_;
  Snapshot now_;
};

// Whether ListAndWatch says the same for both: ids, NUMA nodes and health of the units. Everything else is
// read anew at Allocate.
bool same_list(const Pool& before, const Pool& after);

}  // namespace vfrail
