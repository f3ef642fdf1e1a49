// vfrail-check itself: its options, both forms of its answer, and its exit codes.
#include "common/json.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/support/shell.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;
using test::run_in_shell;

namespace {

test::ShellOutcome check(const PodTree& tree, const std::string& options) {
  return run_in_shell("vfrail-check --root " + tree.root() + " " + options);
}

}  // namespace

TEST_CASE("the exit code is 1 from the finding of --fail-on") {
  PodTree tree;
  CHECK(check(tree, "").status == 0);
  tree.remove("dev/infiniband/rdma_cm");  // a note
  CHECK(check(tree, "--fail-on advice").status == 0);
  CHECK(check(tree, "--fail-on note").status == 1);
  tree.remove("dev/infiniband/uverbs6");  // a fault
  CHECK(check(tree, "").status == 1);
  CHECK(run_in_shell("vfrail-check --fail-on sometimes").status == 2);
  CHECK(run_in_shell("vfrail-check -o yaml").status == 2);
}

TEST_CASE("the JSON has every check, perftest's lines and NCCL's") {
  const PodTree tree;
  const auto json = Json::parse(check(tree, "-o json").output);
  REQUIRE(json);
  CHECK(*json->find("schema_version")->as_int() == 1);
  CHECK(json->find("checks")->as_array()->size() == 22);
  const Json& first = json->find("checks")->as_array()->front();
  CHECK(*first.find("id")->as_text() == "VF-P01");
  CHECK(*first.find("finding")->as_text() == "ok");
  CHECK(json->find("perftest")->as_array()->size() == 4);
  CHECK(*json->find("nccl_line")->as_text() == "NET/IB : Using [0]mlx5_2:1/RoCE [1]mlx5_6:1/RoCE");
}

TEST_CASE("an id of a check is explained, also without VF- and in small letters") {
  const auto outcome = run_in_shell("vfrail-check explain p07");
  CHECK(outcome.status == 0);
  CHECK(outcome.output.starts_with(
      "VF-P07 interfaces is ok when the interface of every RoCE device is in this pod\n  Symptom: "));
  CHECK(run_in_shell("vfrail-check explain VF-P07").output == outcome.output);
  CHECK(run_in_shell("vfrail-check explain VF-P99").status == 1);
}
