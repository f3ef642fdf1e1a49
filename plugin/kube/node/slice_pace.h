// SlicePace: when a slice of this node may be replaced again, so that a port that flaps does not become a
// storm of writes. Pure: the time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>

namespace vfrail::kube {

class SlicePace {
 public:
  using Steady = std::chrono::steady_clock;

  // Between two writes of a slice; of slices that are replaced together, for each of them.
  static constexpr std::chrono::seconds kGap{1};
  // So many replacements come as fast as that: a node that starts, is drained or loses a cable. In the long
  // run there is one every ten seconds, because each is a whole slice for etcd, the scheduler and the
  // controller manager.
  static constexpr int kBurst = 10;
  static constexpr std::chrono::seconds kLongRun{10};

  // When the slice with that index in the pool may be created again after its last write.
  Steady::time_point create_due(size_t index) const;
  // When it may be replaced, as one of so many.
  Steady::time_point replace_due(size_t index, size_t replaced) const;
  // A write is tried, whether it works or not.
  void created(size_t index, Steady::time_point now) { slices_[index].tried = now; }
  void replaced(size_t index, Steady::time_point now);

 private:
  struct Slice {
    Steady::time_point tried{};
    // If its replacements were kLongRun apart, the next would be then.
    Steady::time_point regular{};
  };
  std::map<size_t, Slice> slices_;
};

}  // namespace vfrail::kube
