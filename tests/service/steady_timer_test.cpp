#include "plugin/service/kubelet/steady_timer.h"

#include "tests/service/support.h"

#include <atomic>
#include <mutex>
#include <string>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

using std::chrono::milliseconds;

TEST_CASE("work runs in the order in which it is due, also work that work has ordered") {
  std::mutex mutex;
  std::string order;
  const auto note = [&](char name) {
    const std::lock_guard lock(mutex);
    order += name;
  };
  SteadyTimer timer;
  timer.after(milliseconds{300}, [&] { note('c'); });
  timer.after(milliseconds{0}, [&] {
    note('a');
    timer.after(milliseconds{1}, [&] { note('b'); });
  });
  CHECK(eventually([&] {
    const std::lock_guard lock(mutex);
    return order == "abc";
  }));
}

TEST_CASE("what is not due when the timer ends is dropped") {
  std::atomic<bool> ran = false;
  {
    SteadyTimer timer;
    timer.after(std::chrono::hours{1}, [&] { ran = true; });
  }
  CHECK_FALSE(ran);
}

}  // namespace vfrail::test
