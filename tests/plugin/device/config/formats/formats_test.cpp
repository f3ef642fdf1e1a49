// The formats of k8s-rdma-shared-dev-plugin and of k8s-rdma-sriov-dev-plugin, and what vfrail adds to all of
// them.
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/mistakes.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Config parse(const std::string& text, bool strict = true) {
  auto config = parse_config(text, {"c.json", "intel.com", strict});
  if (!config) FAIL(config.error().text);
  return *std::move(config);
}

std::string error_of(const std::string& text) {
  auto config = parse_config(text, {"c.json", "intel.com", false});
  REQUIRE_FALSE(config);
  return std::move(config).error().text;
}

ResourceConfig first(const std::string& text) { return parse(text).resources.at(0); }

// One entry of a configList, or of a resourceList.
std::string shared(const std::string& fields) {
  return R"({"configList":[{"resourceName":"a",)" + fields + "}]}";
}
std::string listed(const std::string& fields) {
  return R"({"resourceList":[{"resourceName":"a",)" + fields + "}]}";
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a configList makes a shared pool of as many units as rdmaHcaMax says") {
  const Config config = parse(R"({"periodicUpdateInterval": 300, "configList": [{
    "resourceName": "hca_shared_devices_a", "rdmaHcaMax": 1000,
    "selectors": {"vendors": ["15b3"], "deviceIDs": ["1017"], "drivers": ["mlx5_core"], "ifNames": ["ib0", "ib1"],
                  "linkTypes": ["infiniband"]}}]})");
  CHECK(config.warnings.empty());
  CHECK(config.rescan_seconds == 300);
  const ResourceConfig& resource = config.resources.at(0);
  CHECK(resource.resource() == "rdma/hca_shared_devices_a");
  CHECK(resource.unit == UnitKind::shared);
  CHECK(resource.units == 1000);
  CHECK(resource.permissions == "rwm");
  CHECK(resource.exclude_topology);
  CHECK(resource.register_empty);
  CHECK(resource.host_use == HostUse::allow);
  const Selector& selector = resource.selectors.at(0);
  CHECK(selector.list("vendors") == Texts{"15b3"});
  CHECK(selector.list("devices") == Texts{"1017"});
  CHECK(selector.list("drivers") == Texts{"mlx5_core"});
  CHECK(selector.list("ifNames") == Texts{"ib0", "ib1"});
  CHECK(selector.list("linkTypes") == Texts{"infiniband"});
  CHECK(selector.is_rdma);
}

TEST_CASE("the old key devices of a configList names interfaces") {
  const ResourceConfig resource = first(shared(R"("rdmaHcaMax":50,"devices":["ens1f0"])"));
  CHECK(resource.selectors.at(0).list("ifNames") == Texts{"ens1f0"});
  CHECK(error_of(shared(R"("rdmaHcaMax":5,"devices":["a"],"selectors":{"vendors":["15b3"]})"))
            .find("c.json: configList[0] (rdma/a): devices: it cannot be combined with selectors") == 0);
  CHECK(first(shared(R"("rdmaHcaMax":5,"devices":["a"],"selectors":{"vendors":[],"ifNames":[]})"))
            .selectors.at(0)
            .list("ifNames") == Texts{"a"});
  for (const char* none : {R"("rdmaHcaMax":5)", R"("rdmaHcaMax":5,"devices":[],"selectors":{})",
                           R"("rdmaHcaMax":5,"selectors":{"vendors":[]})"})
    CHECK(
        error_of(shared(none)) ==
        "c.json: configList[0] (rdma/a): selectors: missing or empty; it says which RDMA devices are shared");
}

TEST_CASE("devices in the selectors of a configList is ignored, as in the peer, and a mistake") {
  const Config config =
      parse(shared(R"("rdmaHcaMax":5,"selectors":{"vendors":["15b3"],"Devices":["1017"]})"), false);
  CHECK(config.resources.at(0).selectors.at(0).list("devices").empty());
  CHECK(test::mistakes_of(config) ==
        Texts{"c.json: configList[0] (rdma/a): selectors.devices: ignored, as in k8s-rdma-shared-dev-plugin, "
              "so that more may be selected: write deviceIDs [VF-CONFIG-MISTAKE]"});
  CHECK(
      test::mistakes_of(
          parse(shared(
                    R"("rdmaHcaMax":5,"selectors":[{"ifNames":["a"]},{"vendors":["15b3"],"devices":["1"]}])"),
                false))
          .at(0)
          .find("selectors[1].devices: ignored") != std::string::npos);
  CHECK(error_of(shared(R"("rdmaHcaMax":5,"selectors":{"devices":["1017"]})"))
            .find("selectors: devices does not count there") != std::string::npos);
  CHECK(parse(shared(R"("rdmaHcaMax":5,"selectors":{"vendors":["15b3"],"devices":[]})")).warnings.empty());
  CHECK(first(listed(R"("selectors":{"devices":["1017"]})")).selectors.at(0).list("devices") ==
        Texts{"1017"});
}

TEST_CASE("an impossible number of units is refused, and a missing one is a warning") {
  CHECK(error_of(shared(R"("rdmaHcaMax":-1,"devices":["a"])")).find("rdmaHcaMax") != std::string::npos);
  CHECK(error_of(shared(R"("rdmaHcaMax":150001,"devices":["a"])")).find("rdmaHcaMax") != std::string::npos);
  CHECK(first(shared(R"("rdmaHcaMax":100000,"devices":["a"])")).units == 100000);
  CHECK(error_of(R"({"periodicUpdateInterval":-1,"configList":[{"resourceName":"a"}]})")
            .find("periodicUpdateInterval") != std::string::npos);
  const Config config = parse(shared(R"("devices":["a"])"), false);
  CHECK(config.resources.at(0).units == 0);
  CHECK(config.warnings.at(0).text.find("rdmaHcaMax: 0 or missing") != std::string::npos);
  CHECK(config.warnings.at(0).line().ends_with(" [VF-CONFIG-MISTAKE]"));
}

TEST_CASE("a shared pool can give each unit one device, and report NUMA nodes") {
  const ResourceConfig resource =
      first(shared(R"("rdmaHcaMax":8,"devices":["a"],"hcaPerUnit":"one","excludeTopology":false)"));
  CHECK(resource.unit == UnitKind::shared_one);
  CHECK_FALSE(resource.exclude_topology);
  CHECK(error_of(shared(R"("rdmaHcaMax":8,"devices":["a"],"hcaPerUnit":"two")"))
            .find("hcaPerUnit: must be one of all, one, got \"two\"") != std::string::npos);
}

TEST_CASE("mode hca is rdma/hca, a thousand times all devices") {
  for (const char* text : {R"({"mode":"hca"})", R"({"mode":"HCA","pfNetdevices":[]})"}) {
    const ResourceConfig resource = first(text);
    CHECK(resource.resource() == "rdma/hca");
    CHECK(resource.unit == UnitKind::shared);
    CHECK(resource.units == 1000);
    CHECK(resource.selectors.at(0).is_rdma);
    CHECK(resource.selectors.at(0).list("vendors").empty());
  }
  const Config odd = parse(R"({"mode":"shared"})", false);
  CHECK(odd.resources.at(0).resource() == "rdma/hca");
  CHECK(odd.warnings.at(0).text.find("neither hca nor sriov; it counts as hca") != std::string::npos);
}

TEST_CASE("mode beside a list is an unknown key, as for the peers with a list") {
  for (const std::string& list :
       {std::string(R"("resourceList":[{"resourceName":"a","selectors":{}}])"),
        std::string(R"("configList":[{"resourceName":"a","rdmaHcaMax":1,"devices":["a"]}])")}) {
    const Config config = parse("{" + list + R"(,"Mode":"hca","pfNetdevices":["p"]})", false);
    CHECK(config.resources.size() == 1);
    REQUIRE(config.warnings.size() == 2);
    CHECK(config.warnings[0].line() ==
          "c.json: Mode: unknown key, ignored: it counts only in a file without resourceList and configList "
          "[VF-CONFIG-UNKNOWN-KEY]");
    CHECK(config.warnings[1].text.find("c.json: pfNetdevices: unknown key") == 0);
  }
  CHECK(first(R"({"mode":"hca","resourceList":null})").resource() == "rdma/hca");
}

TEST_CASE("mode with deviceType eRDMA selects Alibaba's adapter") {
  CHECK(first(R"({"mode" : "hca", "deviceType" : "eRDMA"})").selectors.at(0).list("vendors") ==
        Texts{"1ded"});
  CHECK(error_of(R"({"mode":"hca","deviceType":"TCP"})") ==
        "c.json: deviceType: must be one of RDMA, eRDMA, got \"TCP\"");
}

TEST_CASE("mode sriov is rdma/vhca, one unit for each VF of the PFs") {
  const Config config = parse(R"({"mode":"sriov","pfNetdevices":["ib0","ib1"]})");
  const ResourceConfig& resource = config.resources.at(0);
  CHECK(resource.resource() == "rdma/vhca");
  CHECK(resource.unit == UnitKind::device);
  CHECK(resource.exclude_topology);
  CHECK(resource.selectors.at(0).list("pfNames") == Texts{"ib0", "ib1"});
  CHECK(config.warnings.at(0).text.find("creates none: set sriov_numvfs first") != std::string::npos);
  CHECK(error_of(R"({"mode":"sriov"})") ==
        "c.json: pfNetdevices: missing or empty; it names the PFs whose VFs are advertised");
}

TEST_CASE("a null in the other formats' lists of names is an empty name") {
  CHECK(first(shared(R"("rdmaHcaMax":5,"devices":["a",null])")).selectors.at(0).list("ifNames") ==
        Texts{"a", ""});
  CHECK(first(R"({"mode":"sriov","pfNetdevices":["ib0",null]})").selectors.at(0).list("pfNames") ==
        Texts{"ib0", ""});
}

TEST_CASE("one file may have a resourceList and a configList, but no name twice") {
  const std::string list = R"("resourceList":[{"resourcePrefix":"rdma","resourceName":"a","selectors":{}}])";
  CHECK(parse("{" + list + R"(,"configList":[{"resourceName":"b","rdmaHcaMax":1,"devices":["c"]}]})")
            .resources.size() == 2);
  CHECK(parse("{" + list + R"(,"configList":[{"resourceName":"a","rdmaHcaMax":1,"devices":["c"]}]})", false)
            .skipped.at(0)
            .reason.find("\"rdma/a\" is already the name of another resource") != std::string::npos);
}

TEST_CASE("a socket has the name that it has with the format's peer, unless two resources would have it") {
  const auto sockets = [](const std::string& text) {
    Texts out;
    for (const ResourceConfig& resource : parse(text).resources) out.push_back(socket_name(resource));
    return out;
  };
  const auto entry = [](const std::string& prefix, const std::string& name) {
    return R"({"resourcePrefix":")" + prefix + R"(","resourceName":")" + name +
           R"(","rdmaHcaMax":1,"devices":["a"]})";
  };
  const auto with = [](const std::string& entries) { return "{\"configList\":[" + entries + "]}"; };
  CHECK(sockets(with(entry("rdma", "hca_a") + "," + entry("rdma", "hca_b"))) ==
        Texts{"hca_a.sock", "hca_b.sock"});
  CHECK(sockets(with(entry("a.com", "x") + "," + entry("b.com", "x") + "," + entry("b.com", "y"))) ==
        Texts{"a.com_x.sock", "b.com_x.sock", "y.sock"});
  // The name of one without a prefix is that of another with its prefix.
  CHECK(sockets(with(entry("p", "rdma_y") + "," + entry("rdma", "y") + "," + entry("q", "y"))) ==
        Texts{"p_rdma_y.sock", "rdma_y.sock", "q_y.sock"});
  CHECK(sockets(R"({"mode":"hca"})") == Texts{"rdma-sriov-dp.sock"});
  CHECK(sockets(listed(R"("selectors":{})")) == Texts{"intel.com_a.sock"});
}

TEST_CASE("keys that no peer has are read in both lists") {
  const std::string keys = R"("hostUse":"refuse","preferredAllocation":"distinctPF","registerEmpty":true,
    "extraDeviceNodes":["/dev/knem","cxi/*"],"memlock":"8589934592",
    "health":{"port":false,"carrier":true,"guid":true,"devlink":false})";
  for (const std::string& text :
       {listed(keys + R"(,"selectors":{})"), shared(keys + R"(,"rdmaHcaMax":1,"devices":["a"])")}) {
    const ResourceConfig resource = first(text);
    CHECK(resource.host_use == HostUse::refuse);
    CHECK(resource.preference == Preference::distinct_pf);
    CHECK(resource.register_empty);
    CHECK(resource.extra_nodes == Texts{"/dev/knem", "cxi/*"});
    CHECK(resource.memlock == "8589934592");
    CHECK_FALSE(resource.health.port);
    CHECK(resource.health.carrier);
    CHECK(resource.health.guid);
    CHECK_FALSE(resource.health.devlink);
  }
  const ResourceConfig plain = first(listed(R"("selectors":{})"));
  CHECK(plain.preference == Preference::none);
  CHECK(plain.health.port);
  CHECK_FALSE(plain.health.carrier);
}

TEST_CASE("preferredAllocation has no effect with bundle, which is a warning") {
  const auto config = parse_config(listed(R"("selectors":{},"bundle":true,"preferredAllocation":"rail")"),
                                   {.file = "c.json"});
  REQUIRE(config);
  CHECK(config->resources.at(0).preference == Preference::none);
  REQUIRE(config->warnings.size() == 1);
  CHECK(config->warnings[0].text.find("preferredAllocation") != std::string::npos);
  CHECK(config->warnings[0].text.find("it has no effect with bundle") != std::string::npos);
}

TEST_CASE("podFiles names the files that containers get") {
  const auto files = [](const std::string& value) {
    return first(listed(R"("selectors":{},"podFiles":)" + value)).pod_files;
  };
  CHECK(files(R"(["nccl","ucx"])") == PodFileMounts{.nccl = true, .ucx = true});
  CHECK(files(R"(["ucx"])") == PodFileMounts{.ucx = true});
  CHECK_FALSE(files("false").any());
  CHECK_FALSE(first(listed(R"("selectors":{})")).pod_files.any());
}

TEST_CASE("podFiles env, which was a mode, keeps the resource with NCCL's file, and says what to write") {
  const auto config = parse_config(listed(R"("selectors":{},"podFiles":"env")"), {.file = "c.json"});
  REQUIRE(config);
  REQUIRE(config->resources.size() == 1);
  CHECK(config->resources[0].pod_files == PodFileMounts{.nccl = true});
  REQUIRE(config->warnings.size() == 1);
  CHECK(config->warnings[0].id == ErrorId::config_doubtful);
  for (const char* part : {"podFiles", R"(["nccl"])", R"(["ucx"])", "NCCL_CONF_FILE=/run/vfrail/nccl.conf"}) {
    INFO(part);
    CHECK(config->warnings[0].text.find(part) != std::string::npos);
  }
}

TEST_CASE("podFiles is refused with the reason") {
  for (const char* value : {"true", "[]", R"(["nccl","gloo"])", R"(["env"])", R"("nccl")", "[1]", "{}"}) {
    CAPTURE(value);
    CHECK(error_of(listed(std::string(R"("selectors":{},"podFiles":)") + value))
              .find("podFiles: must be false, or a list") != std::string::npos);
  }
  // Of a shared pool nothing is attached, so nobody would write the files.
  CHECK(error_of(shared(R"("rdmaHcaMax":1,"devices":["a"],"podFiles":["nccl"])"))
            .find("podFiles: vfrail-cni writes") != std::string::npos);
  CHECK_FALSE(first(shared(R"("rdmaHcaMax":1,"devices":["a"],"podFiles":false)")).pod_files.any());
}

TEST_CASE("each preference has its name, and a wrong one gets a suggestion") {
  for (const auto& [word, preference] :
       std::initializer_list<std::pair<std::string, Preference>>{{"none", Preference::none},
                                                                 {"numa", Preference::numa},
                                                                 {"pcie", Preference::pcie},
                                                                 {"pack", Preference::pack},
                                                                 {"spread", Preference::spread},
                                                                 {"rail", Preference::rail}}) {
    CHECK(first(listed(R"("selectors":{},"preferredAllocation":")" + word + "\"")).preference == preference);
  }
  CHECK(error_of(listed(R"("selectors":{},"preferredAllocation":"pcei")")).find("did you mean \"pcie\"?") !=
        std::string::npos);
}

TEST_CASE("memlock is on, off, unlimited or a number of bytes") {
  CHECK(first(listed(R"("selectors":{},"memlock":true)")).memlock == "");
  CHECK_FALSE(first(listed(R"("selectors":{},"memlock":false)")).memlock);
  CHECK_FALSE(first(listed(R"("selectors":{})")).memlock);
  CHECK(first(listed(R"("selectors":{},"memlock":"unlimited")")).memlock == "unlimited");
  for (const char* wrong : {"1", "\"\"", "\"64Mi\"", "\"0\"", "\"-1\"", "\"1234567890123456789\"", "[]"}) {
    CAPTURE(wrong);
    CHECK(
        error_of(listed(R"("selectors":{},"memlock":)" + std::string(wrong))).find("memlock: must be true") !=
        std::string::npos);
  }
}

TEST_CASE("an extra device node outside of /dev is refused") {
  for (const char* node : {"/dev/", "/etc/passwd", "/dev/../etc", "cxi", "a/b/*", "*", "/*", "../*",
                           R"(\u0000cxi/*)", R"(/dev/knem\u0000x)", R"(/dev/a\nb)"}) {
    CAPTURE(node);
    CHECK(error_of(listed(R"("selectors":{},"extraDeviceNodes":[")" + std::string(node) + "\"]"))
              .find("extraDeviceNodes: ") != std::string::npos);
  }
}

TEST_CASE("auxNetDevice needs sub-functions, the other types exclude them") {
  const ResourceConfig aux = first(listed(R"("deviceType":"auxNetDevice","selectors":{"auxTypes":["sf"]})"));
  CHECK(aux.device_type == DeviceType::aux_net_device);
  CHECK(aux.selectors.at(0).list("auxTypes") == Texts{"sf"});
  CHECK(error_of(listed(R"("deviceType":"auxNetDevice","selectors":{})")).find("needs auxTypes: [\"sf\"]") !=
        std::string::npos);
  CHECK(error_of(listed(R"("deviceType":"auxNetDevice","selectors":{"auxTypes":["eth"]})"))
            .find("needs auxTypes") != std::string::npos);
  CHECK(first(listed(R"("deviceType":"accelerator","selectors":{"vendors":["8086"]})")).device_type ==
        DeviceType::accelerator);
}

TEST_CASE("selectors that the peer does not have for a deviceType are ignored with a warning, as it does") {
  const std::string all = R"("pciAddresses":["0000:03:00.0"],"acpiIndexes":["1"],"pfNames":["p0"],
    "rootDevices":["0000:03:00.0"],"linkTypes":["infiniband"],"ddpProfiles":["x"],"pKeys":["0x1"],"isRdma":true,
    "needVhostNet":true,"auxTypes":["sf"],"vendors":["15b3"])";
  const Config net = parse(listed("\"selectors\":{" + all + "}"), false);
  CHECK(net.warnings.size() == 1);
  CHECK(net.resources[0].selectors[0].list("auxTypes").empty());
  const Config aux = parse(listed(R"("deviceType":"auxNetDevice","selectors":{)" + all + "}"), false);
  CHECK(aux.warnings.size() == 4);
  CHECK(aux.warnings[0].line() ==
        "c.json: resourceList[0] (intel.com/a): selectors: pciAddresses has no effect with deviceType "
        "auxNetDevice, as in sriov-network-device-plugin: it is ignored [VF-CONFIG-MISTAKE]");
  CHECK(aux.resources[0].selectors[0].list("pciAddresses").empty());
  CHECK(aux.resources[0].selectors[0].is_rdma);
  const Config accelerator =
      parse(listed(R"("deviceType":"accelerator","selectors":{"vdpaType":"vhost",)" + all + "}"), false);
  CHECK(accelerator.warnings.size() == 10);
  CHECK_FALSE(accelerator.resources[0].selectors[0].is_rdma);
  CHECK(accelerator.resources[0].selectors[0].list("vendors") == Texts{"15b3"});
  CHECK(accelerator.resources[0].selectors[0].list("pciAddresses") == Texts{"0000:03:00.0"});
}

TEST_CASE("every further selector is read, also within not") {
  const Selector selector =
      first(listed(R"("selectors":{"ifNames":["eth*"],"macs":["02:*"],"subsystems":["15b3:0058"],
    "numaNodes":[0,1],"pcieRoots":["pci0000:16"],"rdmaDevices":["mlx5_?"],"linkStates":["up"],"isPf":false,
    "not":[{"vendors":["8086"]},{"rdmaDevices":["mlx5_bond_*"]}]})"))
          .selectors.at(0);
  CHECK(selector.list("ifNames") == Texts{"eth*"});
  CHECK(selector.list("macs") == Texts{"02:*"});
  CHECK(selector.list("subsystems") == Texts{"15b3:0058"});
  CHECK(selector.list("numaNodes") == Texts{"0", "1"});
  CHECK(selector.list("pcieRoots") == Texts{"pci0000:16"});
  CHECK(selector.list("rdmaDevices") == Texts{"mlx5_?"});
  CHECK(selector.list("linkStates") == Texts{"up"});
  CHECK(selector.is_pf == false);
  REQUIRE(selector.none_of.size() == 2);
  CHECK(selector.none_of[0].list("vendors") == Texts{"8086"});
  CHECK(selector.none_of[1].list("rdmaDevices") == Texts{"mlx5_bond_*"});
}

TEST_CASE("a wrong value of a further selector is named with its place") {
  CHECK(
      error_of(listed(R"("selectors":{"numaNodes":["0"]})"))
          .find(
              "c.json: resourceList[0] (intel.com/a): selectors.numaNodes[0]: must be a number from 0 on") ==
      0);
  CHECK(error_of(listed(R"("selectors":{"not":[{"vendors":"15b3"}]})")).find("selectors.not[0].vendors: ") !=
        std::string::npos);
  CHECK(error_of(listed(R"("selectors":{"not":{"not":{"not":{"not":{}}}}})"))
            .find("too many of them within each other") != std::string::npos);
  const Config config =
      parse(listed(R"("selectors":{"macs":["02:AB"],"subsystems":["58"],"pcieRoots":["16"]})"), false);
  CHECK(config.warnings.size() == 3);
}
