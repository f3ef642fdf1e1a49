#include "plugin/service/thread_room.h"

#include <algorithm>
#include <latch>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace vfrail::plugin {

namespace {

// Two of timers and two executors of gRPC; HTTP, second tries of Allocate and the parts of a scan.
constexpr unsigned kFixed = 8;

unsigned threads_needed() {
  const unsigned cores = std::thread::hardware_concurrency();
  // Reserve threads of the event engine's pool, and nexting threads of the callback API.
  return std::clamp(cores, 2U, 16U) + std::clamp(cores / 2, 2U, 16U) + kFixed;
}

}  // namespace

Result<> check_thread_room() {
  const unsigned needed = threads_needed();
  std::latch all_asked(1);
  std::vector<std::jthread> threads;
  threads.reserve(needed);
  Result<> out;
  try {
    while (threads.size() < needed) threads.emplace_back([&] { all_asked.wait(); });
  } catch (const std::system_error& failed) {
    out = Error::from_errno(failed.code().value(),
                            "start " + std::to_string(needed) + " threads, of which " +
                                std::to_string(threads.size()) +
                                " can be had; raise pids.max of the cgroup (podPidsLimit of kubelet, "
                                "--pids-limit), RLIMIT_NPROC, or the limits of memory");
  }
  all_asked.count_down();
  return out;
}

}  // namespace vfrail::plugin
