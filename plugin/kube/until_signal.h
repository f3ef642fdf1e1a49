// UntilSignal: a request to stop that SIGTERM or SIGINT makes. While it exists these signals do nothing else.
#pragma once

#include <condition_variable>
#include <csignal>
#include <ctime>
#include <mutex>
#include <stop_token>
#include <thread>

namespace vfrail::kube {

class UntilSignal {
 public:
  // Before other threads are started, which inherit that they leave the signals to this one.
  UntilSignal() {
    ::sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);  // a connection that the server has ended
    thread_ = std::jthread([this](const std::stop_token& over) { wait(over); });
  }
  UntilSignal(const UntilSignal&) = delete;
  UntilSignal& operator=(const UntilSignal&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  void wait() const {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait(lock, token(), [] { return false; });
  }

 private:
  void wait(const std::stop_token& over) {
    const timespec turn{0, 200'000'000};
    while (!over.stop_requested()) {
      if (::sigtimedwait(&signals_, nullptr, &turn) > 0) stop_.request_stop();
    }
  }

  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace vfrail::kube
