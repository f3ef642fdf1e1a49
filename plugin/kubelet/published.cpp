#include "plugin/kubelet/published.h"

#include "plugin/match/units.h"

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
  const auto old_units = make_units(before);
  const auto new_units = make_units(after);
  return std::equal(old_units.begin(), old_units.end(), new_units.begin(), new_units.end(),
                    [](const Unit& a, const Unit& b) {
                      return a.id == b.id && a.numa_nodes == b.numa_nodes &&
                             a.fault.empty() == b.fault.empty();
                    });
}

}  // namespace vfrail
