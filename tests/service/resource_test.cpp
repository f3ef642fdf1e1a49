// A resource that registers by itself, step by step: what reaches it when is for the test to say.
#include "plugin/service/kubelet/resource.h"

#include "plugin/service/kubelet/kubelet.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <filesystem>
#include <mutex>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

struct Registering {
  Registering() { REQUIRE(log.open_file("/dev/null")); }
  PublishedPool with(Preference preference) const {
    Pool out = make_pool({"0000:03:02.1"});
    out.config.preference = preference;
    return PublishedPool(std::move(out));
  }
  // The answer of a Register call, which the resource does not have yet.
  std::pair<uint64_t, RegistrationResult> next_answer() {
    REQUIRE(eventually([&] {
      const std::lock_guard lock(mutex);
      return !answers.empty();
    }));
    const std::lock_guard lock(mutex);
    auto out = std::move(answers.front());
    answers.erase(answers.begin());
    return out;
  }
  // After every backoff.
  void run_due() {
    now += std::chrono::minutes{10};
    resource.run_due(now, true);
  }

  std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  TempDir folder;
  TestKubelet kubelet{folder.path()};
  Log log;
  std::mutex mutex;
  std::vector<std::pair<uint64_t, RegistrationResult>> answers;
  Resource resource{
      with(Preference::none),
      {.socket = socket_folder(folder.path(), Registration::legacy) + "/nvidia.com_hostdev.sock",
       .registration = Registration::legacy,
       .kubelet_socket = kubelet_socket(folder.path()),
       .places = {.sys = SysRoot(folder.path()),
                  .device_info_dir = folder.path("di"),
                  .run_dir = folder.path("run")},
       .memory = {},
       .on_registration =
           [this](uint64_t attempt, RegistrationResult result) {
             const std::lock_guard lock(mutex);
             answers.emplace_back(attempt, std::move(result));
           }},
      log};
};

}  // namespace

TEST_CASE("the answer of a Register call that was cancelled does not count, although it was on its way") {
  Registering node;
  node.run_due();
  const auto late = node.next_answer();
  REQUIRE(late.second.registered);
  SECTION("because the preference has changed") { node.resource.publish(node.with(Preference::pack)); }
  SECTION("because kubelet has restarted") { node.resource.kubelet_restarted(); }
  SECTION("because its socket was removed") {
    std::filesystem::remove(node.resource.socket());
    node.run_due();
  }
  node.resource.result(late.first, late.second, node.now);
  CHECK_FALSE(node.resource.status().registered);
  node.run_due();
  const auto second = node.next_answer();
  node.resource.result(second.first, second.second, node.now);
  CHECK(node.resource.status().registered);
}

}  // namespace vfrail::test
