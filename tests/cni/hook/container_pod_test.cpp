// cni/hook/container_pod.h: by what runtimes write down of a container.
#include "cni/hook/container_pod.h"

#include "tests/support/temp_dir.h"

#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::cni;
using Catch::Contains;

TEST_CASE("the pod of a container is in its annotations, those of containerd and of CRI-O") {
  CHECK(*parse_pod_uid(R"({"annotations":{"io.kubernetes.cri.sandbox-uid":"77"}})") == "77");
  CHECK(*parse_pod_uid(R"({"annotations":{"io.kubernetes.pod.uid":"78"}})") == "78");
  CHECK(parse_pod_uid(R"({"annotations":{"other":"78"}})")->empty());
  CHECK(parse_pod_uid(R"({"annotations":{"io.kubernetes.pod.uid":78}})")->empty());
  CHECK(parse_pod_uid("{}")->empty());
  CHECK_FALSE(parse_pod_uid("[]"));
}

TEST_CASE("a container of another pod than the claim's is stopped with the remedy") {
  const test::TempDir bundle;
  const OciState state{.id = "c1", .status = "creating", .pid = 4711, .bundle = bundle.path()};
  CHECK_THAT(check_pod(state, "77").error().text, Contains("config.json is not there"));
  const auto write = [&](const char* text) { std::ofstream(bundle.path("config.json")) << text; };
  write(R"({"annotations":{"io.kubernetes.cri.sandbox-uid":"77"}})");
  CHECK(check_pod(state, "77"));
  const auto other = check_pod(state, "78");
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::busy);
  CHECK_THAT(other.error().text,
             Contains("prepared for pod 78, and it is of pod 77") && Contains("ResourceClaimTemplate"));
  write("{}");
  CHECK_THAT(check_pod(state, "77").error().text, Contains("does not say of which pod"));
}
