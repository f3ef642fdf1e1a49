// plugin/device/allocate/return_wait.h: who waits for a device that returns, for how long, and how often it
// is tried.
#include "plugin/device/allocate/return_wait.h"

#include "common/errors/error_id.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// A front end whose timer runs when the test lets it.
struct Calls {
  std::vector<ReturnWait::Prepared> results;  // of the tries, the last one again and again
  size_t tries = 0;
  int waits = 0;
  bool cancelled = false;
  std::function<void()> timer = {};
  std::optional<ReturnWait::Prepared> answer = {};

  ReturnWait::FrontEnd front_end() {
    return {.prepare = [this] { return results[std::min(tries++, results.size() - 1)]; },
            .is_cancelled = [this] { return cancelled; },
            .after = [this](milliseconds, std::function<void()> then) { timer = std::move(then); },
            .on_wait = [this] { ++waits; },
            .done = [this](ReturnWait::Prepared prepared) { answer = std::move(prepared); }};
  }
  void run_timer() { std::exchange(timer, nullptr)(); }
};

const ReturnWait::Prepared kReady = std::vector<ContainerEdits>(1);
// Whatever the id of the text is: the code says that it is on its way.
const ReturnWait::Prepared kNotYet = Error{Errc::not_yet, 0, "is on its way", ErrorId::no_rdma_device};

}  // namespace

TEST_CASE("what is ready is answered at once") {
  Calls calls{.results = {kReady}};
  ReturnPatience patience(seconds{10});
  ReturnWait(patience, calls.front_end()).begin();
  REQUIRE(calls.answer);
  CHECK(calls.answer->ok());
  CHECK(calls.tries == 1);
  CHECK(calls.waits == 0);
}

TEST_CASE("a device that is on its way is tried again until it is there") {
  Calls calls{.results = {kNotYet, kNotYet, kReady}};
  ReturnPatience patience(seconds{600});
  ReturnWait wait(patience, calls.front_end());
  wait.begin();
  CHECK_FALSE(calls.answer);
  calls.run_timer();
  CHECK_FALSE(calls.answer);
  calls.run_timer();
  REQUIRE(calls.answer);
  CHECK(calls.answer->ok());
  CHECK(calls.waits == 1);
}

TEST_CASE("another error is not waited for, and who has hung up waits no longer") {
  Calls calls{.results = {kNotYet, kNotYet}};
  ReturnPatience patience(seconds{600});
  ReturnWait wait(patience, calls.front_end());
  SECTION("another error") {
    calls.results = {Error{Errc::busy, 0, "someone has it", ErrorId::device_not_in_host}};
    wait.begin();
    CHECK(calls.tries == 1);
  }
  SECTION("hung up") {
    wait.begin();
    calls.cancelled = true;
    calls.run_timer();
    CHECK(calls.tries == 2);
  }
  REQUIRE(calls.answer);
  CHECK_FALSE(calls.answer->ok());
}

TEST_CASE("after a wait in vain none waits for a minute") {
  ReturnPatience patience(seconds{10});
  const ReturnPatience::Time begin{std::chrono::hours{1}};
  CHECK(patience.end(begin) == begin + seconds{10});
  patience.waited_in_vain(begin + seconds{10});
  CHECK_FALSE(patience.end(begin + seconds{11}));
  const auto later = begin + seconds{70};
  CHECK(patience.end(later) == later + seconds{10});
  CHECK_FALSE(ReturnPatience(milliseconds{0}).end(begin));
}
