// cni/hook/memlock.h: what a runtime sends, and the limits of a real process.
#include "cni/hook/memlock.h"

#include "cni/hook/container_process.h"
#include "tests/support/temp_dir.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::cni;

namespace {

// A process that waits, with that limit, in a mount namespace of its own as a container's, or in ours.
class Sleeper {
 public:
  enum class In : uint8_t { container, host };

  explicit Sleeper(rlim_t bytes, In place = In::container) {
    int ready[2];
    REQUIRE(::pipe2(ready, O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      // A user namespace for those who are not root.
      const bool in =
          place == In::host || ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
      if (!in || ::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char done = 0;
    REQUIRE(::read(ready[0], &done, 1) == 1);
    ::close(ready[0]);
    rlimit limit{};
    REQUIRE(::prlimit(pid_, RLIMIT_MEMLOCK, nullptr, &limit) == 0);
    // The hard limit stays: to raise it, which the hook does, too, takes CAP_SYS_RESOURCE.
    limit.rlim_cur = bytes;
    REQUIRE(::prlimit(pid_, RLIMIT_MEMLOCK, &limit, nullptr) == 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  rlimit limit() const {
    rlimit out{};
    REQUIRE(::prlimit(pid_, RLIMIT_MEMLOCK, nullptr, &out) == 0);
    return out;
  }

 private:
  pid_t pid_ = -1;
};

OciState state_of(const Sleeper& sleeper, const std::string& bundle = "/nonexistent") {
  return {"c1", "created", sleeper.pid(), bundle};
}

std::string refusal(const std::string& text) {
  const auto parsed = parse_oci_state(text);
  return parsed ? "" : parsed.error().text;
}

}  // namespace

TEST_CASE("the state of a container that is being created is taken, every other refused by its key") {
  const auto state = parse_oci_state(
      R"({"ociVersion":"1.0.2","id":"c1","status":"creating","pid":4242,"bundle":"/run/c1","annotations":{}})");
  REQUIRE(state);
  CHECK(state->pid == 4242);
  CHECK(state->bundle == "/run/c1");
  CHECK(parse_oci_state(R"({"id":"c1","status":"created","pid":7})"));
  CHECK(refusal(R"({"id":"c1","status":"stopped","pid":7})") ==
        "status: is \"stopped\", and not creating or created");
  CHECK(refusal(R"({"id":"c1","status":"created"})").starts_with("pid: is missing"));
  CHECK(refusal(R"({"id":"c1","status":"created","pid":1})").starts_with("pid: is missing"));
  CHECK(refusal("").size() > 0);
}

TEST_CASE("the memory limit of a bundle is read, and -1 or none is no limit") {
  const auto limit = parse_memory_limit(R"({"linux":{"resources":{"memory":{"limit":67108864}}}})");
  REQUIRE(limit);
  CHECK((*limit)->bytes == 67108864);
  CHECK_FALSE(*parse_memory_limit(R"({"linux":{"resources":{"memory":{"limit":-1}}}})"));
  CHECK_FALSE(*parse_memory_limit(R"({"linux":{"resources":{}}})"));
  CHECK_FALSE(*parse_memory_limit("{}"));
  CHECK_FALSE(parse_memory_limit("["));
}

TEST_CASE("an amount is a number of bytes or unlimited") {
  CHECK(parse_locked_memory("unlimited")->unlimited);
  CHECK(parse_locked_memory("4096")->bytes == 4096);
  for (const char* wrong : {"", "0", "-1", "64Mi", "4096 "}) CHECK_FALSE(parse_locked_memory(wrong));
}

TEST_CASE("the limit of the process is raised to what was asked for, and never lowered") {
  const Sleeper sleeper(65536);
  REQUIRE(raise_lock_limit(state_of(sleeper), LockedMemory{false, 4 << 20}));
  CHECK(sleeper.limit().rlim_cur == 4 << 20);
  // Once for each device: the second changes nothing, nor does a smaller one.
  CHECK(raise_lock_limit(state_of(sleeper), LockedMemory{false, 4 << 20}));
  CHECK(raise_lock_limit(state_of(sleeper), LockedMemory{false, 4096}));
  CHECK(sleeper.limit().rlim_cur == 4 << 20);
}

TEST_CASE("more than the hard limit is allowed, or the error says which process and how much") {
  const Sleeper sleeper(65536);
  const auto raised = raise_lock_limit(state_of(sleeper), LockedMemory{true, 0});
  if (raised) {
    CHECK(sleeper.limit().rlim_cur == RLIM_INFINITY);
    CHECK(sleeper.limit().rlim_max == RLIM_INFINITY);
  } else {  // without CAP_SYS_RESOURCE
    CHECK(raised.error().code == Errc::denied);
    CHECK(raised.error().text.find("(process " + std::to_string(sleeper.pid()) + ") lock unlimited") !=
          std::string::npos);
    CHECK(sleeper.limit().rlim_cur == 65536);
  }
}

TEST_CASE("without an amount it is the container's memory limit, and without that an error") {
  const test::TempDir bundle;
  const Sleeper sleeper(65536);
  const auto write = [&](const char* text) { std::ofstream(bundle.path("config.json")) << text; };
  const auto missing = raise_lock_limit(state_of(sleeper, bundle.path()), {});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("config.json is not there") != std::string::npos);
  write("{}");
  const auto none = raise_lock_limit(state_of(sleeper, bundle.path()), {});
  REQUIRE_FALSE(none);
  CHECK(none.error().text.find("has no memory limit") != std::string::npos);
  CHECK(sleeper.limit().rlim_cur == 65536);
  write(R"({"linux":{"resources":{"memory":{"limit":4194304}}}})");
  REQUIRE(raise_lock_limit(state_of(sleeper, bundle.path()), {}));
  CHECK(sleeper.limit().rlim_cur == 4194304);
}

TEST_CASE("a process that is gone is an error that names it") {
  OciState state;
  {
    const Sleeper sleeper(65536);
    state = state_of(sleeper);
  }
  const auto gone = raise_lock_limit(state, LockedMemory{true, 0});
  REQUIRE_FALSE(gone);
  CHECK(gone.error().text.find("container c1 (process " + std::to_string(state.pid)) != std::string::npos);
}

TEST_CASE("a process that is not in the container keeps its limit") {
  const test::TempDir bundle;
  const Sleeper outside(65536, Sleeper::In::host);
  const Sleeper inside(65536);
  const LockedMemory wanted{false, 4 << 20};
  const auto refused = [&](const Sleeper& sleeper, const std::string& words) {
    const auto raised = raise_lock_limit(state_of(sleeper, bundle.path()), wanted);
    REQUIRE_FALSE(raised);
    CHECK(raised.error().code == Errc::denied);
    CHECK_THAT(raised.error().text,
               Catch::Contains("(process " + std::to_string(sleeper.pid()) + ")") && Catch::Contains(words));
    CHECK(sleeper.limit().rlim_cur == 65536);
  };
  const auto write = [&](const std::string& namespaces) {
    std::ofstream(bundle.path("config.json")) << R"({"linux":{"namespaces":)" << namespaces << "}}";
  };
  refused(outside, "mnt is that of the runtime");  // without a config.json
  write(R"([{"type":"mount"}])");
  refused(outside, "mnt is that of the runtime");
  write(R"([{"type":"mount"},{"type":"network"}])");
  refused(inside, "net is that of the runtime");
  write(R"([{"type":"mount","path":"/proc/self/ns/mnt"}])");
  refused(inside, "mnt is not /proc/self/ns/mnt");
  write(
      R"([{"type":"mount"},{"type":"network","path":"/proc/self/ns/net"},{"type":"cgroup"},{"type":"time"}])");
  CHECK(raise_lock_limit(state_of(inside, bundle.path()), wanted));
  CHECK(inside.limit().rlim_cur == 4 << 20);
}

TEST_CASE("the namespaces of a bundle are read, and others than a process has for good are left out") {
  const auto read = parse_namespaces(
      R"({"linux":{"namespaces":[{"type":"network","path":"/n"},{"type":"cgroup"},{"type":"mount"}]}})");
  REQUIRE(read);
  CHECK(*read == std::vector<ContainerNamespace>{{"net", "/n"}, {"mnt", ""}});
  CHECK(parse_namespaces("{}")->empty());
  CHECK_FALSE(parse_namespaces(R"({"linux":{"namespaces":[5]}})"));
}
