// A resource that registers by itself, step by step: what reaches it when is for the test to say.
#include "plugin/service/kubelet/resource.h"

#include "common/unique_fd.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/resources.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

using std::chrono::milliseconds;

namespace {

struct Registering {
  explicit Registering(std::string of_kubelet = {}) : kubelet_path(std::move(of_kubelet)) {
    REQUIRE(log.open_file("/dev/null"));
  }
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
  // After the backoff of a first failure, and before a call is overdue.
  void run_due() {
    now += std::chrono::seconds{1};
    resource.run_due(now, true);
  }

  const std::string kubelet_path;  // its socket; empty: the test kubelet's
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
       .kubelet_socket = kubelet_path.empty() ? kubelet_socket(folder.path()) : kubelet_path,
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

// Accepts connections, as the kernel does for a process that is stopped, and never answers.
struct SilentServer {
  explicit SilentServer(const std::string& path) : fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    path.copy(address.sun_path, path.size());
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd.get(), 16) == 0);
  }
  UniqueFd fd;
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

TEST_CASE("a Register call that kubelet does not answer is cancelled by the steady clock, and made again") {
  const TempDir folder;
  const SilentServer kubelet(folder.path("silent.sock"));
  Registering node(folder.path("silent.sock"));
  node.run_due();
  node.now += std::chrono::minutes{1};
  node.run_due();
  const auto first = node.next_answer();
  CHECK(first.second.reason == "kubelet's Register: no answer in time");
  node.resource.result(first.first, first.second, node.now);
  node.run_due();
  node.now += std::chrono::minutes{1};
  node.run_due();
  CHECK(node.next_answer().first > first.first);
}

TEST_CASE("a kubelet that replaces its socket has all of the time to open the stream again") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  Log log;
  REQUIRE(log.open_file("/dev/null"));
  std::atomic<bool> registered{false};
  std::atomic<bool> stream_ended{false};
  Resources resources(
      {.kubelet_root = folder.path(),
       .registration = Registration::watcher,
       .places = {.sys = SysRoot(folder.path()),
                  .device_info_dir = folder.path("di"),
                  .run_dir = folder.path("run")},
       .on_registration = [&](const std::string&, uint64_t, const RegistrationResult&) { registered = true; },
       .on_stream_end = [&] { stream_ended = true; }},
      log);
  auto now = std::chrono::steady_clock::now();
  const auto after = [&](std::chrono::milliseconds more) { resources.run_due(now += more); };
  resources.follow({PublishedPool(make_pool({"0000:03:02.1"}))}, now);
  after(milliseconds{0});
  REQUIRE(kubelet.wait_for("nvidia.com/hostdev", 1, kDeadline));
  REQUIRE(eventually([&] { return registered.load(); }));
  resources.result("nvidia.com/hostdev", 0, {.registered = true}, now);
  const std::string socket = socket_folder(folder.path(), Registration::watcher) + "/nvidia.com_hostdev.sock";
  const FileIdentity before = identify(socket);

  kubelet.stop();
  REQUIRE(eventually([&] { return stream_ended.load(); }));
  const std::string kubelets = kubelet_socket(folder.path());
  { const SilentServer killed(kubelets); }  // leaves its socket
  after(milliseconds{0});
  after(milliseconds{2900});
  std::filesystem::remove(kubelets);
  // The moment in which the next kubelet has not created its own.
  after(milliseconds{200});
  CHECK(identify(socket) == before);
  kubelet.start();
  after(milliseconds{0});
  after(milliseconds{2900});
  CHECK(identify(socket) == before);
}

}  // namespace vfrail::test
