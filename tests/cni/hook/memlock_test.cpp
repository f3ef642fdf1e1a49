// cni/hook/memlock.h: what a runtime sends, and the limits of a real process.
#include "cni/hook/memlock.h"

#include "tests/support/temp_dir.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::cni;

namespace {

// A process that waits, with that limit.
class Sleeper {
 public:
  explicit Sleeper(rlim_t bytes) : pid_(::fork()) {
    if (pid_ == 0) {
      for (;;) ::pause();
    }
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
  pid_t pid_;
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
