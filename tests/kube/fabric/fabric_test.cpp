// plugin/kube/fabric: which pairs are measured when, what is read of a measurement, and what it means.
#include "plugin/kube/client/refusal.h"
#include "plugin/kube/fabric/fabric_report.h"
#include "plugin/kube/fabric/rounds.h"
#include "plugin/kube/fabric/test_pods.h"

#include <set>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using Catch::Contains;

// All pairs of `count` nodes with a rail each of which every path has `gbits`.
FabricReport even_report(size_t count, double gbits, double port = 400) {
  FabricReport out;
  out.seconds = 2;
  for (size_t i = 0; i < count; ++i)
    out.ends.push_back({"node-" + std::to_string(i + 1), "d/p" + std::to_string(i)});
  for (const Round& round : all_pairs(count)) {
    for (const auto& [from, to] : round)
      out.pairs.push_back({from, to, {{"mlx5_0/1", "mlx5_0/1", port, gbits, gbits}}});
  }
  return out;
}

std::string findings_of(FabricReport& report) {
  report.findings = evaluate(report);
  std::string out;
  for (const FabricFinding& finding : report.findings)
    out += (finding.is_fault ? "FAULT " : "note ") + finding.text + "\n";
  return out;
}

}  // namespace

TEST_CASE("Each pair is measured once, and no end is in two pairs of a round") {
  for (size_t count = 0; count <= 33; ++count) {
    INFO(count);
    std::set<Pair> seen;
    const auto rounds = all_pairs(count);
    for (const Round& round : rounds) {
      std::set<size_t> busy;
      for (const Pair& pair : round) {
        CHECK(pair.first < pair.second);
        CHECK(pair.second < count);
        CHECK(seen.insert(pair).second);
        CHECK(busy.insert(pair.first).second);
        CHECK(busy.insert(pair.second).second);
      }
    }
    CHECK(seen.size() == (count < 2 ? 0 : count * (count - 1) / 2));
    CHECK(rounds.size() == (count < 2 ? 0 : count % 2 == 0 ? count - 1 : count));
  }
}

TEST_CASE("Of vfrail-check's output the rates of each rail are read, and why one is missing") {
  const auto rails = read_measurement(R"({"traffic":{"rails":[
    {"name":"mlx5_0","peer_name":"mlx5_4","rate_gbits":200.0,"alone":{"failed":null,
     "sent":{"gbits":197.5,"failed":null,"round_trip":{"typical_us":2.14,"p99_us":3.4,"count":1000}},
     "received":{"gbits":3,"failed":null,"round_trip":{"typical_us":7,"p99_us":null,"count":9}}}},
    {"name":"mlx5_1","peer_name":"mlx5_5","rate_gbits":200.0,"alone":{"failed":"transport retry counter exceeded","at_peer":true}},
    {"name":"mlx5_2","peer_name":"mlx5_6","rate_gbits":200.0,"alone":{"failed":null,
     "sent":{"gbits":0.0,"failed":"completion status 12"},"received":{"gbits":0.0,"failed":null}}}]}})");
  REQUIRE(rails);
  REQUIRE(rails->size() == 3);
  CHECK((*rails)[0].sent == 197.5);
  CHECK((*rails)[0].received == 3);
  CHECK((*rails)[0].peer_rail == "mlx5_4");
  CHECK((*rails)[0].sent_round_trip->typical_us == 2.14);
  CHECK((*rails)[0].sent_round_trip->p99_us == 3.4);
  CHECK((*rails)[0].received_round_trip->typical_us == 7);
  CHECK(!(*rails)[0].received_round_trip->p99_us);
  CHECK(!(*rails)[1].sent_round_trip);
  CHECK((*rails)[1].failed == "transport retry counter exceeded");
  CHECK(!(*rails)[1].sent);
  CHECK((*rails)[2].failed == "completion status 12");
  for (const char* text :
       {"", "{}", R"({"traffic":{"rails":[]}})", R"({"traffic":{"rails":[7]}})",
        R"({"traffic":{"rails":[{"name":"a"}]}})",
        R"({"traffic":{"rails":[{"name":"a","alone":{"sent":{"gbits":1,"round_trip":7}}}]}})",
        "vfrail-check: no rail"}) {
    INFO(text);
    CHECK(!read_measurement(text));
  }
}

TEST_CASE("A fabric in which all is even and fast has no finding") {
  FabricReport report = even_report(4, 385);
  CHECK(findings_of(report).empty());
  CHECK_THAT(render(report),
             Contains("no slow card, cable or node") && Contains("385") && Contains("6 pairs"));
}

TEST_CASE("A card of which most paths are slow is named once, and not each of its paths") {
  FabricReport report = even_report(5, 385);
  for (PairMeasurement& pair : report.pairs) {
    if (pair.from == 2 || pair.to == 2) pair.rails[0].sent = pair.rails[0].received = 47;
  }
  const std::string text = findings_of(report);
  CHECK_THAT(
      text,
      Contains(
          "FAULT node-3, rail 1 (mlx5_0/1): 47 of 400 Gb/s, slow on 8 of 8 paths where others have 385"));
  CHECK(report.findings.size() == 1);
}

TEST_CASE("A slow path between two ends that are fast elsewhere is a path") {
  FabricReport report = even_report(4, 385);
  report.pairs[0].rails[0].received = 100;
  const std::string text = findings_of(report);
  CHECK(report.findings.size() == 1);
  CHECK_THAT(text, Contains("100 of 400 Gb/s where others have 385: both ends are fast elsewhere"));
}

TEST_CASE("What is slow everywhere is a note about the rail, and no card is blamed") {
  FabricReport report = even_report(4, 120);
  CHECK_THAT(findings_of(report), Contains("note rail 1: the median is 120 of 400 Gb/s"));
  CHECK(report.findings.size() == 1);
}

TEST_CASE("An earlier vfrail-check measures no round trips: none are shown, and that is said") {
  const auto rails = read_measurement(
      R"({"traffic":{"rails":[{"name":"a","peer_name":"b","rate_gbits":1.0,"alone":{"failed":null,"sent":{"gbits":1.0},"received":{"gbits":1.0}}}]}})");
  REQUIRE(rails);
  CHECK(!(*rails)[0].sent_round_trip);
  FabricReport report = even_report(2, 385);
  CHECK_THAT(render(report),
             Contains("round trips: not measured: the image's vfrail-check is an older one") &&
                 !Contains("round trip in us"));
  CHECK(to_json(report).find("paths")->as_array()->at(0).find("round_trip_us")->is_null());
}

TEST_CASE("A card of which most round trips are late is named once, as a note: there is no rated latency") {
  FabricReport report = even_report(5, 385);
  for (PairMeasurement& pair : report.pairs) {
    const double us = pair.from == 2 || pair.to == 2 ? 8.4 : 2.1;
    pair.rails[0].sent_round_trip = pair.rails[0].received_round_trip = RoundTrip{us, 12};
  }
  CHECK_THAT(findings_of(report), Contains("note node-3, rail 1 (mlx5_0/1): round trips of 8.4 us on 8 of 8 "
                                           "paths where others have 2.1"));
  CHECK(report.findings.size() == 1);
  CHECK_THAT(render(report), Contains("rail 1, round trip in us: median/99th percentile; from the row") &&
                                 Contains("8.4/12"));
  for (PairMeasurement& pair : report.pairs) {
    if (pair.from == 2 || pair.to == 2) pair.rails[0].sent = pair.rails[0].received = 47;
  }
  CHECK_THAT(findings_of(report), Contains("FAULT node-3, rail 1") && !Contains("round trips"));
}

TEST_CASE("Round trips that differ by less than a microsecond, or by one more switch, are no finding") {
  FabricReport report = even_report(4, 385);
  for (PairMeasurement& pair : report.pairs)
    pair.rails[0].sent_round_trip = pair.rails[0].received_round_trip = RoundTrip{2.4, {}};
  report.pairs[1].rails[0].sent_round_trip = RoundTrip{4.1, 6};
  CHECK(findings_of(report).empty());
  for (PairMeasurement& pair : report.pairs)
    pair.rails[0].sent_round_trip = pair.rails[0].received_round_trip = RoundTrip{0.4, {}};
  report.pairs[1].rails[0].sent_round_trip = RoundTrip{1.3, 6};
  CHECK(findings_of(report).empty());
}

TEST_CASE("A rate that is usual for the port is not slow because others are faster") {
  FabricReport report = even_report(4, 385);
  for (PairMeasurement& pair : report.pairs) {
    if (pair.from == 0 || pair.to == 0) pair.rails[0] = {"mlx5_0/1", "mlx5_0/1", 100, 97, 97};
  }
  CHECK(findings_of(report).empty());  // a node with 100 Gb/s cards
}

TEST_CASE("Ends and pairs that failed are faults, together by their reason") {
  FabricReport report = even_report(4, 385);
  report.ends[3].failed = "ImagePullBackOff: no such image";
  report.pairs[1].failed = "exec in pod d/p1: 403";
  report.pairs[1].rails.clear();
  report.pairs[2].rails[0] = {"mlx5_0/1", "mlx5_0/1", 400, {}, {}, "transport retry counter exceeded"};
  const std::string text = findings_of(report);
  CHECK_THAT(text, Contains("node-4: no test: ImagePullBackOff") && Contains("exec in pod d/p1: 403") &&
                       Contains("mlx5_0/1: transport retry counter exceeded"));
  CHECK_THAT(render(report), Contains("failed") && !Contains("no slow card"));
}

TEST_CASE("Two ends on one node differ by their pods, and of many ends the slowest paths are shown") {
  FabricReport two = even_report(2, 385);
  two.ends[1].node = "node-1";
  CHECK_THAT(render(two), Contains("node-1 (d/p0)") && Contains("node-1 (d/p1)"));
  FabricReport many = even_report(20, 385);
  many.pairs[7].rails[0].sent = 11;
  const std::string text = render(many);
  CHECK_THAT(text, Contains("the slowest paths") && Contains("11 of 400 Gb/s") && !Contains("the longest"));
  many.pairs[7].rails[0].sent_round_trip = RoundTrip{31, 40};
  CHECK_THAT(render(many), Contains("the longest round trips") && Contains("rail 1: 31/40 us"));
  CHECK(text.find("from the row") == std::string::npos);
}

TEST_CASE("A rate of some hundredths is not shown as zero") {
  CHECK_THAT(render(even_report(2, 0.042)), Contains(" 0.04") && !Contains("0.0\n"));
}

TEST_CASE("The report as JSON has every path with its direction") {
  FabricReport report = even_report(2, 385);
  report.pairs[0].rails[0].received = 100;
  report.pairs[0].rails[0].received_round_trip = RoundTrip{2.5, 3.5};
  const Json json = to_json(report);
  const auto& paths = *json.find("paths")->as_array();
  REQUIRE(paths.size() == 2);
  CHECK(*paths[0].find("gbits")->as_double() == 385);
  CHECK(*paths[1].find("from")->as_int() == 1);
  CHECK(*paths[1].find("gbits")->as_double() == 100);
  CHECK(*paths[1].find("round_trip_us")->as_double() == 2.5);
  CHECK(*paths[1].find("round_trip_p99_us")->as_double() == 3.5);
  CHECK(paths[0].find("round_trip_us")->is_null());
  CHECK_THAT(*json.find("how")->find("round_trip_us")->as_text(),
             Contains("writes of 8 bytes one at a time"));
}

TEST_CASE("A pod of the test is on its node, listens, and ends by itself") {
  TestPods pods{.test = "k7", .name_space = "train", .image = "vfrail:1", .resource = "nvidia.com/hostdev"};
  pods.units = 2;
  pods.networks = {"train/a", "train/a"};
  const std::string text = test_pod(pods, "gpu-7", 3).text();
  CHECK_THAT(text, Contains(R"("name":"vfrail-test-k7-3")") && Contains(R"("values":["gpu-7"])") &&
                       Contains(R"("k8s.v1.cni.cncf.io/networks":"train/a,train/a")") &&
                       Contains(R"("nvidia.com/hostdev":2)") && Contains(R"("--listen","--keep")") &&
                       Contains(R"("activeDeadlineSeconds":3600)") &&
                       Contains(R"("vfrail.io/fabric-test":"k7")") &&
                       Contains(R"("automountServiceAccountToken":false)"));
}

TEST_CASE("Of a pod it is known whether it runs, why it waits, and why it never will") {
  const auto state = [](const char* status) {
    return read_pod_state(*Json::parse(std::string(R"({"status":)") + status + "}"));
  };
  CHECK(state(R"({"phase":"Running","podIP":"10.1.2.3"})").runs);
  CHECK(!state(R"({"phase":"Running"})").runs);
  CHECK(
      state(
          R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"0/3 nodes: Insufficient nvidia.com/hostdev"}]})")
          .waits == "0/3 nodes: Insufficient nvidia.com/hostdev");
  CHECK_THAT(state(R"({"phase":"Failed","reason":"UnexpectedAdmissionError","message":"x"})").failed,
             Contains("UnexpectedAdmissionError: x"));
  CHECK_THAT(
      state(
          R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ImagePullBackOff","message":"m"}}}]})")
          .failed,
      Contains("ImagePullBackOff: m"));
  CHECK(
      state(
          R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":"ContainerCreating"}}}]})")
          .failed.empty());
}

TEST_CASE("A node takes part if it is ready, not cordoned and has enough of the resource") {
  const auto node = [](const char* unschedulable, const char* ready, const char* count) {
    return *Json::parse(std::string(R"({"spec":{"unschedulable":)") + unschedulable +
                        R"(},"status":{"conditions":[{"type":"Ready","status":")" + ready +
                        R"("}],"allocatable":{"nvidia.com/hostdev":")" + count + R"("}}})");
  };
  CHECK(offers(node("false", "True", "2"), "nvidia.com/hostdev", 2));
  CHECK(!offers(node("false", "True", "1"), "nvidia.com/hostdev", 2));
  CHECK(!offers(node("true", "True", "2"), "nvidia.com/hostdev", 2));
  CHECK(!offers(node("false", "Unknown", "2"), "nvidia.com/hostdev", 2));
  CHECK(!offers(node("false", "True", "2"), "nvidia.com/other", 1));
}

TEST_CASE(
    "The network of a resource is the only one, that of the namespace first; of several one is to be "
    "chosen") {
  const auto network = [](const char* space, const char* name, const char* resource) {
    return *Json::parse(std::string(R"({"metadata":{"namespace":")") + space + R"(","name":")" + name +
                        R"(","annotations":{"k8s.v1.cni.cncf.io/resourceName":")" + resource + R"("}}})");
  };
  const std::vector<Json> networks{network("a", "one", "r/x"), network("b", "two", "r/x"),
                                   network("a", "other", "r/y")};
  CHECK(*network_for(networks, "r/y", "b") == "a/other");
  CHECK(*network_for(networks, "r/x", "b") == "b/two");
  CHECK_THAT(network_for(networks, "r/x", "c").error().text,
             Contains("a/one b/two") && Contains("--network"));
  CHECK_THAT(network_for(networks, "r/z", "c").error().text, Contains("--host-network"));
}

TEST_CASE("The end of a command in a pod is an exit code, or why it did not run") {
  CHECK(*read_end_of_command(R"({"status":"Success"})") == 0);
  CHECK(
      *read_end_of_command(
          R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}})") ==
      3);
  CHECK_THAT(read_end_of_command(R"({"status":"Failure","reason":"InternalError","message":"no such file"})")
                 .error()
                 .text,
             Contains("no such file"));
  CHECK(!read_end_of_command(R"({"status":"Failure","reason":"NonZeroExitCode"})").ok());
  CHECK_THAT(
      read_end_of_command(R"({"status":"Failure","reason":"InternalError","message":""})").error().text,
      Catch::Contains("the API server gives no reason"));
  CHECK(!read_end_of_command("x").ok());
}

}  // namespace vfrail::kube
