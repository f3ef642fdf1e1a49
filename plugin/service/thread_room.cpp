#include "plugin/service/thread_room.h"

#include <grpc/support/cpu.h>
#include <latch>
#include <sched.h>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

// In the place of gRPC's own functions, in the shared libraries as well: the linker takes these first. With
// the machine's processors it would have 58 threads on 128, some of which wake up each second for nothing.
unsigned gpr_cpu_num_cores(void) { return vfrail::plugin::kGrpcProcessors; }
unsigned gpr_cpu_current_cpu(void) {
  const int cpu = ::sched_getcpu();
  return cpu < 0 ? 0 : static_cast<unsigned>(cpu) % vfrail::plugin::kGrpcProcessors;
}

namespace vfrail::plugin {

namespace {

// Of gRPC for each processor: one that waits for calls, two of the event engine, and two in each of two
// executors. Two of timers. Then the owner thread, HTTP, second tries of Allocate, and the parts of a scan.
constexpr unsigned kThreads = 7 * kGrpcProcessors + 2 + 8;

}  // namespace

Result<> check_thread_room() {
  std::latch all_asked(1);
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  Result<> out;
  try {
    while (threads.size() < kThreads) threads.emplace_back([&] { all_asked.wait(); });
  } catch (const std::system_error& failed) {
    out = Error::from_errno(failed.code().value(),
                            "start " + std::to_string(kThreads) + " threads, of which " +
                                std::to_string(threads.size()) +
                                " can be had; raise pids.max of the cgroup (podPidsLimit of kubelet, "
                                "--pids-limit), RLIMIT_NPROC, or the limits of memory");
  }
  all_asked.count_down();
  return out;
}

}  // namespace vfrail::plugin
