#include "common/files.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/config/selector_table.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Config parse(const std::string& text, bool strict = false) {
  auto config = parse_config(text, {"c.json", "intel.com", strict});
  if (!config) FAIL(config.error().text);
  return *std::move(config);
}

Error error_of(const std::string& text, bool strict = false) {
  auto config = parse_config(text, {"c.json", "intel.com", strict});
  REQUIRE_FALSE(config);
  return std::move(config).error();
}

// One resource "intel.com/a" with these selectors.
std::string with_selectors(const std::string& selectors) {
  return R"({"resourceList":[{"resourceName":"a","selectors":)" + selectors + "}]}";
}

std::string resource(const std::string& fields) {
  return R"({"resourceList":[{"selectors":{},)" + fields + "}]}";
}

}  // namespace

TEST_CASE("every field and every selector of a resource is read") {
  const Config config = parse(R"({"resourceList":[{
    "resourcePrefix": "nvidia.com", "resourceName": "hostdev", "deviceType": "netDevice", "excludeTopology": true,
    "hostUse": "refuse",
    "selectors": {"vendors": ["15b3"], "devices": ["101e"], "drivers": ["mlx5_core"],
                  "pciAddresses": ["0000:03:00.2"], "acpiIndexes": ["5"], "pfNames": ["p0#0-3"],
                  "rootDevices": ["0000:03:00.0#0"], "linkTypes": ["infiniband"], "ddpProfiles": ["GTP"],
                  "pKeys": ["0x8001"], "isRdma": true, "needVhostNet": true},
    "additionalInfo": {"*": {"token": "t"}, "0000:03:00.2": {"token": "u"}}}]})");
  REQUIRE(config.resources.size() == 1);
  const ResourceConfig& resource = config.resources[0];
  CHECK(resource.resource() == "nvidia.com/hostdev");
  CHECK(resource.exclude_topology);
  CHECK(resource.host_use == HostUse::refuse);
  CHECK(resource.additional_info->at("0000:03:00.2").at("token") == "u");
  REQUIRE(resource.selectors.size() == 1);
  const Selector& selector = resource.selectors[0];
  CHECK(selector.list("vendors") == std::vector<std::string>{"15b3"});
  CHECK(selector.list("devices") == std::vector<std::string>{"101e"});
  CHECK(selector.list("drivers") == std::vector<std::string>{"mlx5_core"});
  CHECK(selector.list("pciAddresses") == std::vector<std::string>{"0000:03:00.2"});
  CHECK(selector.list("acpiIndexes") == std::vector<std::string>{"5"});
  CHECK(selector.list("pfNames") == std::vector<std::string>{"p0#0-3"});
  CHECK(selector.list("rootDevices") == std::vector<std::string>{"0000:03:00.0#0"});
  CHECK(selector.list("linkTypes") == std::vector<std::string>{"infiniband"});
  CHECK(selector.list("ddpProfiles") == std::vector<std::string>{"GTP"});
  CHECK(selector.list("pKeys") == std::vector<std::string>{"0x8001"});
  CHECK(selector.is_rdma);
  CHECK(selector.need_vhost_net);
  CHECK(config.warnings.empty());
}

TEST_CASE("fields that are missing have the peer's defaults") {
  const Config config = parse(with_selectors("{}"));
  const ResourceConfig& resource = config.resources.at(0);
  CHECK(resource.resource() == "intel.com/a");
  CHECK_FALSE(resource.exclude_topology);
  CHECK(resource.host_use == HostUse::warn);
  CHECK_FALSE(resource.selectors.at(0).is_rdma);
}

TEST_CASE("keys match without regard to case, as the network operators write them") {
  const Config config =
      parse(R"({"ResourceList":[{"RESOURCENAME":"a","Selectors":{"IsRdma":true,"NeedVhostNet":true,
                "pciaddresses":["0000:03:00.2"]}}]})");
  CHECK(config.resources[0].selectors[0].is_rdma);
  CHECK(config.resources[0].selectors[0].need_vhost_net);
  CHECK(config.resources[0].selectors[0].list("pciAddresses").size() == 1);
  CHECK(config.warnings.empty());
}

TEST_CASE("selectors can be a list of objects") {
  const Config config = parse(with_selectors(R"([{"vendors":["15b3"]},{"vendors":["8086"],"isRdma":true}])"));
  REQUIRE(config.resources[0].selectors.size() == 2);
  CHECK(config.resources[0].selectors[1].is_rdma);
}

TEST_CASE("an unknown key whose value is null is ignored in silence, also when strict") {
  const std::string text = R"({"resourceList":[{"resourceName":"a","SelectorObj":null,"selectors":{}}]})";
  CHECK(parse(text).warnings.empty());
  CHECK(parse(text, true).warnings.empty());
}

TEST_CASE("an unknown key is a warning with the key that was probably meant") {
  const Config config = parse(resource(R"("resourceName":"a","excludeTopologie":true)"));
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0].line() ==
        "c.json: resourceList[0] (intel.com/a): excludeTopologie: unknown key, ignored; did you mean "
        "\"excludeTopology\"? [VF-CONFIG-MISTAKE]");
}

TEST_CASE("a misspelt selector is an error, because without it more devices are selected") {
  CHECK(error_of(with_selectors(R"({"pfName":["eth0"]})")).text ==
        "c.json: resourceList[0] (intel.com/a): selectors.pfName: unknown key; without it, more "
        "devices are selected than intended; did you mean \"pfNames\"?");
  for (const char* misspelt : {"vendor", "vendorID", "devics", "rdma", "isRMDA", "pciAdresses", "mac"}) {
    CAPTURE(misspelt);
    CHECK_FALSE(
        parse_config(with_selectors("{\"" + std::string(misspelt) + "\":[\"15b3\"],\"drivers\":[\"a\"]}"),
                     {.file = "c.json"}));
  }
  CHECK_FALSE(
      parse_config(with_selectors(R"({"drivers":["a"],"not":{"vendor":["15b3"]}})"), {.file = "c.json"}));
}

TEST_CASE("a comment in a selector is a warning: a key with a leading sign, or like no selector") {
  for (const char* key : {"_vendors", "#pfNames", "note", "comment", "description"}) {
    CAPTURE(key);
    const Config config = parse(with_selectors("{\"" + std::string(key) + "\":\"x\",\"drivers\":[\"a\"]}"));
    REQUIRE(config.warnings.size() == 1);
    CHECK(config.warnings[0].text.find(": unknown key, ignored") != std::string::npos);
    CHECK(config.warnings[0].line().ends_with(" [VF-CONFIG-UNKNOWN-KEY]"));
  }
}

TEST_CASE("an unknown key is an error when strict") {
  CHECK(error_of(with_selectors(R"({"comment":"x"})"), true).text ==
        "c.json: resourceList[0] (intel.com/a): selectors.comment: unknown key");
}

TEST_CASE("a selector one level too high is named, and an error where everything is selected without it") {
  const Config config = parse(
      R"({"resourceList":[{"resourceName":"a","vendors":["15b3"],"selectors":{"drivers":["mlx5_core"]}}]})");
  REQUIRE(config.warnings.size() == 1);
  CHECK(config.warnings[0].line() ==
        "c.json: resourceList[0] (intel.com/a): vendors: unknown key, ignored; it belongs into \"selectors\" "
        "[VF-CONFIG-MISTAKE]");
  CHECK(error_of(resource(R"("resourceName":"a","vendors":["15b3"])")).text ==
        "c.json: resourceList[0] (intel.com/a): vendors: it belongs into \"selectors\", which select every "
        "device without it");
}

TEST_CASE("a faulty entry is skipped and the others are served, unless strict") {
  for (const char* faulty :
       {R"({"resourceName":"bad","selectors":{"vendors":"15b3"}})",
        R"({"resourceName":"bad","selectors":{"devices":[1017]}})",
        R"({"resourceName":"bad","selectors":{"isRdma":"true"}})", R"({"resourceName":"bad","selectors":[]})",
        R"({"resourceName":"bad"})", R"({"resourceName":"bad","selectors":{},"deviceType":"netdevice"})",
        R"({"resourceName":"good","selectors":{}})",
        R"({"resourceName":"bad","selectors":{"vendor":["15b3"]}})",
        R"({"resourceName":"bad","resourcePrefix":"example_prefix","selectors":{}})", "7",
        R"({"resourceName":5,"selectors":{}})", R"({"resourceName":"a.b","selectors":{}})"}) {
    CAPTURE(faulty);
    const std::string text =
        R"({"resourceList":[{"resourceName":"good","selectors":{"drivers":["igbvf"]}},)" +
        std::string(faulty) + R"(,{"resourceName":"fine","selectors":{"vendors":["8086"]}}]})";
    const Config config = parse(text);
    REQUIRE(config.resources.size() == 2);
    CHECK(config.resources[0].name == "good");
    CHECK(config.resources[1].name == "fine");
    REQUIRE(config.skipped.size() == 1);
    CHECK(config.skipped[0].reason.find("c.json: resourceList[1]") == 0);
    CHECK(config.warnings.empty());
    CHECK(error_of(text, true).text == config.skipped[0].reason);
  }
  CHECK(parse(R"({"resourceList":[{"resourceName":"bad"},{"resourceName":"a","selectors":{}}]})")
            .skipped.at(0)
            .resource == "intel.com/bad");
}

TEST_CASE("a file whose every entry is faulty is an error") {
  CHECK(error_of(R"({"resourceList":[{"resourceName":"a"},{"resourceName":"b"}]})")
            .text.find("c.json: resourceList[0] (intel.com/a): selectors: missing") == 0);
  // One level too high, as in version 2 of the peer: its keys are named.
  CHECK(error_of(R"({"resourceList":[{"resourceName":"a","vendors":["15b3"],"isRdma":true}]})")
            .text.find("; vendors, isRdma stand beside it and belong into it") != std::string::npos);
  CHECK(error_of(R"({"resourceList":[{"resourceName":"a"},{"resourceName":"b"}]})")
            .text.find("; and the 1 other entry is faulty, too") != std::string::npos);
}

TEST_CASE("a resource whose socket path is too long is skipped") {
  const auto config = parse_config(
      R"({"resourceList":[{"resourceName":"a","selectors":{}},{"resourceName":"a-longer-name","selectors":{}}]})",
      {.file = "c.json", .socket_folder = "/" + std::string(88, 'd')});
  REQUIRE(config);
  CHECK(config->resources.size() == 1);
  CHECK(config->skipped.at(0).reason.find("a unix socket's path can have 107") != std::string::npos);
}

TEST_CASE("keys of another format are ignored in a resourceList") {
  const std::string list = R"("resourceList":[{"resourceName":"a","selectors":{}}])";
  for (const char* odd : {R"("configList":[])", R"("configList":{"a":[]})", R"("configList":"x")",
                          R"("periodicUpdateInterval":-1)", R"("periodicUpdateInterval":"1m")",
                          R"("periodicUpdateInterval":1.5)"}) {
    CAPTURE(odd);
    const Config config = parse("{" + list + "," + odd + "}");
    CHECK(config.resources.size() == 1);
    CHECK(config.warnings.size() == 1);
    CHECK_FALSE(config.rescan_seconds);
  }
  CHECK(parse("{" + list + R"(,"configList":[],"periodicUpdateInterval":"1m"})").resources.size() == 1);
  CHECK(parse("{" + list + R"(,"periodicUpdateInterval":99999999999})").rescan_seconds == 365U * 86'400);
}

TEST_CASE("an empty deviceType is netDevice, as if it were missing") {
  CHECK(parse(resource(R"("resourceName":"a","deviceType":"")")).resources[0].device_type ==
        DeviceType::net_device);
}

TEST_CASE("half a surrogate pair becomes the replacement character, as in Go") {
  const std::string text =
      R"({"resourceList": [{"resourceName": "a", "selectors": {"vendors": ["15b3"]},
        "additionalInfo": {"*": {"half": "x\ud800y", "pair": "\ud83d\ude00", "escaped": "\\ud800"}}}]})";
  const std::map<std::string, std::string> wanted = {
      {"half", "x\xef\xbf\xbdy"}, {"pair", "\xf0\x9f\x98\x80"}, {"escaped", "\\ud800"}};
  const auto file = parse_config(text, {"config.json", "intel.com", false});
  REQUIRE(file);
  CHECK(file->resources.at(0).additional_info->at("*") == wanted);
  const std::string map =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  config.json: |\n    " +
      std::string(text).replace(text.find('\n'), 1, "") + "\n";
  const auto embedded = parse_config(map, {"map.yaml", "intel.com", false});
  REQUIRE(embedded);
  CHECK(embedded->resources.at(0).additional_info->at("*") == wanted);
}

TEST_CASE("an invalid byte of UTF-8 becomes the replacement character, as in Go") {
  const Config config = parse(resource("\"resourceName\":\"a\",\"additionalInfo\":{\"*\":{\"k\":\"\xff\"}}"));
  CHECK(config.resources[0].additional_info->at("*").at("k") == "\xEF\xBF\xBD");
}

TEST_CASE("values that can never match are warnings, so that the peer's configurations run unchanged") {
  const Config config = parse(with_selectors(
      R"({"vendors":["0x15b3"],"pciAddresses":["3b:02.6"],"linkTypes":["ethernet"],"pfNames":["eth0#5-3"],
          "pKeys":["all"]})"));
  REQUIRE(config.warnings.size() == 5);
  CHECK(
      config.warnings[0].line() ==
      "c.json: resourceList[0] (intel.com/a): selectors.vendors: \"0x15b3\" can never match: four lower-case "
      "hexadecimal digits, like 15b3, are compared [VF-CONFIG-MISTAKE]");
  CHECK(config.warnings[2].text.find("selectors.pfNames: \"eth0#5-3\": the range 5-3 is empty") !=
        std::string::npos);
  CHECK(config.warnings[3].text.find("\"ethernet\" can never match: devices have ether or infiniband") !=
        std::string::npos);
}

TEST_CASE("text that is not JSON is refused with file, line and column") {
  const Error error = error_of("{\"resourceList\": [\n  oops]}");
  CHECK(error.code == Errc::invalid);
  CHECK(error.text.find("c.json: line 2, column 3: ") == 0);
}

TEST_CASE("a file without any of the three formats is an error") {
  const std::string missing =
      "c.json: resourceList: missing, and so are configList and mode: there is nothing to advertise";
  CHECK(error_of("{}").text == missing);
  CHECK(error_of(R"({"resourceList":null})").text == missing);
  CHECK(error_of(R"({"resourceList":[]})").text ==
        "c.json: resourceList: empty, there is nothing to advertise");
  CHECK(error_of(R"({"resourcesList":[]})").text ==
        missing + "; there is \"resourcesList\", did you mean \"resourceList\"?");
  CHECK(error_of("[]").text == "c.json: must be an object with resourceList, got a list");
}

TEST_CASE("an unknown device type is refused with what was probably meant") {
  CHECK(error_of(resource(R"("resourceName":"a","deviceType":"netdevice")")).text ==
        "c.json: resourceList[0] (intel.com/a): deviceType: must be one of netDevice, "
        "auxNetDevice, accelerator, got \"netdevice\"; did you mean \"netDevice\"?");
}

TEST_CASE("missing selectors are a clear error") {
  const std::string expected =
      "c.json: resourceList[0] (intel.com/a): selectors: missing; must be an object or a list of objects "
      "({} selects "
      "every network function)";
  CHECK(error_of(R"({"resourceList":[{"resourceName":"a"}]})").text == expected);
  CHECK(error_of(with_selectors("null")).text == expected);
  CHECK(error_of(with_selectors("[]")).text.find("selectors: the list is empty") != std::string::npos);
  CHECK(error_of(with_selectors("[null]")).text.find("selectors[0]: must be an object, got null") !=
        std::string::npos);
  CHECK(error_of(with_selectors("5"))
            .text.find("selectors: must be an object or a list of objects, got a number") !=
        std::string::npos);
}

TEST_CASE("a value of the wrong type is named with its path, the expected type and the value") {
  CHECK(error_of(with_selectors(R"({"vendors":"15b3"})")).text ==
        "c.json: resourceList[0] (intel.com/a): selectors.vendors: must be a list of strings, got a "
        "string "
        "(\"15b3\")");
  CHECK(error_of(with_selectors(R"([{},{"vendors":[5]}])")).text ==
        "c.json: resourceList[0] (intel.com/a): selectors[1].vendors[0]: must be a string, got a "
        "number (5)");
  CHECK(
      error_of(with_selectors(R"({"isRdma":"yes"})")).text.find("selectors.isRdma: must be true or false") !=
      std::string::npos);
  CHECK(error_of(R"({"resourceList":[7]})").text ==
        "c.json: resourceList[0]: must be an object, got a number");
}

TEST_CASE("a null in a list of strings counts as an empty string with a warning, as in the peers") {
  const Config config = parse(with_selectors(R"({"vendors":["15b3",null],"ifNames":[null]})"));
  CHECK(config.resources.at(0).selectors[0].list("vendors") == std::vector<std::string>{"15b3", ""});
  CHECK(config.resources[0].selectors[0].list("ifNames") == std::vector<std::string>{""});
  REQUIRE(config.warnings.size() == 3);
  CHECK(config.warnings[0].text.find("selectors.vendors[1]: null counts as \"\", as in Go") !=
        std::string::npos);
  CHECK(config.warnings[1].text.find("\"\" can never match") != std::string::npos);
}

TEST_CASE("a vDPA type that does not exist selects nothing, and a warning says so") {
  const Config config = parse(with_selectors(R"({"vdpaType":"vhost-user"})"));
  CHECK(config.resources[0].selectors[0].vdpa_type == "vhost-user");
  CHECK(
      config.warnings.at(0).line() ==
      "c.json: resourceList[0] (intel.com/a): selectors.vdpaType: \"vhost-user\" can never match: there are "
      "\"virtio\" and \"vhost\" [VF-CONFIG-MISTAKE]");
}

TEST_CASE("RDMA and vDPA exclude each other") {
  CHECK(error_of(with_selectors(R"({"vdpaType":"vhost","isRdma":true})"))
            .text.find("cannot be combined with isRdma") != std::string::npos);
}

TEST_CASE("an unknown host use is refused with those that are allowed") {
  CHECK(error_of(resource(R"("resourceName":"a","hostUse":"never")")).text ==
        "c.json: resourceList[0] (intel.com/a): hostUse: must be one of refuse, warn, allow, "
        "got \"never\"");
}

TEST_CASE("resource names are those that kubelet and the peer accept") {
  for (const char* name : {"a", "sriov_net_A", "a-b", "9"}) {
    CHECK(parse(resource(R"("resourceName":")" + std::string(name) + "\"")).resources.size() == 1);
  }
  for (const std::string& name : {std::string("a.b"), std::string(), std::string("a b"), std::string("-a"),
                                  std::string("a_"), std::string(64, 'x')}) {
    const Error error = error_of(resource(R"("resourceName":")" + name + "\""));
    CHECK(error.text.find("c.json: resourceList[0] (intel.com/" + name + "): resourceName: \"" + name +
                          "\" ") == 0);
  }
  CHECK(error_of(R"({"resourceList":[{"selectors":{}}]})").text ==
        "c.json: resourceList[0]: resourceName: missing");
}

TEST_CASE("a prefix that kubelet refuses is refused early") {
  for (const char* prefix : {"Intel.com", "a..b", "-a", "a/b", "kubernetes.io", "x.kubernetes.io",
                             "mykubernetes.io", "requests.intel.com"}) {
    CHECK(error_of(resource(R"("resourceName":"a","resourcePrefix":")" + std::string(prefix) + "\""))
              .text.find("resourcePrefix: ") != std::string::npos);
  }
  CHECK(parse(resource(R"("resourceName":"a","resourcePrefix":"")")).resources[0].prefix == "intel.com");
  for (const char* prefix : {"kubernetes.io.intel.com", "requests", "my.requests.com"})
    CHECK(parse(resource(R"("resourceName":"a","resourcePrefix":")" + std::string(prefix) + "\""))
              .resources.size() == 1);
}

TEST_CASE("two resources with one name are refused, with different prefixes they are not") {
  const std::string entry = R"({"resourceName":"a","selectors":{}})";
  CHECK(error_of(R"({"resourceList":[)" + entry + "," + entry + "]}", true)
            .text.find(
                "c.json: resourceList[1] (intel.com/a): resourceName: \"intel.com/a\" is already the name of "
                "another resource") == 0);
  CHECK(parse(R"({"resourceList":[)" + entry +
              R"(,{"resourcePrefix":"b.c","resourceName":"a","selectors":{}}]})")
            .resources.size() == 2);
}

TEST_CASE("additional information must be strings below a device or a star") {
  CHECK(parse(resource(R"("resourceName":"a","additionalInfo":{"*":{"k":null}})"))
            .resources[0]
            .additional_info->at("*")
            .at("k")
            .empty());
  CHECK(parse(resource(R"("resourceName":"a","additionalInfo":{})")).resources[0].additional_info);
  CHECK_FALSE(parse(resource(R"("resourceName":"a","additionalInfo":null)")).resources[0].additional_info);
  CHECK(error_of(resource(R"("resourceName":"a","additionalInfo":{"*":{"n":5}})")).text ==
        "c.json: resourceList[0] (intel.com/a): additionalInfo[\"*\"].n: must be a string, got a "
        "number (5)");
  const Config config = parse(resource(R"("resourceName":"a","additionalInfo":{"3b:02.6":{"n":"5"}})"));
  CHECK(config.warnings.at(0).text.find("additionalInfo[\"3b:02.6\"]: matches no device") !=
        std::string::npos);
}

TEST_CASE("socket and variable names are the peer's") {
  ResourceConfig resource;
  resource.prefix = "intel.com";
  resource.name = "sriov_net_A";
  CHECK(socket_name(resource) == "intel.com_sriov_net_A.sock");
  CHECK(env_name(resource) == "PCIDEVICE_INTEL_COM_SRIOV_NET_A");
  resource.prefix = "k8s-x.io";
  resource.name = "a-b";
  CHECK(env_name(resource) == "PCIDEVICE_K8S-X_IO_A-B");
}

TEST_CASE("a socket path may have 107 bytes and not one more") {
  ResourceConfig resource;
  resource.prefix = "nvidia.com";
  resource.name = std::string(50, 'n');
  const size_t rest = 1 + socket_name(resource).size();
  CHECK(check_socket_path(resource, std::string(107 - rest, 'd')));
  const auto too_long = check_socket_path(resource, std::string(108 - rest, 'd'));
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().text.find("has 108 bytes, a unix socket's path can have 107") != std::string::npos);
}

TEST_CASE("a selector's row suffices: it is parsed, suggested, compared and described") {
  for (const SelectorField& field : selector_fields()) {
    CAPTURE(field.key);
    CHECK(std::string(field.document).size() > 2);
    CHECK(std::string(field.fact).size() > 1);
    std::string misspelt = field.key;
    misspelt.back() = 'x';
    if (misspelt.size() < 4) continue;  // "nox" may be a comment
    CHECK(error_of(with_selectors("{\"" + misspelt + "\": null, \"" + misspelt + "s\": []}"))
              .text.find("did you mean \"") != std::string::npos);
  }
}
