#include "plugin/dra/claims_in_use.h"

#include "tests/support/temp_dir.h"

#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

ClaimRecord record_of(const std::string& claim, const std::string& resource, const std::string& unit) {
  ClaimRecord out;
  out.claim = {"default", claim, "uid-of-" + claim};
  out.requests = {{"nic", {{"name", resource, unit}}}};
  return out;
}

}  // namespace

TEST_CASE("a device of our claim counts as its resource's, with the container that has it") {
  DevicesInUse in_use;
  in_use.resources["claim default/nics"]["0000:3b:02.1"] = {"default", "trainer-0", "app"};
  resolve_claims({record_of("nics", "nvidia.com/hostdev", "0000:3b:02.1")}, in_use);
  REQUIRE(in_use.find("nvidia.com/hostdev", "0000:3b:02.1") != nullptr);
  CHECK(in_use.find("nvidia.com/hostdev", "0000:3b:02.1")->pod == "trainer-0");
  CHECK(in_use.resources.count("claim default/nics") == 0);
}

TEST_CASE("a record that is damaged is named, and hides no other claim") {
  const test::TempDir run;
  for (const char* name : {"a", "b", "c"})
    REQUIRE(write_claim(run.path(), record_of(name, "nvidia.com/hostdev", "u")));
  std::ofstream(run.path("claims/uid-of-b.json")) << "{";
  const auto read = read_claim_records(run.path());
  REQUIRE(read);
  REQUIRE(read->records.size() == 2);
  CHECK(read->records.front().claim.name == "a");
  CHECK(read->records.back().claim.name == "c");
  REQUIRE(read->unread.size() == 1);
  CHECK(read->unread.front().id == ErrorId::record_damaged);
  CHECK(read->unread.front().text.find("claims/uid-of-b.json cannot be read") != std::string::npos);
}

TEST_CASE("a record whose resource has the name of a claim is damaged") {
  const test::TempDir run;
  REQUIRE(write_claim(run.path(), record_of("a", "claim default/a", "u")));
  const auto read = read_claim_records(run.path());
  REQUIRE(read);
  CHECK(read->records.empty());
  REQUIRE(read->unread.size() == 1);
  CHECK(read->unread.front().text.find("must be the name of a resource") != std::string::npos);
}

TEST_CASE("a device of another driver's claim stays with the claim") {
  DevicesInUse in_use;
  in_use.resources["claim default/nics"]["0000:3b:02.1"] = {"default", "trainer-0", "app"};
  in_use.resources["claim default/nics"]["0000:5e:00.0"] = {"default", "trainer-0", "app"};
  in_use.resources["claim default/other"]["0000:3b:02.2"] = {"default", "trainer-1", "app"};
  resolve_claims({record_of("nics", "nvidia.com/hostdev", "0000:3b:02.1")}, in_use);
  CHECK(in_use.find("claim default/nics", "0000:5e:00.0") != nullptr);
  CHECK(in_use.find("claim default/other", "0000:3b:02.2") != nullptr);
  CHECK(in_use.count("nvidia.com/hostdev") == 1);
}

TEST_CASE("the devices of a bundle count as the bundle, and not as a stranger's") {
  DevicesInUse in_use;
  in_use.resources["claim default/rails"]["0000:3b:02.1"] = {"default", "trainer-0", "app"};
  in_use.resources["claim default/rails"]["0000:5e:02.1"] = {"default", "trainer-0", "app"};
  resolve_claims({record_of("rails", "rdma/hca", "bundle-1")}, in_use);
  CHECK(in_use.find("rdma/hca", "bundle-1") != nullptr);
  CHECK(in_use.resources.size() == 1);
}

TEST_CASE("a claim that is prepared and whose pod does not run yet has nothing in use") {
  DevicesInUse in_use;
  resolve_claims({record_of("nics", "nvidia.com/hostdev", "0000:3b:02.1")}, in_use);
  CHECK(in_use.resources.empty());
}

TEST_CASE("each share of a claim counts as one unit of its pool, none twice") {
  DevicesInUse in_use;
  std::vector<ClaimRecord> records;
  for (const std::string claim : {"a", "b"}) {
    in_use.resources["claim default/" + claim]["0000:3b:00.0"] = {"default", "pod-" + claim, "app"};
    ClaimRecord record;
    record.claim = {"default", claim, "uid-of-" + claim};
    record.requests = {{"left", {{"hca", "rdma/hca", "1", claim + "-left", 4}}},
                       {"right", {{"hca", "rdma/hca", "1", claim + "-right", 4}}}};
    records.push_back(record);
  }
  in_use.resources["rdma/hca"]["5"] = {"default", "by-kubelet", "app"};
  resolve_claims(records, in_use);
  CHECK(in_use.resources.size() == 1);
  CHECK(in_use.count("rdma/hca") == 5);
  // Each fourth unit stands for the same device.
  for (const std::string unit : {"1", "5", "9", "13", "17"}) CHECK(in_use.find("rdma/hca", unit) != nullptr);
  CHECK(in_use.find("rdma/hca", "5")->pod == "by-kubelet");
  CHECK(in_use.find("rdma/hca", "17")->pod == "pod-b");
}
