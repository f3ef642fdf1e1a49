// plugin/admin/advise/compare: what other plugins select on a node with their files, and what vfrail does.
#include "plugin/admin/advise/compare.h"

#include "plugin/admin/advise/compare_command.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Result<std::string> compared(const std::string& from, const std::string& text, const std::string& tree,
                             const std::string& file = "all.yaml", bool knows_devlink = false) {
  const auto documents = read_documents(text, file);
  if (!documents) FAIL(documents.error().text);
  const Inventory inventory = Tree(tree).scan();
  return compare({.from = from, .file = file, .resource_prefix = kPeersPrefix}, *documents,
                 {inventory, knows_devlink});
}

std::string text_of(const Result<std::string>& text) {
  if (!text) FAIL(text.error().text);
  return *text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const kHostdevPolicy = R"(apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata: {name: nic-cluster-policy}
spec:
  sriovDevicePlugin:
    image: sriov-network-device-plugin
    config: |
      {"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
        "selectors": {"vendors": ["15b3"], "devices": [], "linkTypes": [], "isRdma": true}}]}
)";

}  // namespace

TEST_CASE("A100 node: sriov-network-device-plugin has the uplink in hostdev, vfrail has not") {
  const std::string text = text_of(compared("sriov-device-plugin", kHostdevPolicy, "a100_bond"));
  CHECK(contains(text, "sriov-network-device-plugin selects 0000:18:00.0 0000:4b:00.0 0000:b2:00.0"));
  CHECK(contains(text, "vfrail selects 0000:4b:00.0 0000:b2:00.0"));
  CHECK(contains(text,
                 "- 0000:18:00.0: left out, the host uses it: part of bond0 (a bond), which carries the IPv4 "
                 "default route"));
  // The fourth device of the report: its RDMA device is the bond's, below the other port.
  CHECK(contains(text, "perhaps 0000:18:00.1: not known: needs devlink's enable_rdma"));
  CHECK_FALSE(contains(text_of(compared("sriov-device-plugin", kHostdevPolicy, "a100_bond", "a.yaml", true)),
                       "perhaps"));
}

TEST_CASE("shared resources of the A100 and V100 nodes are the same under both plugins") {
  const char* const map = R"({"configList":[
    {"resourceName":"rdma_v100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp134s0f0","ibp134s0f1"],"linkTypes":["infiniband"]}},
    {"resourceName":"rdma_a100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp75s0","ibp178s0"],"linkTypes":["infiniband"]}}]})";
  const std::string a100 = text_of(compared("rdma-shared", map, "a100_bond", "c.json"));
  CHECK(contains(a100,
                 "k8s-rdma-shared-dev-plugin selects 0000:4b:00.0 0000:b2:00.0\n  vfrail selects the same"));
  CHECK(contains(a100,
                 "rdma/rdma_v100\n  k8s-rdma-shared-dev-plugin selects nothing\n  vfrail selects the same"));
  // Both run where the mode is shared; the other does not start where it is exclusive.
  CHECK(contains(text_of(compared("rdma-shared", map, "igb_node", "c.json")),
                 "but it does not start in RDMA namespace mode exclusive"));
}

TEST_CASE("a resource of both link types is pointed out") {
  const char* const map =
      R"({"configList":[{"resourceName":"all","rdmaHcaMax":8,"selectors":{"vendors":["15b3"]}}]})";
  CHECK(contains(text_of(compared("rdma-shared", map, "a100_bond", "c.json")),
                 "InfiniBand and Ethernet devices on this node: linkTypes"));
}

TEST_CASE("mode hca has every RDMA device under both") {
  const std::string text = text_of(compared("rdma-sriov", R"({"mode":"hca"})", "erdma_vm", "c.json"));
  CHECK(contains(text,
                 "k8s-rdma-sriov-dev-plugin selects 0000:1a:00.0 0000:9c:00.0\n  vfrail selects the same"));
}

TEST_CASE("eRDMA, which is no network function by its PCI class, is selected by vfrail alone") {
  const char* const shared =
      R"({"configList":[{"resourceName":"e","rdmaHcaMax":9,"selectors":{"vendors":["1ded"]}}]})";
  CHECK(contains(text_of(compared("rdma-shared", shared, "erdma_vm", "c.json")),
                 "selects nothing\n  vfrail selects 0000:1a:00.0 0000:9c:00.0"));
  const char* const list = R"({"resourceList":[{"resourceName":"e","selectors":{"vendors":["1ded"]}}]})";
  CHECK(contains(text_of(compared("sriov-device-plugin", list, "erdma_vm", "c.json")),
                 "selects nothing\n  vfrail selects 0000:1a:00.0 0000:9c:00.0"));
}

TEST_CASE("a device goes to the first resource under both") {
  const char* const lists = R"({"resourceList":[
    {"resourceName":"a","selectors":{"devices":["101b"],"isRdma":true}},
    {"resourceName":"b","selectors":{"vendors":["15b3"],"linkTypes":["infiniband"]}}]})";
  CHECK(contains(text_of(compared("sriov-device-plugin", lists, "a100_bond", "c.json")),
                 "intel.com/b\n  sriov-network-device-plugin selects nothing\n  vfrail selects the same"));
}

TEST_CASE("a resource that selects by DDP packages has a note about what devlink does not report") {
  const std::string text = text_of(compared(
      "sriov-device-plugin", R"({"resourceList":[{"resourceName":"a","selectors":{"ddpProfiles":["GTP"]}}]})",
      "a100_bond"));
  CHECK(contains(text, "ddpProfiles of intel.com/a are compared with fw.app.name"));
}

TEST_CASE("a policy for DPDK: neither plugin selects a VF with the kernel's driver") {
  const std::string text = text_of(compared("sriov-device-plugin", R"(apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: dpdk}
spec:
  resourceName: dpdk
  deviceType: vfio-pci
  nicSelector: {vendor: "15b3"}
)",
                                            "a100_bond"));
  CHECK(contains(
      text, "openshift.io/dpdk\n  sriov-network-device-plugin selects nothing\n  vfrail selects the same"));
}

TEST_CASE("a file without anything of that plugin is refused") {
  CHECK_FALSE(compared("rdma-shared", kHostdevPolicy, "a100_bond"));
  CHECK_FALSE(compared("macvlan", kHostdevPolicy, "a100_bond"));
}

TEST_CASE("vfrail compare: exit codes") {
  const Tree tree("a100_bond");
  const test::TempDir folder;
  const std::string file = test::write(folder, "policy.yaml", kHostdevPolicy);
  const auto run = [&](const CompareOptions& options) { return test::run([&] { return compare(options); }); };
  const test::Run good = run({.from = "sriov-device-plugin", .file = file, .root = tree.root()});
  CHECK(good.code == 0);
  CHECK(contains(good.out, "nvidia.com/hostdev\n  sriov-network-device-plugin selects"));
  CHECK(run({.from = "rdma-shared", .file = file, .root = tree.root()}).code == 2);
  CHECK(run({.from = "rdma-shared", .file = "/nowhere", .root = tree.root()}).code == 2);
  CHECK(run({.from = "sriov-device-plugin", .file = file, .root = "/nowhere"}).code == 1);
}

TEST_CASE("whose configuration it is is known by its keys, and by the project's name") {
  const std::string shared =
      R"({"configList":[{"resourceName":"a","rdmaHcaMax":3,"selectors":{"linkTypes":["infiniband"]}}]})";
  const std::string named = text_of(compared("rdma-shared", shared, "a100_bond", "c.json"));
  CHECK(text_of(compared("", shared, "a100_bond", "c.json")) == named);
  CHECK(text_of(compared("k8s-rdma-shared-dev-plugin", shared, "a100_bond", "c.json")) == named);
  CHECK(contains(text_of(compared("", kHostdevPolicy, "a100_bond")), "sriov-network-device-plugin selects"));
  const auto none = compared("", R"({"resourceName":"a"})", "a100_bond", "c.json");
  REQUIRE_FALSE(none);
  CHECK(none.error().text == "c.json: there is no key resourceList, configList, mode in it");
}
