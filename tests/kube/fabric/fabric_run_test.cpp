// plugin/kube/fabric/fabric_test.h and plugin/kube/client/pod_exec.h, with a simulated cluster.
#include "plugin/kube/client/pod_exec.h"
#include "plugin/kube/fabric/fabric_test.h"
#include "tests/kube/simulated_cluster.h"

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using Catch::Contains;

Result<FabricReport> run_test(SimulatedCluster& cluster, FabricOptions options, std::stop_token stop = {}) {
  options.name_space = "train";
  std::string said;
  return test_fabric(
      cluster.server().access(), options, [&](const std::string& line) { said += line + "\n"; }, stop);
}

}  // namespace

TEST_CASE("A program runs in a pod, and its output and exit code come back") {
  ApiServer server([](const ServedRequest& request, ServedAnswer& answer) {
    if (request.target.find("/absent/") != std::string::npos)
      return answer.reply(404, status_text(404, "NotFound", "pods \"absent\" not found"));
    answer.run_program(request.target + " " + request.authorization + std::string(100'000, 'x'), 3);
  });
  const auto result =
      run_in_pod(server.access(),
                 {.pod = {"train", "a"}, .container = "c", .words = {"vfrail-check", "--to", "10.0.0.1 &"}});
  REQUIRE(result);
  CHECK(result->exit_code == 3);
  CHECK_THAT(result->output,
             Contains("/api/v1/namespaces/train/pods/a/exec?stdout=true&stderr=true&container=c&command="
                      "vfrail-check&command=--to&command=10.0.0.1%20%26 Bearer secret-token"));
  CHECK(result->output.size() > 100'000);
  const auto absent = run_in_pod(server.access(), {.pod = {"train", "absent"}, .words = {"true"}});
  REQUIRE(!absent);
  CHECK(absent.error().code == Errc::not_found);
  CHECK_THAT(absent.error().text, Contains("exec in pod train/absent: 404") && Contains("not found"));
}

TEST_CASE("A program whose connection is cut, or that says nothing for too long, is an error") {
  std::atomic<bool> silent{false};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    if (silent) return answer.be_silent();
    answer.cut();
  });
  CHECK(!run_in_pod(server.access(), {.pod = {"train", "a"}, .words = {"true"}}));
  silent = true;
  const auto late = run_in_pod(
      server.access(), {.pod = {"train", "a"}, .words = {"true"}, .time = std::chrono::milliseconds(200)});
  REQUIRE(!late);
  CHECK(late.error().code == Errc::timeout);
}

TEST_CASE("The fabric is tested between all nodes, and no pod is left") {
  SimulatedCluster cluster(
      {.count = 5, .rate = [](size_t from, size_t to) { return from == 2 || to == 2 ? 40.0 : 385.0; }});
  const auto report = run_test(cluster, {});
  REQUIRE(report);
  CHECK(report->ends.size() == 5);
  CHECK(report->pairs.size() == 10);
  INFO(render(*report));
  REQUIRE(report->findings.size() == 1);
  CHECK_THAT(report->findings[0].text, Contains("node-2, rail 1"));
  CHECK(cluster.pods() == 0);
}

TEST_CASE("Round trips of a test are shown beside its rates, and a pair far apart is named") {
  SimulatedCluster cluster({.count = 5, .round_trip = [](size_t from, size_t to) {
                              return std::min(from, to) == 1 && std::max(from, to) == 3 ? 9.5 : 2.1;
                            }});
  const auto report = run_test(cluster, {});
  REQUIRE(report);
  CHECK_THAT(render(*report), Contains("2.1/3.1") && Contains("9.5/10"));
  REQUIRE(report->findings.size() == 1);
  CHECK_THAT(report->findings[0].text,
             Contains("node-1 and node-3, rail 1: round trips of 9.5 us where others have 2.1"));
}

TEST_CASE("Pods that do not run are named with their reason, and are deleted") {
  SimulatedCluster cluster({.count = 2, .image_error = "no such image"});
  const auto report = run_test(cluster, {});
  REQUIRE(report);
  CHECK(report->pairs.empty());
  CHECK_THAT(report->findings.at(0).text, Contains("ErrImagePull: no such image"));
  CHECK(cluster.pods() == 0);
}

TEST_CASE("A test that is interrupted deletes its pods") {
  std::stop_source stop;
  SimulatedCluster cluster({.count = 4, .rate = [&](size_t, size_t) {
                              stop.request_stop();
                              return 385.0;
                            }});
  const auto report = run_test(cluster, {}, stop.get_token());
  REQUIRE(!report);
  CHECK(report.error().code == Errc::not_yet);
  CHECK(cluster.pods() == 0);
}

TEST_CASE("What a test cannot begin with is said: one node, another resource, an unknown network") {
  SimulatedCluster one({.count = 1});
  CHECK_THAT(run_test(one, {}).error().text, Contains("only node node-0 offers 1 of nvidia.com/hostdev"));
  CHECK_THAT(run_test(one, {.resource = "a/b"}).error().text,
             Contains("no NetworkAttachmentDefinition is annotated with a/b"));
  SimulatedCluster few({.count = 3, .devices = 2});
  CHECK_THAT(run_test(few, {.units = 4}).error().text, Contains("no node offers 4 of nvidia.com/hostdev"));
  CHECK(few.pods() == 0);
}

}  // namespace vfrail::kube
