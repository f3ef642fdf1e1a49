// Backoff: how long to wait before the next try: 0.8 s doubled up to 30 s, of which a random part (full
// jitter), and from the start again after two minutes without a failure: client-go's. Pure but for its random
// numbers.
#pragma once

#include "common/result.h"

#include <chrono>
#include <random>

namespace vfrail::kube {

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  // The pause after a failure at `now`; never less than what the server asked for (Retry-After).
  std::chrono::milliseconds after_failure(Clock::time_point now, std::chrono::milliseconds asked = {});

 private:
  std::chrono::milliseconds next_{kFirst};
  Clock::time_point last_{};
  std::minstd_rand random_{std::random_device{}()};

  static constexpr std::chrono::milliseconds kFirst{800};
  static constexpr std::chrono::milliseconds kMost{30'000};
  static constexpr std::chrono::minutes kForget{2};
};

}  // namespace vfrail::kube
