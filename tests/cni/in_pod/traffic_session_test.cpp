// A test of traffic between two sides that run in one process, over a socket pair, with ends that a test
// makes fail; and listeners and callers that meet somebody else than their like.
#include "cni/in_pod/traffic/traffic_session.h"

#include "cni/in_pod/traffic/round_trips.h"
#include "tests/cni/in_pod/traffic_ends.h"

#include <cerrno>
#include <sys/socket.h>
#include <thread>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::FakeDevices;
using test::FakeTime;

namespace {

std::pair<UniqueFd, UniqueFd> socket_pair() {
  int both[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, both) == 0);
  return {UniqueFd(both[0]), UniqueFd(both[1])};
}

TrafficRail rail(const std::string& name, double rate = 100) { return {name, 1, true, 3, rate}; }

Result<TrafficSize> greet(TrafficChannel& channel, const TrafficSide& side) {
  return greet_caller(channel, side, channel.read_line(kHelloSeconds));
}

struct Sides {
  std::string test_here = {}, test_there = {};
  std::vector<TrafficRail> here = {rail("h0"), rail("h1")};
  std::vector<TrafficRail> there = {rail("t0", 200), rail("t1", 200)};
  FakeTime time;
  FakeDevices devices_here{time}, devices_there{time};

  Result<TrafficOutcome> run() {
    auto [mine, theirs] = socket_pair();
    const TrafficClock clock = time.clock();
    Result<> served;
    std::thread listener([&, socket = std::move(theirs)]() mutable {
      TrafficChannel channel(std::move(socket), clock);
      const TrafficSide side{there, devices_there, clock, test_there};
      const auto size = greet(channel, side);
      served = size ? serve_traffic(channel, side, *size) : size.error();
    });
    TrafficChannel channel(std::move(mine), clock);
    auto out = call_for_traffic(channel, {here, devices_here, clock, test_here}, {65536, 1});
    if (!out) channel = TrafficChannel(UniqueFd(), clock);
    listener.join();
    CHECK(served.ok() == out.ok());
    CHECK(devices_here.open_now + devices_there.open_now == 0);
    return out;
  }
};

struct Served {
  Result<TrafficSize> greeted;
  Result<> test = {};
};

// What a listener makes of a peer that sends these bytes and closes.
Served serve(const std::string& bytes) {
  auto [mine, theirs] = socket_pair();
  FakeTime time;
  const TrafficClock clock = time.clock();
  REQUIRE(::send(theirs.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  ::shutdown(theirs.get(), SHUT_WR);
  TrafficChannel channel(std::move(mine), clock);
  FakeDevices devices(time);
  const TrafficSide side{{rail("t0")}, devices, clock};
  Served out{greet(channel, side)};
  if (out.greeted) out.test = serve_traffic(channel, side, *out.greeted);
  CHECK(devices.open_now == 0);
  return out;
}

// What a caller makes of a listener that answers with these bytes, whatever it is asked.
std::string call(const std::string& bytes) {
  auto [mine, theirs] = socket_pair();
  FakeTime time;
  const TrafficClock clock = time.clock();
  REQUIRE(::send(theirs.get(), bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  ::shutdown(theirs.get(), SHUT_WR);
  TrafficChannel channel(std::move(mine), clock);
  FakeDevices devices(time);
  const auto out = call_for_traffic(channel, {{rail("h0")}, devices, clock}, {65536, 1});
  return out ? "" : out.error().text;
}

const std::string kHello = format_hello({65536, 1, {{"t0", 100}}});

}  // namespace

TEST_CASE("each rail writes to the peer's of the same order and back, alone and all at once") {
  Sides sides;
  const auto out = sides.run();
  REQUIRE(out);
  REQUIRE(out->rails.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    const RailOutcome& one = out->rails[i];
    CHECK(one.rail.name == "h" + std::to_string(i));
    CHECK(one.peer.name == "t" + std::to_string(i));
    CHECK(one.peer.rate_gbits == 200);
    REQUIRE(one.together);
    for (const RailMeasure& measured : {one.alone, *one.together}) {
      CHECK(!measured.failure);
      CHECK(measured.sent.gbits() > 0);
      CHECK(measured.received.gbits() > 0);
    }
    // A rail alone has nothing else on its port; with the others it would measure their queues.
    CHECK(one.alone.sent.round_trips);
    CHECK(one.alone.received.round_trips);
    CHECK(!one.together->sent.round_trips);
    CHECK(!one.together->received.round_trips);
  }
  CHECK(sides.devices_here.opened == 4);
  CHECK(sides.devices_there.opened == 4);
}

TEST_CASE("a rail that one side lacks is named") {
  Sides sides;
  sides.here.push_back(rail("h2"));
  auto out = sides.run();
  REQUIRE(out);
  CHECK(out->unmatched == std::vector<std::string>{"h2"});
  std::swap(sides.here, sides.there);
  out = sides.run();
  REQUIRE(out);
  CHECK(out->peer_unmatched == std::vector<std::string>{"h2"});
}

TEST_CASE("what fails on one side is that rail's result, with its side, and the others are tested") {
  const TrafficFailure failure =
      GENERATE(TrafficFailure{TrafficStage::open, EPERM}, TrafficFailure{TrafficStage::memory, ENOMEM},
               TrafficFailure{TrafficStage::init, EINVAL}, TrafficFailure{TrafficStage::rtr, ENODATA});
  const bool at_peer = GENERATE(false, true);
  INFO(name_of(failure.stage) << (at_peer ? " at the peer" : " here"));
  Sides sides;
  (at_peer ? sides.devices_there : sides.devices_here).failures[at_peer ? "t0" : "h0"] = failure;
  const auto out = sides.run();
  REQUIRE(out);
  CHECK(out->rails[0].alone.failure == failure);
  CHECK(out->rails[0].alone.at_peer == at_peer);
  CHECK(!out->rails[0].together);
  CHECK(out->rails[1].alone.received.gbits() > 0);
}

TEST_CASE("a write that fails is the result of its direction") {
  const TrafficFailure failure{TrafficStage::complete, kRetryExceeded};
  Sides sides;
  sides.devices_there.failures["t1"] = failure;
  auto out = sides.run();
  REQUIRE(out);
  CHECK(out->rails[1].alone.sent.gbits() > 0);
  CHECK(out->rails[1].alone.received.failure == failure);
  sides.devices_here.failures["h1"] = failure;
  out = sides.run();
  REQUIRE(out);
  CHECK(out->rails[1].alone.sent.failure == failure);
  CHECK(!out->rails[1].alone.received.failure);
}

TEST_CASE("a port that is not ACTIVE is not opened") {
  Sides sides;
  sides.here[0].is_active = false;
  const auto out = sides.run();
  REQUIRE(out);
  CHECK(out->rails[0].alone.failure == TrafficFailure{TrafficStage::port, 0});
}

TEST_CASE("writes that neither complete nor fail end the measurement after a while") {
  FakeTime time;
  FakeDevices devices(time);
  devices.silent = "h0";
  const TrafficClock clock = time.clock();
  auto opened = devices.open(rail("h0"), {65536, 4});
  const auto results = write_all({std::get<0>(opened).get()}, {{65536, 4}, 2}, clock);
  CHECK(results.at(0).failure == TrafficFailure{TrafficStage::unfinished, 0});
  CHECK(results.at(0).bytes == 0);
}

TEST_CASE("a round trip is from the post of a small write to its completion, one at a time") {
  FakeTime time;
  FakeDevices devices(time);
  const TrafficClock clock = time.clock();
  auto opened = devices.open(rail("h0"), {65536, 1});  // a second write at the same time would be refused
  const auto measured = measure_round_trips(*std::get<0>(opened), clock);
  const auto* round_trips = std::get_if<RoundTrips>(&measured);
  REQUIRE(round_trips != nullptr);
  // Each takes a tick, 50 ms: the time is over long before the number is reached.
  CHECK(round_trips->typical_ns == 50'000'000);
  CHECK(round_trips->count > 0);
  CHECK(round_trips->count < kLeastForPercentile);
  CHECK(!round_trips->p99_ns);
}

TEST_CASE("of round trips the median and the 99th percentile are given, the latter of a hundred or more") {
  std::vector<double> seconds;
  for (int i = 200; i > 0; --i) seconds.push_back(i * 1e-6);
  CHECK(summary_of(seconds) == RoundTrips{200, 100'000, 198'000});
  seconds.resize(3);
  CHECK(summary_of(seconds) == RoundTrips{3, 199'000, std::nullopt});
  CHECK(summary_of({}).count == 0);
}

TEST_CASE("round trips that do not complete, or fail, are that rail's failure") {
  FakeTime time;
  FakeDevices devices(time);
  const TrafficClock clock = time.clock();
  devices.silent = "h0";
  auto silent = devices.open(rail("h0"), {65536, 4});
  CHECK(std::get<TrafficFailure>(measure_round_trips(*std::get<0>(silent), clock)) ==
        TrafficFailure{TrafficStage::unfinished, 0});
  devices.failures["h1"] = {TrafficStage::complete, kRetryExceeded};
  auto failing = devices.open(rail("h1"), {65536, 4});
  CHECK(std::get<TrafficFailure>(measure_round_trips(*std::get<0>(failing), clock)) ==
        TrafficFailure{TrafficStage::complete, kRetryExceeded});
  time.stop();
  CHECK(std::get<RoundTrips>(measure_round_trips(*std::get<0>(silent), clock)).count == 0);
}

TEST_CASE("a signal ends writes and the wait for a line") {
  FakeTime time;
  FakeDevices devices(time);
  time.stop();
  const TrafficClock clock = time.clock();
  auto opened = devices.open(rail("h0"), {65536, 4});
  CHECK(write_all({std::get<0>(opened).get()}, {{65536, 4}, 2}, clock).at(0).bytes == 0);
  auto [mine, theirs] = socket_pair();
  TrafficChannel channel(std::move(mine), clock);
  CHECK(channel.read_line(10).error().text == "wait for the peer: interrupted");
}

TEST_CASE("a rail with itself needs no peer") {
  FakeTime time;
  FakeDevices devices(time);
  devices.failures["h1"] = {TrafficStage::rtr, ENODATA};
  const TrafficClock clock = time.clock();
  const auto out = loop_back({{rail("h0"), rail("h1")}, devices, clock}, {65536, 1});
  CHECK(out.rails.at(0).alone.sent.gbits() > 0);
  CHECK(out.rails.at(1).alone.failure == TrafficFailure{TrafficStage::rtr, ENODATA});
  CHECK(devices.open_now == 0);
}

TEST_CASE("a listener survives peers that are no callers, and knows that there was no test") {
  for (const std::string& bytes :
       {std::string(), std::string("GET / HTTP/1.1\r\n\r\n"), std::string("{}\n"),
        std::string(kMaxTrafficLine + 100, 'x'), std::string(R"({"vfrail_traffic":9})") + "\n"}) {
    INFO(bytes.substr(0, 30));
    CHECK(!serve(bytes).greeted);
  }
}

TEST_CASE("a listener survives callers that leave, order nonsense, or name rails that are not there") {
  const EndAddress address{1, 0, 4096, {}, 7, 4096};
  for (const std::string& orders : {std::string(), std::string("{}\n"), format_order(WriteOrder{{0}}),
                                    format_order(OpenOrder{{{0, address}}}),
                                    format_order(OpenOrder{{{63, address}, {1, TrafficFailure{}}}}) +
                                        format_order(WriteOrder{{0, 63}})}) {
    INFO(orders);
    const auto served = serve(kHello + orders);
    CHECK(served.greeted);
    CHECK(!served.test);
  }
  CHECK(serve(kHello + format_order(OpenOrder{{{0, address}}}) + format_order(EndOrder{})).test);
}

TEST_CASE("a caller says what is wrong with a listener") {
  CHECK(call("") == "the peer has closed the connection");
  CHECK(call(format_refusal("busy")) == "the peer: busy");
  CHECK(call("SSH-2.0-OpenSSH\n").find("a line of the peer") == 0);
  CHECK(call(kHello) == "h0: the peer has closed the connection");
  CHECK(call(kHello + format_ends({})) == "h0: the peer's queue pairs lack a rail");
  const EndAddress address{1, 0, 4096, {}, 7, 4096};
  CHECK(call(kHello + format_ends({{0, address}}) + format_results({})) ==
        "h0: the peer's results lack a rail");
}

TEST_CASE("both sides of a test have its name, or the caller says that they have not") {
  Sides sides;
  sides.test_here = sides.test_there = "train-7";
  CHECK(sides.run());
  sides.test_there = "";
  CHECK(sides.run().error().text ==
        "the peer: the listener's test has no name, the caller's \"train-7\": the same --test in both");
  std::swap(sides.test_here, sides.test_there);
  CHECK(sides.run().error().text.find("test has \"train-7\", the caller's no name") != std::string::npos);
  CHECK(sides.devices_there.opened == 4);  // those of the first
  // As long as it can be, the refusal has its remedy.
  sides.test_here = std::string(kMaxTestName, 'a');
  sides.test_there = std::string(kMaxTestName, 'b');
  CHECK(sides.run().error().text.ends_with("the same --test in both"));
}

TEST_CASE(
    "a listener that knows no names of tests, of an earlier version, is an error of a caller with one") {
  auto [mine, theirs] = socket_pair();
  FakeTime time;
  const TrafficClock clock = time.clock();
  REQUIRE(::send(theirs.get(), kHello.data(), kHello.size(), 0) == static_cast<ssize_t>(kHello.size()));
  TrafficChannel channel(std::move(mine), clock);
  FakeDevices devices(time);
  const auto out = call_for_traffic(channel, {{rail("h0")}, devices, clock, "train-7"}, {65536, 1});
  REQUIRE(!out);
  CHECK(out.error().text.find("of no name, and this one is of \"train-7\": use the same vfrail-check") !=
        std::string::npos);
  CHECK(devices.opened == 0);
}

TEST_CASE("a listener of an earlier version, which measures no round trips, is tested with all the same") {
  auto [mine, theirs] = socket_pair();
  FakeTime time;
  const TrafficClock clock = time.clock();
  const EndAddress address{1, 0, 4096, {}, 7, 4096};
  const std::string answers =
      kHello + format_ends({{0, address}}) + format_results({{0, {1 << 20, 1, std::nullopt, {}}}});
  REQUIRE(::send(theirs.get(), answers.data(), answers.size(), 0) == static_cast<ssize_t>(answers.size()));
  TrafficChannel channel(std::move(mine), clock);
  FakeDevices devices(time);
  const auto out = call_for_traffic(channel, {{rail("h0")}, devices, clock}, {65536, 1});
  REQUIRE(out);
  CHECK(out->rails[0].alone.sent.round_trips);
  CHECK(!out->rails[0].alone.received.round_trips);
  CHECK(out->rails[0].alone.received.bytes == 1 << 20);
}

TEST_CASE("a refused connection is reported with what to check") {
  FakeTime time;
  const TrafficClock clock = time.clock();
  const auto local = IpAddress::parse("127.0.0.1");
  const auto refused = connect_to_listener({*local, 1}, 5, clock);
  REQUIRE(!refused);
  CHECK(refused.error().text.find("connect to 127.0.0.1 port 1: ECONNREFUSED") == 0);
  CHECK(refused.error().text.find("start vfrail-check --listen") != std::string::npos);
}

TEST_CASE("every failure has a text and a remedy, and its name is read back") {
  for (int stage = 0; stage <= static_cast<int>(TrafficStage::unfinished); ++stage) {
    for (const int error : {0, EINVAL, ENOMEM, ENODATA, ETIMEDOUT, kRetryExceeded}) {
      const TrafficFailure failure{static_cast<TrafficStage>(stage), error};
      CHECK(!failure_text(failure).text.empty());
      CHECK(!failure_text(failure).remedy.empty());
      CHECK(parse_traffic_stage(name_of(failure.stage)) == failure.stage);
    }
  }
  CHECK(failure_text({TrafficStage::rtr, ENODATA}).text ==
        "modify to RTR: ENODATA (No data available): there is no GID at that index of the port's table");
  CHECK(failure_text({TrafficStage::rtr, ETIMEDOUT}).text.find("no route") != std::string::npos);
  CHECK(failure_text({TrafficStage::complete, kRetryExceeded}).remedy.find("firewall") != std::string::npos);
  CHECK(failure_text({TrafficStage::memory, ENOMEM}).text.find("limit of locked memory") !=
        std::string::npos);
}
