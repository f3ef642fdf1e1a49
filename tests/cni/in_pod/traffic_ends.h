// TrafficDevices whose ends complete every write at once, or fail where a test says, and the time that passes
// by their completions alone: a test is as quick as the machine, and no deadline depends on it.
#pragma once

#include "cni/in_pod/traffic/traffic_end.h"
#include "cni/in_pod/traffic/write_all.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>

namespace vfrail::test {
using namespace pod;

class FakeTime {
 public:
  TrafficClock clock() {
    return {[this] { return 0.05 * static_cast<double>(ticks_.load()); },
            [this] { return is_stopped_.load(); }};
  }
  void tick() { ++ticks_; }
  void stop() { is_stopped_ = true; }

 private:
  std::atomic<uint64_t> ticks_{0};
  std::atomic<bool> is_stopped_{false};
};

class FakeDevices : public TrafficDevices {
 public:
  explicit FakeDevices(FakeTime& time) : time_(time) {}

  // By the name of the rail: the call that fails.
  std::map<std::string, TrafficFailure> failures;
  // Rails whose writes never complete.
  std::string silent;
  unsigned opened = 0;
  unsigned open_now = 0;

  OpenedEnd open(const TrafficRail& rail, EndSize size) override;

 private:
  class End;
  FakeTime& time_;
};

}  // namespace vfrail::test
