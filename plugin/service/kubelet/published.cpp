#include "plugin/service/kubelet/published.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

Published::Published(PublishedPool first) : now_{1, std::move(first)} {}

Published::Snapshot Published::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

bool Published::publish(PublishedPool next) {
  const std::lock_guard lock(mutex_);
  const bool changed = !same_list(now_.pool, next);
  std::swap(now_.pool, next);
  if (changed) ++now_.generation;
  return changed;
}

bool same_list(const PublishedPool& before, const PublishedPool& after) {
  const auto& old_units = before.units();
  const auto& new_units = after.units();
  return std::equal(old_units.begin(), old_units.end(), new_units.begin(), new_units.end(),
                    [](const Unit& a, const Unit& b) {
                      return a.id == b.id && a.numa_nodes == b.numa_nodes &&
                             a.fault.empty() == b.fault.empty();
                    });
}

}  // namespace vfrail::plugin
