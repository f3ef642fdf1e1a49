// Configurations as the objects of Kubernetes carry them, through parse_config(): what is taken, and where a
// message says that it is.
#include "common/text.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/mistakes.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Config parse(const std::string& text, const std::string& prefix = kPeersPrefix) {
  auto config = parse_config(text, {.file = "f.yaml", .default_prefix = prefix});
  if (!config) FAIL(config.error().text);
  return *std::move(config);
}

std::string error_of(const std::string& text) {
  auto config = parse_config(text, {.file = "f.yaml"});
  REQUIRE_FALSE(config);
  return config.error().text;
}

using Texts = std::vector<std::string>;

constexpr const char* kHead =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata:\n";
constexpr const char* kOne =
    R"({"resourceList": [{"resourceName": "x", "selectors": {"vendors": ["15b3"]}}]})";

std::string with(const std::string& key, const std::string& text = kOne) {
  return "  " + key + ": |\n    " + text + "\n";
}

std::string policy(const std::string& name, const std::string& spec) {
  return "---\napiVersion: sriovnetwork.openshift.io/v1\nkind: SriovNetworkNodePolicy\nmetadata: {name: " +
         name + ", namespace: s}\nspec:\n" + spec;
}

}  // namespace

TEST_CASE("a ConfigMap's configuration is under one of the peers' keys, and which one is noted") {
  for (const char* key : {"config.json", "config.yaml", "config.yml", "config"}) {
    CAPTURE(key);
    const Config config = parse(kHead + with(key));
    REQUIRE(config.resources.size() == 1);
    CHECK(config.notes == Texts{"f.yaml: document 1 (ConfigMap b/a): the configuration is data[\"" +
                                std::string(key) + "\"] (line 7)"});
  }
  const Config both = parse(kHead + with("config", "{}") + with("config.json"));
  CHECK(both.resources.size() == 1);
  CHECK(both.notes.at(0).find("is data[\"config.json\"] (line 9), not config") != std::string::npos);
}

TEST_CASE("a ConfigMap with another key is accepted if that is the only configuration in it") {
  CHECK(parse(kHead + with("node-1") + with("other", "hello")).notes.at(0).find("data[\"node-1\"]") !=
        std::string::npos);
  CHECK(error_of(kHead + with("node-1") + with("node-2")) ==
        "f.yaml: document 1 (ConfigMap b/a): data (line 7): node-1, node-2 have a configuration each, and "
        "none is "
        "called config.json: give one of them, as with kubectl get configmap -o jsonpath='{.data.KEY}'");
  CHECK(error_of(kHead + with("other", "hello")) ==
        "f.yaml: no configuration: there is ConfigMap b/a; expected a resourceList or configList, or a "
        "ConfigMap, NicClusterPolicy or SriovNetworkNodePolicy with one");
}

TEST_CASE("a configuration may itself be YAML, alone or in a ConfigMap") {
  const std::string yaml =
      "resourceList:\n- resourceName: x\n  selectors:\n    vendors: [15b3]\n    isRdma: true\n";
  CHECK(parse(yaml).resources.at(0).selectors.at(0).is_rdma);
  std::string block = "  config.yaml: |\n";
  for (const std::string& line : split(yaml, "\n")) block += "    " + line + "\n";
  CHECK(parse(kHead + block).resources.at(0).selectors.at(0).list("vendors") == Texts{"15b3"});
  CHECK(error_of("resourceList:\n- resourceName: x\n  selectors:\n    vendors: [8086]\n") ==
        "f.yaml: document 1: resourceList[0] (intel.com/x): selectors.vendors[0] (line 4): must be a string, "
        "got a "
        "number (8086)");
}

TEST_CASE("an error within a ConfigMap has file, document, line and key") {
  const std::string text =
      std::string(kHead) +
      "  config.json: |\n    {\"resourceList\": [\n      {\"resourceName\": \"x\",\n       "
      "\"selectors\": {\n         \"vendor\": [\"15b3\"]}}]}\n";
  CHECK(error_of(text) ==
        "f.yaml: document 1 (ConfigMap b/a): data[\"config.json\"]: resourceList[0] (intel.com/x): "
        "selectors.vendor "
        "(line 11): unknown key; without it, more devices are selected than intended; did you mean "
        "\"vendors\"?");
  CHECK(error_of(kHead + with("config.json", "{\"resourceList\": oops}")) ==
        "f.yaml: document 1 (ConfigMap b/a): data[\"config.json\"]: line 8, column 18: no value: a comma too "
        "many before it, or a text without quotes");
  CHECK(error_of(std::string(kHead) + "  config.json: \"\"\n")
            .find("data[\"config.json\"]: line 7: it is empty") != std::string::npos);
  const Config odd =
      parse(kHead + with("config.json",
                         R"({"resourceList":[{"resourceName":"x","selectors":{"vendors":["0x15b3"]}}]})"));
  CHECK(test::mistakes_of(odd).at(0).find("selectors.vendors (line 8): \"0x15b3\" can never match") !=
        std::string::npos);
}

TEST_CASE("a NicClusterPolicy's texts are the configurations of both device plugins") {
  const std::string head =
      "apiVersion: mellanox.com/v1alpha1\nkind: NicClusterPolicy\nmetadata: {name: n}\nspec:\n";
  const std::string sriov =
      "  sriovDevicePlugin:\n    image: i\n    config: |\n      " + std::string(kOne) + "\n";
  const std::string shared =
      "  rdmaSharedDevicePlugin:\n    config: |\n      {\"configList\": [{\"resourceName\": \"s\", "
      "\"rdmaHcaMax\": 63,"
      "\n       \"selectors\": {\"ifNames\": [\"ib0\"]}}]}\n";
  const Config config = parse(head + sriov + shared);
  REQUIRE(config.resources.size() == 2);
  CHECK(config.resources[0].resource() == "intel.com/x");
  CHECK(config.resources[1].resource() == "rdma/s");
  CHECK(config.notes.size() == 2);
  CHECK(parse("apiVersion: mellanox.com/v1alpha1\nkind: NicNodePolicy\nmetadata: {name: n}\nspec:\n" + sriov)
            .resources.size() == 1);
  CHECK(
      error_of(head + "  sriovDevicePlugin:\n    config: '{\"resourceList\": [{}]}'\n") ==
      "f.yaml: document 1 (NicClusterPolicy n): spec.sriovDevicePlugin.config: resourceList[0]: resourceName "
      "(line 6): missing");
  CHECK(error_of(head + "  ofedDriver: {}\n").find("no configuration: there is NicClusterPolicy n") !=
        std::string::npos);
}

TEST_CASE("the NicClusterPolicy of network-operator's documentation works, its empty lists included") {
  const Config config = parse(R"(apiVersion: mellanox.com/v1alpha1
kind: NicClusterPolicy
metadata:
  name: nic-cluster-policy
spec:
  sriovDevicePlugin:
    image: sriov-network-device-plugin
    config: |
      {
        "resourceList": [
          {
            "resourcePrefix": "nvidia.com",
            "resourceName": "hostdev",
            "selectors": {
              "vendors": ["15b3"], "devices": [], "drivers": [], "pfNames": [],
              "pciAddresses": [], "rootDevices": [], "linkTypes": [], "isRdma": true
            }
          }
        ]
      }
)");
  CHECK(config.resources.at(0).resource() == "nvidia.com/hostdev");
  CHECK(config.warnings.empty());
}

TEST_CASE("several documents are one configuration, in their order, and names are unique across them") {
  const std::string second = R"({"resourceList":[{"resourceName":"y","selectors":{"vendors":["8086"]}},
      {"resourceName":"x","selectors":{"vendors":["14e4"]}}]})";
  const Config config = parse(kHead + with("config.json") + "---\nkind: Pod\napiVersion: v1\n---\n" + second);
  CHECK(config.resources.size() == 2);
  CHECK(config.resources[1].name == "y");
  REQUIRE(config.skipped.size() == 1);
  CHECK(config.skipped[0].reason.find(
            "f.yaml: document 3: resourceList[1] (intel.com/x): resourceName (line 14): ") == 0);
  CHECK(
      error_of(kHead + with("config.json") + "---\n{}\n").find("f.yaml: document 2: resourceList: missing") ==
      0);
}

TEST_CASE("a kind that is nearly a known one is named") {
  const Config config = parse(kHead + with("config") + "---\napiVersion: v1\nkind: Configmap\n");
  CHECK(lines_of(config.warnings) ==
        Texts{"f.yaml: document 2 (Configmap without a name): kind (line 11): ignored; "
              "did you mean \"ConfigMap\"? [VF-CONFIG-DOUBTFUL]"});
}

TEST_CASE("SriovNetworkNodePolicies make the resources that their operator makes") {
  const Config config =
      parse(policy("b",
                   "  resourceName: net\n  numVfs: 8\n  nodeSelector: {a: b}\n  nicSelector:\n"
                   "    vendor: \"15b3\"\n    deviceID: \"101b\"\n    pfNames: [\"ens1#0-3\"]\n"
                   "  isRdma: true\n  linkType: IB\n  mtu: 9000\n") +
            policy("a",
                   "  resourceName: net\n  numVfs: 8\n  nodeSelector: {a: b}\n  nicSelector:\n"
                   "    vendor: \"15b3\"\n    rootDevices: [\"0000:86:00.0\"]\n"
                   "  excludeTopology: true\n") +
            policy("c",
                   "  resourceName: dpdk\n  numVfs: 4\n  priority: 99\n  deviceType: vfio-pci\n"
                   "  linkType: eth\n  needVhostNet: true\n  nicSelector: {pfNames: [ens2]}\n") +
            policy("default", "  resourceName: none\n"));
  REQUIRE(config.resources.size() == 2);
  CHECK(config.resources[0].resource() == "openshift.io/dpdk");  // a higher priority comes first
  CHECK(config.resources[0].selectors.at(0).list("linkTypes").empty());
  CHECK(config.resources[0].selectors.at(0).list("drivers") == Texts{"vfio-pci"});
  CHECK(config.resources[0].selectors.at(0).need_vhost_net);
  const ResourceConfig& net = config.resources[1];
  CHECK(net.resource() == "openshift.io/net");
  CHECK_FALSE(net.exclude_topology);  // of the last by name
  const Selector& selector = net.selectors.at(0);
  CHECK(selector.list("vendors") == Texts{"15b3"});
  CHECK(selector.list("devices") == Texts{"101c"});
  CHECK(selector.list("pfNames") == Texts{"ens1#0-3"});
  CHECK(selector.list("rootDevices") == Texts{"0000:86:00.0"});
  CHECK(selector.list("linkTypes") == Texts{"infiniband"});
  CHECK(selector.list("drivers").empty());
  CHECK_FALSE(selector.is_rdma);  // of the first by name
  CHECK(config.warnings.empty());
  CHECK(config.notes.size() == 2);
  CHECK(parse(policy("a", "  resourceName: n\n  nicSelector: {vendor: \"8086\", deviceID: \"154c\"}\n"),
              "x.org")
            .resources.at(0)
            .resource() == "x.org/n");
}

TEST_CASE("sriov-network-operator's own test vectors") {
  const auto selector = [](const std::string& spec) {
    const Config config =
        parse(policy("p", "  resourceName: resourceName\n  nicSelector: {pfNames: [a]}\n" + spec));
    return config.resources.at(0);
  };
  CHECK(selector("  deviceType: netdevice\n  vdpaType: virtio\n").selectors.at(0).vdpa_type == "virtio");
  CHECK(selector("  deviceType: netdevice\n  vdpaType: vhost\n").selectors.at(0).vdpa_type == "vhost");
  CHECK(selector("  excludeTopology: true\n").exclude_topology);
}

TEST_CASE("a policy that cannot be converted is refused with document, line and key") {
  const std::string where = "f.yaml: document 1 (SriovNetworkNodePolicy s/p): ";
  const auto refusal = [](const std::string& spec) { return error_of(policy("p", spec)); };
  CHECK(refusal("  nicSelector: {}\n") == where + "spec.resourceName (line 6): missing");
  CHECK(refusal("  resourceName: a\n") ==
        where + "spec.nicSelector (line 6): missing; it says which PFs' VFs are advertised");
  CHECK(refusal("  resourceName: a\n  nicSelector:\n    pfName: [x]\n") ==
        where +
            "spec.nicSelector.pfName (line 8): unknown key; without it, more devices are selected than "
            "intended; "
            "did you mean \"pfNames\"?");
  CHECK(refusal("  resourceName: a\n  nicSelector:\n    netFilter: openstack/NetworkID:x\n")
            .find("spec.nicSelector.netFilter (line 8): it asks the cloud's metadata") != std::string::npos);
  CHECK(refusal("  resourceName: a\n  nicSelector:\n    netFilter: openstack/NetworkID:x\n")
            .find("write a resourceList with pciAddresses") != std::string::npos);
  CHECK(refusal("  resourceName: a\n  deviceType: vfio\n  nicSelector: {pfNames: [x]}\n") ==
        where + "spec.deviceType (line 7): must be one of netdevice, vfio-pci, got \"vfio\"");
  CHECK(refusal("  resourceName: a\n  nicSelector: {pfNames: x}\n")
            .find("spec.nicSelector.pfNames (line 7): must be a list") != std::string::npos);
  CHECK(refusal("  - x\n") == where + "spec (line 2): must be an object, got a list");
}

TEST_CASE("a policy that selects more or less than it states is a mistake") {
  const auto mistake = [](const std::string& spec) {
    const Config config = parse(policy("p", "  resourceName: a\n" + spec));
    REQUIRE(test::mistakes_of(config).size() == 1);
    return test::mistakes_of(config).front();
  };
  CHECK(mistake("  nicSelector: {}\n").find("spec.nicSelector (line 7): it selects by nothing") !=
        std::string::npos);
  CHECK(mistake("  numVfs: 1\n  nicSelector: {vendor: \"15b3\", deviceID: \"ffff\"}\n")
            .find("spec.nicSelector.deviceID (line 8): \"ffff\" is not the device id of a known PF, so it is "
                  "ignored") != std::string::npos);
  CHECK(
      mistake("  isRdma: true\n  deviceType: vfio-pci\n  nicSelector: {pfNames: [x]}\n")
          .find("(SriovNetworkNodePolicy s/p): resourceList[0] (openshift.io/a): selectors (line 2): matches "
                "nothing on any node: isRdma cannot be combined with the driver vfio-pci") !=
      std::string::npos);
  const Config nodes =
      parse(policy("p", "  resourceName: a\n  nicSelector: {pfNames: [x]}\n  nodeSelector: {a: b}\n") +
            policy("q", "  resourceName: a\n  nicSelector: {pfNames: [y]}\n  nodeSelector: {a: c}\n"));
  CHECK(test::mistakes_of(nodes).at(0).find(
            "(SriovNetworkNodePolicy s/q): spec.nodeSelector (line 16): it is another") != std::string::npos);
  CHECK(
      parse(policy("p", "  resourceName: a\n  numVf: 2\n  nicSelector: {pfNames: [x]}\n")).warnings.size() ==
      1);
}

TEST_CASE("the number of resources is bounded across documents") {
  std::string many;
  for (int i = 0; i < 257; ++i)
    many += policy("p" + std::to_string(i),
                   "  resourceName: r" + std::to_string(i) + "\n  nicSelector: {pfNames: [x]}\n");
  CHECK(error_of(many).find("more than 256 documents") != std::string::npos);
  std::string items = "apiVersion: v1\nkind: List\nitems:\n";
  for (int i = 0; i < 257; ++i)
    items += "- {apiVersion: sriovnetwork.openshift.io/v1, kind: SriovNetworkNodePolicy, metadata: {name: p" +
             std::to_string(i) + "}, spec: {resourceName: r" + std::to_string(i) +
             ", nicSelector: {pfNames: [x]}}}\n";
  CHECK(error_of(items).find("more than 256 policies") != std::string::npos);
}
