// --listen, --to and --loopback: their options, the rails that are tested, and what check VF-P24 says.
#include "cni/in_pod/traffic_command.h"

#include "cni/in_pod/pod_command_line.h"
#include "cni/in_pod/pod_report.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/cni/in_pod/traffic_ends.h"
#include "tests/support/shell.h"

#include <cerrno>
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
  const Json json = traffic_json(*pod.traffic);
  CHECK(*json.find("rails")->as_array()->at(0).find("alone")->find("sent")->find("gbits")->as_double() > 94);
}

TEST_CASE("a listener is called over TCP, ignores who is no caller, and ends after one test") {
  const CheckedPod pod = PodTree().read();
  test::FakeTime time;
  test::FakeDevices devices(time);
  const TrafficClock clock = time.clock();
  TrafficCommand command;
  command.bind = IpAddress::parse("127.0.0.1");
  // Several runs of this test may be under way on one machine.
  const auto port = static_cast<uint16_t>(20000 + ::getpid() % 12000);
  command.to = {*command.bind, port};
  command.size = {65536, 1};
  std::vector<std::string> said;
  Result<> listened;
  std::thread listener([&] {
    listened = listen_for_traffic(command, pod,
                                  {devices, clock, [&](const std::string& line) { said.push_back(line); }});
  });
  test::FakeDevices own(time);
  Result<TrafficOutcome> out = Error{Errc::system, 0, "not tried"};
  TrafficCommand call = command;
  call.role = TrafficRole::call;
  for (int i = 0; i < 500; ++i) {  // until it listens
    auto stranger = connect_to_listener(command.to, 5, clock);
    if (!stranger) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    CHECK(stranger->write("hello?\n", 5));
    CHECK(stranger->read_line(20)->find("error") != std::string::npos);
    out = test_traffic(call, pod, {own, clock, [](const std::string&) {}});
    break;
  }
  listener.join();
  REQUIRE(out);
  CHECK(listened);
  CHECK(out->rails.size() == 2);
  CHECK(out->peer == "127.0.0.1");
  REQUIRE(said.size() == 3);
  CHECK(said[0] == "listening on 127.0.0.1, port " + std::to_string(port) +
                       ", for 600 s; in the other pod: vfrail-check --to 127.0.0.1 --port " +
                       std::to_string(port));
  CHECK(said[1].find("127.0.0.1: no test: a line of the peer") == 0);
  CHECK(said[2] == "127.0.0.1: test done");
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
