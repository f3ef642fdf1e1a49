// SearchTime: how long the namespaces, processes and mounts of the node may be searched for what one device's
// pod has left in them. They belong to other pods, who can make any of them expensive to read, so what is
// limited is the time that is spent and not what is counted.
#pragma once

#include "cni/conf/net_conf.h"

#include <algorithm>
#include <chrono>

namespace vfrail::cni {

class SearchTime {
 public:
  using Clock = std::chrono::steady_clock;
  // For the next device. `limit` is SafetyConf::search_timeout.
  void renew(std::chrono::milliseconds limit) { left_ = limit; }

  // While a search runs. What it takes is no longer there for the next search of the same device.
  class Run {
   public:
    explicit Run(SearchTime& time) : time_(time), begin_(Clock::now()), end_(begin_ + time.left_) {}
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run() { time_.left_ = std::max(Clock::duration::zero(), time_.left_ - (Clock::now() - begin_)); }
    bool over() const { return Clock::now() >= end_; }

   private:
    SearchTime& time_;
    Clock::time_point begin_;
    Clock::time_point end_;
  };

 private:
  Clock::duration left_ = kUsualSearchTimeout;
};

}  // namespace vfrail::cni
