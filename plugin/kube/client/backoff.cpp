#include "plugin/kube/client/backoff.h"

#include <algorithm>

namespace vfrail::kube {

std::chrono::milliseconds Backoff::after_failure(Clock::time_point now, std::chrono::milliseconds asked) {
  if (now - last_ > kForget) next_ = kFirst;
  last_ = now;
  std::uniform_int_distribution<int64_t> part(0, next_.count());
  const std::chrono::milliseconds out{part(random_)};
  next_ = std::min(next_ * 2, kMost);
  return std::max(out, asked);
}

}  // namespace vfrail::kube
