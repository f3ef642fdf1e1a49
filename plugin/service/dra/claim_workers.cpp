#include "plugin/service/dra/claim_workers.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace vfrail::plugin {

bool ClaimWorkers::put(const std::string& claim, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || waiting_.size() >= kMostWaiting || !start_thread()) return false;
    waiting_.push_back({claim, std::move(work)});
  }
  changed_.notify_one();
  return true;
}

// One more for each work until there are all of them.
bool ClaimWorkers::start_thread() {
  if (threads_.size() == kThreads) return true;
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    return !threads_.empty();
  }
  return true;
}

void ClaimWorkers::stop() {
  std::deque<Job> dropped;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    dropped.swap(waiting_);
  }
  changed_.notify_all();
  for (const Job& job : dropped) job.work(Turn::never);
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::deque<ClaimWorkers::Job>::iterator ClaimWorkers::next_job() {
  return std::find_if(waiting_.begin(), waiting_.end(),
                      [&](const Job& job) { return !under_way_.contains(job.claim); });
}

void ClaimWorkers::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const auto next = next_job();
    if (next == waiting_.end()) {
      changed_.wait(lock);
      continue;
    }
    Job job = std::move(*next);
    waiting_.erase(next);
    under_way_.insert(job.claim);
    lock.unlock();
    job.work(Turn::now);
    job.work = nullptr;
    lock.lock();
    under_way_.erase(job.claim);
    // Others of this claim may have waited for that.
    changed_.notify_all();
  }
}

}  // namespace vfrail::plugin
