// Published: the pool of one resource as the gRPC threads may see it, an immutable snapshot with a
// generation. The owner thread publishes, any thread reads. Wakes nobody, which ListStreams does.
#pragma once

#include "plugin/device/match/published_pool.h"

#include <cstdint>
#include <mutex>

namespace vfrail::plugin {

class Published {
 public:
  struct Snapshot {
    uint64_t generation = 0;  // counts the lists that differ for kubelet
    PublishedPool pool;
  };

  explicit Published(PublishedPool first);

  Snapshot get() const;
  // Replaces the pool. True if kubelet needs a new list: the generation went up.
  bool publish(PublishedPool next);

 private:
  mutable std::mutex mutex_;
  Snapshot now_;
};

// Whether ListAndWatch sends the same for both: ids, NUMA nodes and health of the units. Everything else is
// read again at Allocate.
bool same_list(const PublishedPool& before, const PublishedPool& after);

}  // namespace vfrail::plugin
