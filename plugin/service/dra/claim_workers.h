// ClaimWorkers: threads that work on claims, so that the threads of gRPC never wait for the API server. What
// is about one claim is done one after the other, in order. Work that cannot begin yet waits without a
// thread. Knows nothing of claims.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace vfrail::plugin {

class ClaimWorkers {
 public:
  // Of all pods that a node can start at once the API server answers for a few at a time.
  static constexpr size_t kThreads = 4;
  // More than kubelet has pods; what is more than that is refused, and kubelet asks again.
  static constexpr size_t kMostWaiting = 1024;

  enum class Turn : uint8_t {
    now,
    never,  // the program ends
  };
  // Called once, on one of the threads or in stop().
  using Work = std::function<void(Turn)>;
  using Time = std::chrono::steady_clock::time_point;
  // What work waits for before its turn comes.
  struct Wait {
    std::function<bool()> is_over = {};  // called on any thread, and soon answered; empty: nothing
    Time until = {};                     // then its turn comes anyway
  };

  ClaimWorkers() = default;
  ClaimWorkers(const ClaimWorkers&) = delete;
  ClaimWorkers& operator=(const ClaimWorkers&) = delete;
  ~ClaimWorkers() { stop(); }

  // False, and it is never called: too much is waiting, no thread can be had, or the program ends.
  bool put(const std::string& claim, Work work, Wait wait);
  bool put(const std::string& claim, Work work) { return put(claim, std::move(work), Wait()); }
  // What is waited for may have come.
  void check_waits();
  // Waits for what is under way. What is waiting gets Turn::never.
  void stop();

 private:
  struct Job {
    std::string claim;
    Work work;
    Wait wait;
  };

  bool start_thread();
  void run();
  struct Next {
    std::deque<Job>::iterator job;
    std::optional<Time> turn = {};  // if there is no job: when the first of those that wait has its turn
  };
  Next next_job();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::set<std::string> under_way_;
  std::vector<std::thread> threads_;  // from the first work on
  bool ends_ = false;
};

}  // namespace vfrail::plugin
