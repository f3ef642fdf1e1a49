#include "plugin/published.h"

#include <algorithm>
#include <utility>

namespace vfrail {

Published::Published(Pool first) : now_{1, std::make_shared<const Pool>(std::move(first))} {}

Published::Snapshot Published::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

bool Published::publish(Pool next) {
  auto pool = std::make_shared<const Pool>(std::move(next));
  const std::lock_guard lock(mutex_);
  const bool changed = !same_list(*now_.pool, *pool);
  now_.pool = std::move(pool);
  if (changed) ++now_.generation;
  return changed;
}

bool same_list(const Pool& before, const Pool& after) {
  return before.config.exclude_topology == after.config.exclude_topology &&
         std::equal(before.devices.begin(), before.devices.end(), after.devices.begin(), after.devices.end(),
                    [](const PoolDevice& a, const PoolDevice& b) {
                      return a.id() == b.id() && a.facts.numa_node == b.facts.numa_node &&
                             a.fault.empty() == b.fault.empty();
                    });
}

}  // namespace vfrail
