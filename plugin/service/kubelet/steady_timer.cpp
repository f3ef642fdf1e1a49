#include "plugin/service/kubelet/steady_timer.h"

#include <system_error>
#include <utility>

namespace vfrail::plugin {

using std::chrono::steady_clock;

SteadyTimer::~SteadyTimer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool SteadyTimer::after(std::chrono::milliseconds time, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error&) {
        return false;
      }
    }
    waiting_.emplace(steady_clock::now() + time, std::move(work));
  }
  changed_.notify_one();
  return true;
}

void SteadyTimer::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto first = waiting_.begin();
    if (first->first > steady_clock::now()) {
      // A copy: `first` can be gone when it returns.
      const auto due = first->first;
      changed_.wait_until(lock, due);
      continue;
    }
    const auto work = std::move(first->second);
    waiting_.erase(first);
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace vfrail::plugin
