#include "plugin/service/monitoring/accept_loop.h"

#include <new>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using Failure = boost::system::error_code;

namespace {

// An acceptor and a timer whose operations end when the test says so.
template <class... Results>
struct Operation {
  bool throws = false;
  std::function<void(Failure, Results...)> done;

  void begin(std::function<void(Failure, Results...)> handler) {
    if (throws) throw std::bad_alloc();
    done = std::move(handler);
  }
  void end(Failure failed, Results... results) { std::exchange(done, nullptr)(failed, results...); }
};
struct Acceptor : Operation<int> {
  template <class Handler>
  void async_accept(Handler handler) {
    begin(handler);
  }
};
struct Timer : Operation<> {
  void expires_after(std::chrono::seconds) {}
  template <class Handler>
  void async_wait(Handler handler) {
    begin(handler);
  }
};

const Failure kNoDescriptors = boost::asio::error::no_descriptors;

struct AcceptScene {
  Acceptor acceptor;
  Timer timer;
  std::vector<int> served;
  AcceptLoop<Acceptor, Timer, int> loop{acceptor, timer, [this](int socket) { served.push_back(socket); }};
};

}  // namespace

TEST_CASE("one connection is accepted after the other, and after a failure there is a pause") {
  AcceptScene scene;
  CHECK_FALSE(scene.loop.is_under_way());
  scene.loop.accept();
  scene.acceptor.end({}, 1);
  scene.acceptor.end({}, 2);
  CHECK(scene.served == std::vector{1, 2});
  scene.acceptor.end(kNoDescriptors, 0);
  CHECK_FALSE(scene.acceptor.done);
  CHECK(scene.loop.is_under_way());
  scene.timer.end({});
  scene.acceptor.end({}, 3);
  CHECK(scene.served == std::vector{1, 2, 3});
}

TEST_CASE("what could not be begun is not under way, so that it is begun again") {
  AcceptScene scene;
  scene.loop.accept();
  scene.acceptor.throws = true;
  CHECK_THROWS_AS(scene.acceptor.end({}, 1), std::bad_alloc);
  CHECK(scene.served == std::vector{1});
  CHECK_FALSE(scene.loop.is_under_way());
  scene.timer.throws = true;
  CHECK_THROWS_AS(scene.loop.accept_later(), std::bad_alloc);
  CHECK_FALSE(scene.loop.is_under_way());
  scene.timer.throws = scene.acceptor.throws = false;
  scene.loop.accept_later();
  CHECK(scene.loop.is_under_way());
  scene.timer.end({});
  scene.acceptor.end({}, 2);
  CHECK(scene.served == std::vector{1, 2});
}
