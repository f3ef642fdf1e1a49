#include "plugin/dra/claim_status.h"

#include "common/node/attachments.h"
#include "plugin/device/allocate/prepared_record.h"
#include "tests/support/temp_dir.h"
#include "tests/support/write_attachment.h"

#include <filesystem>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

const std::string kUid = "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11";
const std::chrono::system_clock::time_point kThen{std::chrono::seconds{1'795'743'000}};

// net1 of trainer-0, with two addresses.
Record attached_record(const std::string& device) {
  Record out;
  out.attachment = {"c1", "net1"};
  out.network = "rail0";
  out.device_key = device;
  out.device = *DeviceId::parse(device);
  out.netns = "/var/run/netns/c1";
  out.config = R"({"type":"vfrail"})";
  out.cni_args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=trainer-0";
  InPod got;
  got.mac = *MacAddress::parse("02:00:00:00:00:01");
  got.mtu = 1500;
  got.addresses = {*IpAddress::parse_cidr("192.168.100.153/27"), *IpAddress::parse_cidr("fd00::1/64")};
  out.in_pod = got;
  return out;
}

ClaimRecord claim_record() {
  ClaimRecord out;
  out.claim = {"default", "nics", kUid};
  out.pod = {"trainer-0", "77"};
  out.node_pool = "node-1";
  out.requests = {{"nic", {{"0000-3b-02-1", "nvidia.com/hostdev", "0000:3b:02.1"}}}};
  return out;
}

PreparedFacts claim_facts() {
  return {.claim = claim_record(), .prepared = kThen, .devices_of = {}, .attached = {}};
}

}  // namespace

TEST_CASE("a device of a claim that a pod has is in the claim's status with its interface") {
  PreparedFacts facts = claim_facts();
  facts.attached["0000:3b:02.1"] = {attached_record("0000:3b:02.1"), kThen};
  CHECK(
      status_devices(facts, "vfrail.io").text() ==
      R"([{"driver":"vfrail.io","pool":"node-1","device":"0000-3b-02-1","conditions":[{"type":"Ready","status":"True",)"
      R"("reason":"Attached","message":"attached as net1","lastTransitionTime":"2026-11-27T01:30:00Z"}],)"
      R"("networkData":{"interfaceName":"net1","ips":["192.168.100.153/27","fd00::1/64"],"hardwareAddress":"02:00:00:00:00:01"}}])");
}

TEST_CASE("a device that is not attached, or not yet, or to another pod, is not in the status") {
  PreparedFacts facts = claim_facts();
  CHECK(status_devices(facts, "vfrail.io").text() == "[]");
  Record record = attached_record("0000:3b:02.1");
  SECTION("ADD is at work") { record.in_pod.reset(); }
  SECTION("another pod") { record.cni_args = "K8S_POD_NAMESPACE=default;K8S_POD_NAME=trainer-1"; }
  facts.attached["0000:3b:02.1"] = {record, kThen};
  CHECK(status_devices(facts, "vfrail.io").text() == "[]");
}

TEST_CASE("a share is in the status with its id from its prepare on") {
  PreparedFacts facts = claim_facts();
  facts.claim.requests = {{"left", {{"rdma-hca-shared", "rdma/hca", "0", "s-1", 1}}},
                          {"right", {{"rdma-hca-shared", "rdma/hca", "0", "s-2", 1}}}};
  const Json out = status_devices(facts, "vfrail.io");
  REQUIRE(out.as_array()->size() == 2);
  CHECK(
      (*out.as_array())[1].text() ==
      R"({"driver":"vfrail.io","pool":"node-1","device":"rdma-hca-shared","shareID":"s-2","conditions":[{"type":"Ready",)"
      R"("status":"True","reason":"Prepared","message":"a share of rdma/hca is prepared","lastTransitionTime":"2026-11-27T01:30:00Z"}]})");
}

TEST_CASE("a bundle has the interface of its first rail, and names all") {
  PreparedFacts facts = claim_facts();
  facts.claim.requests = {{"rails", {{"rdma-hca-bundle-1", "rdma/hca", "bundle-1"}}}};
  facts.devices_of["rdma/hca bundle-1"] = {"0000:3b:02.1", "0000:5e:02.1"};
  facts.attached["0000:3b:02.1"] = {attached_record("0000:3b:02.1"), kThen};
  Record second = attached_record("0000:5e:02.1");
  second.attachment = {"c1", "net2"};
  facts.attached["0000:5e:02.1"] = {second, kThen};
  const std::string text = status_devices(facts, "vfrail.io").text();
  CHECK(text.find(R"("message":"attached as net1, net2")") != std::string::npos);
  CHECK(text.find(R"("interfaceName":"net1")") != std::string::npos);
}

TEST_CASE("the statuses of a node follow what is prepared and what vfrail-cni has recorded") {
  const test::TempDir folder;
  AllocatePlaces places{.sys = SysRoot(folder.path()),
                        .device_info_dir = folder.path("devinfo"),
                        .run_dir = folder.path("run"),
                        .cdi_dir = {},
                        .cni_state_dir = folder.path("cni")};
  const auto devices = [&] {
    const auto all = read_claim_statuses(places, "vfrail.io");
    REQUIRE(all);
    return all->contains(kUid) ? all->at(kUid).devices.text() : "none";
  };
  CHECK(devices() == "none");
  REQUIRE(write_claim(places.run_dir, claim_record()));
  CHECK(devices() == "none");  // a prepare is at work
  PreparedRecord prepared{.owner = kUid, .asked = {}, .files = {}};
  prepared.edits.emplace();
  REQUIRE(write_prepared(places.run_dir, prepared));
  CHECK(devices() == "[]");
  test::write_attachment(Attachments(places.cni_state_dir), attached_record("0000:3b:02.1"));
  CHECK(devices().find(R"("interfaceName":"net1")") != std::string::npos);
  std::filesystem::remove_all(places.cni_state_dir);
  CHECK(devices() == "[]");
}
