#include "plugin/dra/claim.h"

#include "common/container/claim_record.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

const ClaimName kName{"default", "gpu-and-nic", "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11"};
const ClaimReader kOurs{.driver = "vfrail.io", .node_pool = "node-1"};

// The claim of one pod with a GPU and one of our devices; the parts can be replaced.
struct ClaimJson {
  std::string uid = kName.uid;
  std::string results =
      R"([{"request":"gpu","driver":"gpu.nvidia.com","pool":"node-1","device":"gpu-4"},
          {"request":"nic","driver":"vfrail.io","pool":"node-1","device":"0000-98-02-1"}])";
  std::string config = "[]";
  std::string annotations = R"({"resource.kubernetes.io/pod-claim-name":"devices"})";
  std::string reserved = R"([{"resource":"pods","name":"trainer-0","uid":"77"}])";

  Json json() const {
    auto out = Json::parse(
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"gpu-and-nic",
      "namespace":"default","uid":")" +
        uid + R"(","annotations":)" + annotations +
        R"(},"spec":{},"status":{"allocation":{"devices":{"results":)" + results + R"(,"config":)" + config +
        R"(}},"reservedFor":)" + reserved + "}}");
    REQUIRE(out);
    return *std::move(out);
  }
  Result<Claim> read() const { return read_claim(json(), kName, kOurs); }
  Error refusal() const {
    const auto out = read();
    REQUIRE_FALSE(out);
    CHECK(out.error().text.starts_with("claim default/gpu-and-nic: "));
    return out.error();
  }
};

bool says(const Error& error, std::string_view text) {
  UNSCOPED_INFO(error.text);
  return error.text.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("of a claim with devices of several drivers ours are read, by request and in order") {
  ClaimJson claim;
  SECTION("one") {
    const auto out = claim.read();
    REQUIRE(out);
    CHECK(out->requests == std::vector<ClaimedRequest>{{"nic", {"0000-98-02-1"}}});
    CHECK(out->pod == ClaimingPod{"trainer-0", "77"});
    CHECK(out->node_pool == "node-1");
  }
  SECTION("several, of an alternative too") {
    claim.results =
        R"([{"request":"rail/vf","driver":"vfrail.io","pool":"node-1","device":"b"},
            {"request":"nic","driver":"vfrail.io","pool":"node-1","device":"c"},
            {"request":"rail/vf","driver":"vfrail.io","pool":"node-1","device":"a"}])";
    const auto out = claim.read();
    REQUIRE(out);
    CHECK(out->requests == std::vector<ClaimedRequest>{{"rail/vf", {"b", "a"}}, {"nic", {"c"}}});
  }
}

TEST_CASE("a claim that the scheduler made for extended resources is known by its annotation") {
  ClaimJson claim;
  CHECK_FALSE(claim.read()->for_extended_resource);
  claim.annotations = R"({"resource.kubernetes.io/extended-resource-claim":"true"})";
  const auto out = claim.read();
  REQUIRE(out);
  CHECK(out->for_extended_resource);
}

TEST_CASE("a claim with nothing of ours has no requests, and is refused for nothing") {
  ClaimJson claim;
  claim.results =
      R"([{"request":"gpu","driver":"gpu.nvidia.com","pool":"other","device":"g","adminAccess":true}])";
  claim.reserved = "[]";
  const auto out = claim.read();
  REQUIRE(out);
  CHECK(out->requests.empty());
}

TEST_CASE("shares are read with their ids, and their claim may be of several pods and named directly") {
  ClaimJson claim;
  claim.annotations = "{}";
  claim.reserved = R"([{"resource":"pods","name":"a","uid":"1"},{"resource":"pods","name":"b","uid":"2"}])";
  const std::string share =
      R"({"request":"hca","driver":"vfrail.io","pool":"node-1","device":"h","shareID":"s-1"})";
  claim.results = "[" + share + "]";
  const auto out = claim.read();
  REQUIRE(out);
  CHECK(out->requests == std::vector<ClaimedRequest>{{"hca", {"h"}, {{"h", "s-1"}}}});
  CHECK(out->pod == ClaimingPod{"a", "1"});
  // With a device that one pod alone can have the rules of those hold.
  claim.results =
      "[" + share + R"(,{"request":"nic","driver":"vfrail.io","pool":"node-1","device":"0000-98-02-1"}])";
  CHECK(says(claim.refusal(), "the pod refers to the claim directly"));
}

TEST_CASE(
    "a claim that the pod names directly is prepared where vfrail-cni attaches devices in Multus' place") {
  ClaimJson claim;
  claim.annotations = "{}";
  CHECK(says(claim.refusal(), "--dra-chained"));
  ClaimReader chained = kOurs;
  chained.chained = true;
  const auto out = read_claim(claim.json(), kName, chained);
  REQUIRE(out);
  CHECK(out->is_chained);
  CHECK(read_claim(ClaimJson().json(), kName, chained)->is_chained);
  CHECK_FALSE(ClaimJson().read()->is_chained);
  // Of a VF there is one, also then.
  claim.reserved = R"([{"resource":"pods","name":"a","uid":"1"},{"resource":"pods","name":"b","uid":"2"}])";
  const auto two = read_claim(claim.json(), kName, chained);
  REQUIRE_FALSE(two);
  CHECK(says(two.error(), "reserved for 2 pods"));
}

TEST_CASE("the claims of a pod are found by its uid, in the order of their names") {
  const test::TempDir folder;
  const auto write = [&](const std::string& name, const std::string& uid, const ClaimingPod& pod) {
    ClaimRecord record{.claim = {"team", name, uid}, .pod = pod, .node_pool = "node-1", .requests = {}};
    record.is_chained = name == "b";
    REQUIRE(write_claim(folder.path(), record));
  };
  CHECK(claims_of_pod(folder.path(), "team", {"a", "77"})->empty());
  write("b", "1", {"a", "77"});
  write("a", "2", {"a", "77"});
  write("c", "3", {"a", "78"});
  write("d-77", "4", {"77", "79"});
  const auto found = claims_of_pod(folder.path(), "team", {"a", "77"});
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK(found->front().claim.name == "a");
  CHECK_FALSE(found->front().is_chained);
  CHECK(found->back().is_chained);
  CHECK(claims_of_pod(folder.path(), "team", {"a", ""})->size() == 3);
  CHECK(claims_of_pod(folder.path(), "other", {"a", ""})->empty());
  CHECK(claims_of_pod(folder.path(), "team", {"", ""})->empty());
}

TEST_CASE("a record of shares is read as it was written") {
  const test::TempDir folder;
  ClaimRecord record{.claim = kName, .pod = {"a", "1"}, .node_pool = "node-1", .requests = {}};
  record.requests = {{"hca", {{"rdma-hca-shared", "rdma/hca", "0", "s-1", 4}}}};
  REQUIRE(write_claim(folder.path(), record));
  const auto read = read_claim_record(folder.path(), kName.uid);
  REQUIRE(read);
  CHECK(**read == record);
}

TEST_CASE("a claim that cannot be prepared is refused with cause and remedy") {
  ClaimJson claim;
  SECTION("not allocated") {
    const auto out =
        read_claim(*Json::parse(R"({"metadata":{"uid":")" + kName.uid + R"("},"status":{}})"), kName, kOurs);
    REQUIRE_FALSE(out);
    CHECK(says(out.error(), "the claim is not allocated"));
  }
  SECTION("for another node") {
    claim.results = R"([{"request":"nic","driver":"vfrail.io","pool":"node-2","device":"d"}])";
    CHECK(says(claim.refusal(), "device d of pool node-2, and the pool of this node is node-1"));
  }
  SECTION("for several pods") {
    claim.reserved = R"([{"resource":"pods","name":"a","uid":"1"},{"resource":"pods","name":"b","uid":"2"}])";
    CHECK(says(claim.refusal(),
               "is reserved for 2 pods (a b); a VF has one owner: give each pod a claim of its own"));
  }
  SECTION("for none") {
    claim.reserved = "[]";
    CHECK(says(claim.refusal(), "is reserved for no pod; a VF has one owner"));
  }
  SECTION("for a group of pods") {
    claim.reserved = R"([{"apiGroup":"scheduling.k8s.io","resource":"podgroups","name":"g","uid":"1"}])";
    CHECK(says(claim.refusal(), "is reserved for podgroups g and not for a pod"));
  }
  SECTION("with admin access") {
    claim.results =
        R"([{"request":"nic","driver":"vfrail.io","pool":"node-1","device":"d","adminAccess":true}])";
    const Error error = claim.refusal();
    CHECK(error.code == Errc::unsupported);
    CHECK(says(error,
               "such a claim ignores that a pod has the device already, so vfrail prepares nothing for it"));
  }
  SECTION("another claim of that name") {
    claim.uid = "another";
    const Error error = claim.refusal();
    CHECK(error.code == Errc::not_found);
    CHECK(says(error, "there is a claim of that name with uid another"));
  }
  SECTION("a result that is none") {
    claim.results = R"([{"request":"nic","driver":"vfrail.io","pool":"node-1"}])";
    CHECK(says(claim.refusal(), "status.allocation.devices.results[0].device: missing"));
  }
  SECTION("more results than the API server allows") {
    claim.results = "[";
    for (int i = 0; i < 33; ++i) claim.results += std::string(i == 0 ? "" : ",") + "{}";
    claim.results += "]";
    CHECK(says(claim.refusal(), "results: has 33 entries, at most 32"));
  }
}

TEST_CASE("parameters for our driver are refused with their path, others' are ignored") {
  ClaimJson claim;
  const auto config = [&](const std::string& requests, const std::string& driver,
                          const std::string& parameters) {
    claim.config = R"([{"source":"FromClaim","requests":)" + requests + R"(,"opaque":{"driver":")" + driver +
                   R"(","parameters":)" + parameters + "}}]";
  };
  SECTION("an unknown key") {
    config(R"(["nic"])", "vfrail.io", R"({"ifName":"net1"})");
    CHECK(says(
        claim.refusal(),
        "status.allocation.devices.config[0].opaque.parameters.ifName: driver vfrail.io of this version"));
  }
  SECTION("for all requests") {
    config("[]", "vfrail.io", R"({"kind":"Attachment"})");
    CHECK(says(claim.refusal(), "config[0].opaque.parameters.kind"));
  }
  SECTION("of another driver") {
    config(R"(["nic"])", "gpu.nvidia.com", R"({"sharing":{}})");
    CHECK(claim.read());
  }
  SECTION("for a request of which nothing is ours") {
    config(R"(["gpu"])", "vfrail.io", R"({"ifName":"net1"})");
    CHECK(claim.read());
  }
  SECTION("none in it") {
    config(R"(["nic"])", "vfrail.io", "{}");
    CHECK(claim.read());
  }
  SECTION("for the alternatives of a request") {
    claim.results = R"([{"request":"nic/vf","driver":"vfrail.io","pool":"node-1","device":"d"}])";
    config(R"(["nic"])", "vfrail.io", R"({"ifName":"net1"})");
    CHECK_FALSE(claim.read());
  }
}

TEST_CASE("the record of a claim is read as it was written, and a damaged one names its file") {
  const test::TempDir run;
  const ClaimRecord record{
      .claim = kName,
      .pod = {"trainer-0", "77"},
      .node_pool = "node-1",
      .requests = {{"nic", {{"0000-98-02-1", "nvidia.com/hostdev", "0000:98:02.1"}}}, {"rail/vf", {}}},
      .for_extended_resource = GENERATE(false, true)};
  CHECK(list_claims(run.path())->empty());
  REQUIRE(write_claim(run.path(), record));
  auto read = read_claim_record(run.path(), kName.uid);
  REQUIRE(read);
  CHECK(*read == record);
  CHECK(*list_claims(run.path()) == std::vector<std::string>{kName.uid});
  CHECK_FALSE(read_claim_record(run.path(), "../claims/" + kName.uid));
  CHECK_FALSE(*read_claim_record(run.path(), "another"));
  const std::string path = run.path("claims/" + kName.uid + ".json");
  SECTION("damaged") {
    std::ofstream(path) << "{";
    const auto damaged = read_claim_record(run.path(), kName.uid);
    REQUIRE_FALSE(damaged);
    CHECK(damaged.error().code == Errc::protocol);
    CHECK(says(damaged.error(), kName.uid + ".json cannot be read"));
  }
  SECTION("of another claim") {
    std::filesystem::rename(path, run.path("claims/another.json"));
    CHECK_FALSE(read_claim_record(run.path(), "another"));
  }
  SECTION("removed") {
    REQUIRE(remove_claim(run.path(), kName.uid));
    REQUIRE(remove_claim(run.path(), kName.uid));
    CHECK_FALSE(*read_claim_record(run.path(), kName.uid));
  }
}

TEST_CASE("a claim that the pod names itself is refused, for Multus does not find it") {
  ClaimJson claim;
  claim.annotations = "{}";
  CHECK(says(claim.refusal(), "name a ResourceClaimTemplate in the pod"));
  claim.results = R"([{"request":"gpu","driver":"gpu.nvidia.com","pool":"node-1","device":"gpu-4"}])";
  CHECK(claim.read().ok());
}

TEST_CASE("the claim that the scheduler makes for extended resources is prepared") {
  ClaimJson claim;
  claim.annotations = R"({"resource.kubernetes.io/extended-resource-claim":"true"})";
  CHECK(claim.read().ok());
}
