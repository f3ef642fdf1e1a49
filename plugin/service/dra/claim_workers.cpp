#include "plugin/service/dra/claim_workers.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

namespace vfrail::plugin {

bool ClaimWorkers::put(const std::string& claim, Work work, Wait wait) {
  {
    const std::lock_guard lock(mutex_);
    if (ends_ || waiting_.size() >= kMostWaiting || !start_thread()) return false;
    waiting_.push_back({claim, std::move(work), std::move(wait)});
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

void ClaimWorkers::check_waits() {
  // A thread that has just found that it is not over waits by now.
  { const std::lock_guard lock(mutex_); }
  changed_.notify_all();
}

ClaimWorkers::Next ClaimWorkers::next_job() {
  const Time now = std::chrono::steady_clock::now();
  std::set<std::string_view> held_up;  // claims with a job that waits, behind which later ones stay
  Next out;
  out.job = std::find_if(waiting_.begin(), waiting_.end(), [&](const Job& job) {
    if (under_way_.contains(job.claim) || held_up.contains(job.claim)) return false;
    if (!job.wait.is_over || now >= job.wait.until || job.wait.is_over()) return true;
    held_up.insert(job.claim);
    out.turn = std::min(out.turn.value_or(Time::max()), job.wait.until);
    return false;
  });
  return out;
}

void ClaimWorkers::run() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    const Next next = next_job();
    if (next.job == waiting_.end()) {
      if (next.turn) {
        changed_.wait_until(lock, *next.turn);
      } else {
        changed_.wait(lock);
      }
      continue;
    }
    Job job = std::move(*next.job);
    waiting_.erase(next.job);
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
