// ReturnWait: prepare() again while a device returns from the pod before. A pod that is deleted by force is
// gone for kubelet at once, and its device on the way to the host for another second or more; a pod that is
// refused meanwhile stays failed. Blocks no thread: the front end brings the timer. Knows neither gRPC nor
// what is prepared.
#pragma once

#include "common/container/container_edits.h"
#include "common/result.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace vfrail::plugin {

// How long the calls of one resource wait. Kubelet admits no other pod meanwhile, so after a wait in vain
// none waits for a minute.
class ReturnPatience {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // 0: none waits.
  explicit ReturnPatience(std::chrono::milliseconds most) : most_(most) {}

  // When a call that begins now has waited long enough. No value: it does not wait.
  std::optional<Time> end(Time now) const;
  void waited_in_vain(Time now);

 private:
  const std::chrono::milliseconds most_;
  std::atomic<Time::rep> none_before_{Time::min().time_since_epoch().count()};
};

class ReturnWait {
 public:
  using Prepared = Result<std::vector<ContainerEdits>>;

  // What the front end brings. Each is called on the thread of begin() or on the timer's.
  struct FrontEnd {
    std::function<Prepared()> prepare;
    std::function<bool()> is_cancelled;
    // Calls `then` once, after that time.
    std::function<void(std::chrono::milliseconds, std::function<void()> then)> after;
    std::function<void()> on_wait;       // before the first wait
    std::function<void(Prepared)> done;  // once, last; it may destroy this
  };

  // `patience` outlives this.
  ReturnWait(ReturnPatience& patience, FrontEnd front_end);

  // Tries at once, and again while the result is Errc::not_yet and there is patience. The first try is never
  // the last if there is any.
  void begin() { attempt(); }

 private:
  void attempt();

  ReturnPatience& patience_;
  const FrontEnd front_end_;
  const std::optional<ReturnPatience::Time> end_;
  bool waited_ = false;
};

}  // namespace vfrail::plugin
