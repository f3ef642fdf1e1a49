// --listen, --to and --loopback: their options, the rails that are tested, and what check VF-P24 says.
#include "cni/in_pod/traffic_command.h"

#include "cni/in_pod/pod_command_line.h"
#include "cni/in_pod/pod_report.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/cni/in_pod/traffic_ends.h"
#include "tests/support/shell.h"

#include <cerrno>
#include <chrono>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;
using test::run_in_shell;

namespace {

Result<std::optional<TrafficCommand>> read(const std::vector<std::string>& arguments) {
  const auto words = read_words(pod_command_line_text(), arguments);
  REQUIRE(words);
  return read_traffic_command(*words);
}

// A rail of 100 Gbit/s that wrote so much of it each way.
RailOutcome measured(double sent, double received) {
  RailOutcome out{{"mlx5_2", 1, true, 3, 100}, {"mlx5_4", 200}, {}, std::nullopt};
  out.alone.sent = {static_cast<uint64_t>(sent / 8e-9), 1, {}};
  out.alone.received = {static_cast<uint64_t>(received / 8e-9), 1, {}};
  return out;
}

CheckResult evaluated(const RailOutcome& rail, const std::string& peer = "10.0.0.9") {
  CheckedPod pod = PodTree().read();
  pod.traffic = TrafficOutcome{peer, {}, {rail}, {}, {}};
  const auto reports = check_traffic_of(pod);
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].id == "VF-P24");
  REQUIRE(reports[0].results.size() == 1);
  return reports[0].results[0];
}

}  // namespace

TEST_CASE("options of a test of traffic are read, and refused where they do not belong") {
  CHECK(!*read({}));
  const auto call =
      *read({"--to", "fd00::7", "--port", "7", "--message", "64K", "--seconds", "9", "--gid-index", "5"});
  REQUIRE(call);
  CHECK(call->role == TrafficRole::call);
  CHECK(call->to.text() == "fd00::7 port 7");
  CHECK(call->size.message_bytes == 65536);
  CHECK(call->size.seconds == 9);
  CHECK(call->gid_index == 5U);
  const auto listen = *read({"--listen", "--bind", "10.0.0.1", "--keep", "--wait", "5"});
  REQUIRE(listen);
  CHECK(listen->bind->text() == "10.0.0.1");
  CHECK((listen->keep && listen->wait_seconds == 5));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"--listen", "--loopback"},
                                             {"--to", "my-pod"},
                                             {"--to", "10.0.0.1", "--keep"},
                                             {"--listen", "--seconds", "3"},
                                             {"--port", "7"},
                                             {"--loopback", "--port", "7"},
                                             {"--listen", "--port", "0"},
                                             {"--listen", "--port", "65536"},
                                             {"--loopback", "--message", "1K"},
                                             {"--loopback", "--message", "9M"},
                                             {"--loopback", "--message", "1G"},
                                             {"--loopback", "--message", "99999999999999999999"},
                                             {"--loopback", "--seconds", "61"},
                                             {"--loopback", "--gid-index", "-1"},
                                             {"--loopback", "--root", "/x"}}) {
    INFO(wrong[0] << " " << wrong.back());
    const auto refused = read(wrong);
    CHECK((!refused && refused.error().code == Errc::invalid));
  }
  CHECK(run_in_shell("vfrail-check --listen --to 10.0.0.1").status == 2);
}

TEST_CASE("the rails are tested in the order of the pod file, each with its GID index") {
  PodTree tree;
  auto rails = traffic_rails(tree.read(), std::nullopt);
  REQUIRE(rails.size() == 2);
  CHECK(rails[0].name == "mlx5_2");
  CHECK(rails[0].gid_index == 3U);
  CHECK(rails[0].rate_gbits == 100);
  // The address has moved to another entry since: that is NCCL's, too.
  tree.add_gid(test::kFirstPort, 3, "RoCE v2", "net1", "fd00::8");
  tree.add_gid(test::kFirstPort, 5, "RoCE v2", "net1", "10.0.0.2");
  tree.add(std::string(test::kFirstPort) + "state = 1: DOWN\n");
  CheckedPod pod = tree.read();
  std::swap((*pod.file)->interfaces[0], (*pod.file)->interfaces[1]);
  rails = traffic_rails(pod, std::nullopt);
  CHECK(rails[0].name == "mlx5_6");
  CHECK(rails[1].gid_index == 5U);
  CHECK(!rails[1].is_active);
  CHECK(traffic_rails(pod, 9)[0].gid_index == 9U);
  tree.add(std::string(test::kFirstPort) + "link_layer = InfiniBand\n");
  CHECK(!traffic_rails(tree.read(), 9)[0].gid_index);
}

TEST_CASE("VF-P24 compares with the slower port's rate") {
  CHECK(evaluated(measured(93, 95)).finding == Finding::good);
  CHECK(evaluated(measured(93, 95)).text ==
        "mlx5_2 and mlx5_4 of 10.0.0.9: 93.0 Gbit/s sent, 95.0 Gbit/s received: 93 % of 100.0 Gbit/s");
  const CheckResult slow = evaluated(measured(95, 60));
  CHECK(slow.finding == Finding::advice);
  CHECK(slow.text.find(": 60 % of 100.0 Gbit/s") != std::string::npos);
  CHECK(!slow.remedy.empty());
  CHECK(evaluated(measured(95, 0)).finding == Finding::fault);
  // Not compared with the fabric's, and nothing is received apart.
  CHECK(evaluated(measured(60, 0), "").finding == Finding::note);
  CHECK(evaluated(measured(60, 0), "").text == "mlx5_2 with itself: 60.0 Gbit/s: 60 % of 100.0 Gbit/s");
  RailOutcome timed = measured(93, 95);
  timed.alone.sent.round_trips = RoundTrips{1000, 2140, 13'400};
  CHECK(evaluated(timed).text.ends_with(
      "93 % of 100.0 Gbit/s; a write of 8 bytes is acknowledged in 2.1 us, 99 % in 13.4 us"));
  timed.alone.sent.round_trips = RoundTrips{50, 250'400, std::nullopt};
  CHECK(evaluated(timed).text.ends_with("is acknowledged in 250 us"));
  RailOutcome unknown = measured(3, 3);
  unknown.rail.rate_gbits = unknown.peer.rate_gbits = 0;
  CHECK(evaluated(unknown).finding == Finding::good);
}

TEST_CASE("VF-P24 says on which side a rail failed, and why") {
  RailOutcome rail = measured(0, 0);
  rail.alone.failure = TrafficFailure{TrafficStage::memory, ENOMEM};
  rail.alone.at_peer = true;
  CHECK(evaluated(rail).finding == Finding::fault);
  CHECK(evaluated(rail).text ==
        "mlx5_2 and mlx5_4 of 10.0.0.9: at the peer: register memory: ENOMEM (Cannot allocate memory): the "
        "limit of "
        "locked memory is too low");
  rail = measured(90, 0);
  rail.alone.received.failure = TrafficFailure{TrafficStage::complete, kRetryExceeded};
  CHECK(evaluated(rail).text.find("the peer's sending: complete write: transport retry counter exceeded") !=
        std::string::npos);
}

TEST_CASE("VF-P24 names rails without a partner, and rails that are slow with the others") {
  CheckedPod pod = PodTree().read();
  RailOutcome rail = measured(95, 95);
  rail.together = measured(40, 95).alone;
  pod.traffic = TrafficOutcome{"10.0.0.9", {}, {rail}, {"mlx5_6"}, {"mlx5_8"}};
  const auto results = check_traffic_of(pod)[0].results;
  REQUIRE(results.size() == 4);
  CHECK(results[1].finding == Finding::advice);
  CHECK(results[1].text.find("all rails at once: 40.0 Gbit/s sent") != std::string::npos);
  CHECK(results[2].text == "mlx5_6 of this pod has no rail to be tested with");
  CHECK(results[3].text == "mlx5_8 of the peer has no rail to be tested with");
  pod.traffic->rails[0].alone.sent.round_trips = RoundTrips{1000, 2140, 13'400};
  const Json json = traffic_json(*pod.traffic);
  const Json& alone = *json.find("rails")->as_array()->at(0).find("alone");
  CHECK(alone.find("sent")->find("round_trip")->text() ==
        R"({"typical_us":2.14,"p99_us":13.4,"count":1000})");
  CHECK(alone.find("received")->find("round_trip")->is_null());
  CHECK(*json.find("rails")->as_array()->at(0).find("alone")->find("sent")->find("gbits")->as_double() > 94);
}

TEST_CASE("the name of a test is that of the option, else of the environment, else of the Indexed Job") {
  CHECK((*read({"--listen", "--test", "train-7"}))->test == "train-7");
  CHECK((*read({"--listen", "--test", ""}))->test == "");
  CHECK(!(*read({"--listen"}))->test);
  CHECK(!read({"--listen", "--test", "a b"}));
  CHECK(!read({"--listen", "--test", std::string(64, 'x')}));
  CHECK(!read({"--loopback", "--test", "x"}));
  CHECK(default_test_name({}).empty());
  CHECK(default_test_name({{"HOSTNAME", "train-7"}}).empty());
  const PodEnvironment job{{"HOSTNAME", "train-7-12"}, {"JOB_COMPLETION_INDEX", "12"}};
  CHECK(default_test_name(job) == "train-7");
  CHECK(default_test_name({{"HOSTNAME", "worker"}, {"JOB_COMPLETION_INDEX", "12"}}).empty());
  PodEnvironment named = job;
  named["VFRAIL_TEST"] = "";
  CHECK(default_test_name(named).empty());
  named["VFRAIL_TEST"] = "other";
  CHECK(default_test_name(named) == "other");
}

namespace {

// A listener on this machine's loopback, in a thread of its own.
class Listening {
 public:
  explicit Listening(const std::string& test = "", const std::string& variable = "") {
    command.bind = IpAddress::parse("127.0.0.1");
    // Several runs of this test may be under way on one machine.
    command.to = {*command.bind, static_cast<uint16_t>(20000 + ::getpid() % 12000)};
    command.size = {65536, 1};
    if (!test.empty()) command.test = test;
    if (!variable.empty()) pod.environment["VFRAIL_TEST"] = variable;
    thread_ = std::thread([this] {
      listened = listen_for_traffic(
          command, pod, {devices_, clock, [this](const std::string& line) { said.push_back(line); }});
    });
  }
  ~Listening() {
    time.stop();
    if (thread_.joinable()) thread_.join();
  }
  void wait() { thread_.join(); }

  TrafficChannel connect() {
    for (int i = 0; i < 500; ++i) {  // until it listens
      if (auto channel = connect_to_listener(command.to, 5, clock)) return *std::move(channel);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL("no listener accepts the connection");
    return TrafficChannel(UniqueFd(), clock);
  }
  // By a clock of its own, which a silent listener does not stop.
  Result<TrafficOutcome> call(const std::string& test = "") {
    test::FakeDevices own(time);
    TrafficCommand out = command;
    out.role = TrafficRole::call;
    out.test = test;
    const TrafficClock patient{[this] {
                                 const auto real = std::chrono::steady_clock::now().time_since_epoch();
                                 return std::chrono::duration<double>(real).count() + clock.seconds();
                               },
                               [] { return false; }};
    return test_traffic(out, pod, {own, patient, [](const std::string&) {}});
  }

  CheckedPod pod = PodTree().read();
  test::FakeTime time;
  const TrafficClock clock = time.clock();
  TrafficCommand command;
  std::vector<std::string> said;  // to be read after wait()
  Result<> listened;

 private:
  test::FakeDevices devices_{time};
  std::thread thread_;
};

}  // namespace

TEST_CASE("a listener is called over TCP, ignores who is no caller, and ends after one test") {
  Listening listening;
  TrafficChannel stranger = listening.connect();
  CHECK(stranger.write("hello?\n", 5));
  CHECK(stranger.read_line(20)->find("error") != std::string::npos);
  const auto out = listening.call();
  REQUIRE(out);
  listening.wait();
  CHECK(listening.listened);
  CHECK(out->rails.size() == 2);
  CHECK(out->peer == "127.0.0.1");
  const auto& said = listening.said;
  const std::string port = std::to_string(listening.command.to.port);
  REQUIRE(said.size() == 3);
  CHECK(said[0] == "listening on 127.0.0.1, port " + port +
                       ", for 600 s; in the other pod: vfrail-check --to 127.0.0.1 --port " + port);
  CHECK(said[1].find("127.0.0.1: no test: a line of the peer") == 0);
  CHECK(said[2] == "127.0.0.1: test done");
}

// The listener's time does not pass, so it would wait for the first of them for ever.
TEST_CASE("those who connect and are silent do not hold up the caller, however many they are") {
  Listening listening;
  std::vector<TrafficChannel> silent;
  for (int i = 0; i < 70; ++i) silent.push_back(listening.connect());
  CHECK(silent.back().write(R"({"vfrail_traffic")", 5));  // and stops
  const auto out = listening.call();
  REQUIRE(out);
  listening.wait();
  CHECK(listening.listened);
}

TEST_CASE("a caller of another test is refused with the reason, and the listener waits on for its own") {
  Listening listening("", "train-7");
  (void)listening.connect();
  for (const char* other : {"", "train-8"}) {
    const auto refused = listening.call(other);
    REQUIRE(!refused);
    CHECK(refused.error().text.find("the listener's test has \"train-7\"") != std::string::npos);
  }
  CHECK(listening.call("train-7"));
  listening.wait();
  CHECK(listening.listened);
  CHECK(listening.said[0].ends_with(" --test train-7"));
}

TEST_CASE("a listener that nobody calls says so") {
  const CheckedPod pod = PodTree().read();
  test::FakeTime time;
  test::FakeDevices devices(time);
  double now = 0;
  const TrafficClock clock{[&] { return now += 1; }, [] { return false; }};
  TrafficCommand command;
  command.bind = IpAddress::parse("127.0.0.1");
  command.to.port = 0;  // any
  command.wait_seconds = 3;
  const auto listened = listen_for_traffic(command, pod, {devices, clock, [](const std::string&) {}});
  REQUIRE(!listened);
  CHECK(listened.error().text.find("nobody has called in 3 s") == 0);
}

TEST_CASE("the address to call is that of the default route's interface, and a rail's only without another") {
  PodTree tree;
  std::swap(tree.network.links[1], tree.network.links[3]);
  CHECK(address_to_call(tree.read()) == "10.244.1.7");
  tree.network.routes.clear();
  CHECK(address_to_call(tree.read()) == "10.244.1.7");
  tree.network.links[3].addresses.clear();  // eth0
  CHECK(address_to_call(tree.read()) == "10.0.1.2");
  tree.network.links.clear();
  CHECK(address_to_call(tree.read()) == "ADDRESS");
}
