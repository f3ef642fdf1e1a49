// cni/hook/container_claim.h: by what runtimes write down of a container, and by the records of the node.
#include "cni/hook/container_claim.h"

#include "common/container/allocated_unit.h"
#include "common/container/claim_record.h"
#include "tests/support/temp_dir.h"
#include "tests/support/write_attachment.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

struct HookNode {
  HookNode() { write_config("77"); }
  void write_config(const std::string& uid) const {
    std::ofstream(dir.path("config.json"))
        << R"({"annotations":{"io.kubernetes.cri.sandbox-uid":")" << uid << R"("}})";
  }
  void prepare(const std::vector<ClaimRecord::Device>& devices) const {
    const ClaimRecord record{.claim = {"team", "nics", "claim-1"},
                             .pod = {"train-0", "77"},
                             .node_pool = "node-1",
                             .requests = {{"nic", devices}},
                             .is_chained = true};
    REQUIRE(write_claim(dir.path("run"), record));
  }
  void attach(const std::string& device, const std::string& pod = "train-0") const {
    Record record;
    record.attachment = {"c1", *IfName::parse("net" + device.substr(device.size() - 1))};
    record.network = "pods-claims";
    record.device_key = device;
    record.device = *DeviceId::parse(device);
    record.netns = "/var/run/netns/c1";
    record.config = R"({"type":"vfrail"})";
    record.cni_args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=" + pod;
    write_attachment(Attachments(dir.path("state")), record);
  }
  Result<std::string> check() const {
    const OciState state{.id = "c1", .status = "creating", .pid = 4711, .bundle = dir.path()};
    return check_claim(state, "claim-1", dir.path("run"), Attachments(dir.path("state")));
  }
  std::string refusal() const {
    const auto done = check();
    REQUIRE_FALSE(done);
    return done.error().text;
  }

  TempDir dir;
};

}  // namespace

TEST_CASE("the pod of a container is in its annotations, those of containerd and of CRI-O") {
  CHECK(*parse_pod_uid(R"({"annotations":{"io.kubernetes.cri.sandbox-uid":"77"}})") == "77");
  CHECK(*parse_pod_uid(R"({"annotations":{"io.kubernetes.pod.uid":"78"}})") == "78");
  CHECK(parse_pod_uid(R"({"annotations":{"other":"78"}})")->empty());
  CHECK(parse_pod_uid(R"({"annotations":{"io.kubernetes.pod.uid":78}})")->empty());
  CHECK(parse_pod_uid("{}")->empty());
  CHECK_FALSE(parse_pod_uid("[]"));
}

TEST_CASE("a container whose pod has not got a device of its claim is stopped with the remedy") {
  const HookNode node;
  CHECK_THAT(node.refusal(), Contains("is not prepared on this node"));
  node.prepare({{"a", "rdma/a", "0000:03:02.1"},
                {"s", "rdma/shared", "0", "share-1", 1},
                {"b", "rdma/b", "bundle-0"}});
  CHECK_THAT(node.refusal(), Contains("devices of bundle-0"));
  const AllocatedUnit unit{"bundle-0", "rdma/b", {*DeviceId::parse("0000:03:02.2")}};
  REQUIRE(write_allocated_unit(node.dir.path("run"), unit));
  CHECK_THAT(node.refusal(), Contains("device 0000:03:02.1 of claim team/nics") && Contains("\"claims\""));
  node.attach("0000:03:02.1");
  CHECK_THAT(node.refusal(), Contains("device 0000:03:02.2"));
  node.attach("0000:03:02.2", "another");
  CHECK_THAT(node.refusal(), Contains("device 0000:03:02.2"));
  node.attach("0000:03:02.2");
  CHECK(node.check());
}

TEST_CASE("a container of another pod than the claim's is stopped with the remedy") {
  const HookNode node;
  node.prepare({{"a", "rdma/a", "0000:03:02.1"}});
  node.attach("0000:03:02.1");
  CHECK(node.check());
  node.write_config("78");
  CHECK_THAT(node.refusal(), Contains("it is of pod 78") && Contains("ResourceClaimTemplate"));
  node.write_config("");
  CHECK_THAT(node.refusal(), Contains("does not say of which pod"));
  std::filesystem::remove(node.dir.path("config.json"));
  CHECK_THAT(node.refusal(), Contains("config.json is not there"));
}

}  // namespace vfrail::test
