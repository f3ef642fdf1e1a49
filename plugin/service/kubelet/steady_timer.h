// SteadyTimer: runs work after a time, on a thread of its own, by the clock that nobody sets. gRPC's timers
// are not enough: it waits for them by the time of day, and one that is due when that is set back comes as
// much later, or never. Decides nothing.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace vfrail::plugin {

class SteadyTimer {
 public:
  SteadyTimer() = default;
  SteadyTimer(const SteadyTimer&) = delete;
  SteadyTimer& operator=(const SteadyTimer&) = delete;
  // Waits for work that is under way, and drops what is not due.
  ~SteadyTimer();

  // Work must be short: what is due meanwhile waits for it. False, and it never runs: no thread can be had.
  bool after(std::chrono::milliseconds time, std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;  // from the first work on
};

}  // namespace vfrail::plugin
