// What is an error for `vfrail check-config` alone: `serve` takes it as the peers do, with a warning.
#include "tests/plugin/mistakes.h"

#include "plugin/device/config/formats/parse_config.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Config parse(const std::string& text) {
  auto config = parse_config(text, {.file = "c.json"});
  if (!config) FAIL(config.error().text);
  return *std::move(config);
}

std::string entry(const std::string& name, const std::string& selectors, const std::string& more = "") {
  return R"({"resourceName":")" + name + R"(","selectors":)" + selectors + more + "}";
}

std::string listed(const std::string& entries) { return "{\"resourceList\":[" + entries + "]}"; }

// The resource is served nevertheless.
std::vector<std::string> mistakes(const std::string& text) {
  const Config config = parse(text);
  CHECK(config.skipped.empty());
  return test::mistakes_of(config);
}

std::string only(const std::string& text) {
  CAPTURE(text);
  const auto found = mistakes(text);
  REQUIRE(found.size() == 1);
  return found.front();
}

std::string of(const std::string& selectors, const std::string& more = "") {
  return only(listed(entry("a", selectors, more)));
}

bool good(const std::string& selectors, const std::string& more = "") {
  CAPTURE(selectors);
  return mistakes(listed(entry("a", selectors, more))).empty();
}

constexpr const char* kWhere = "c.json: resourceList[0] (intel.com/a): ";

}  // namespace

TEST_CASE("a key in a selector that is no selector and no comment is a mistake") {
  CHECK(of(R"({"vendors":["15b3"],"interfaces":["eth0"]})") ==
        std::string(kWhere) + "selectors.interfaces: unknown key, ignored [VF-CONFIG-MISTAKE]");
  CHECK(good(R"({"vendors":["15b3"],"comment":"eth0","_x":["a"],"#y":true,"z":null})"));
  CHECK(of(R"({"vendors":["15b3"]})", R"(,"hostUsage":"refuse")").find("did you mean \"hostUse\"?") !=
        std::string::npos);
  CHECK(of(R"({"vendors":["15b3"]})", R"(,"pfNames":["eth0"])").find("it belongs into \"selectors\"") !=
        std::string::npos);
  CHECK(good(R"({"vendors":["15b3"]})", R"(,"sriovMode":true)"));
}

TEST_CASE("selectors that have no effect with the deviceType are a mistake if they were to narrow it") {
  CHECK(of(R"({"vendors":["8086"],"pfNames":["a"]})", R"(,"deviceType":"accelerator")")
            .find("pfNames has no effect") != std::string::npos);
  CHECK(good(R"({"vendors":["8086"],"needVhostNet":true})", R"(,"deviceType":"accelerator")"));
}

TEST_CASE("a list that is empty is a mistake where nothing else selects") {
  CHECK(
      of(R"({"vendors":[]})") ==
      std::string(kWhere) +
          "selectors.vendors: empty, and there is no other selector, so every function is selected; write {} "
          "if that is meant [VF-CONFIG-MISTAKE]");
  CHECK(of(R"([{"vendors":["15b3"]},{"pfNames":[],"needVhostNet":true}])")
            .find("selectors[1].pfNames: empty") != std::string::npos);
  CHECK(good("{}"));
  CHECK(good(R"({"vendors":null})"));
  CHECK(good(R"({"vendors":["15b3"],"pfNames":[],"drivers":[]})"));
  CHECK(good(R"({"pfNames":[],"isRdma":true})"));
}

TEST_CASE("a list of values that never match is a mistake, unless it has another value") {
  CHECK(of(R"({"vendors":["0x15b3"]})").find("selectors.vendors: \"0x15b3\" can never match") !=
        std::string::npos);
  CHECK(mistakes(listed(entry("a", R"({"vendors":["0x15b3","15B3"]})"))).size() == 2);
  CHECK(good(R"({"vendors":["0x15b3","15b3"]})"));
  CHECK(of(R"({"pfNames":["p#3-1"]})").find("the range 3-1 is empty") != std::string::npos);
  CHECK(mistakes(listed(entry("a", R"({"pfNames":["p#3-1","q#x"]})"))).size() == 2);
  CHECK(good(R"({"pfNames":["p#3-1","q#0"]})"));
  CHECK(good(R"({"pfNames":["p#0,x"]})"));
  CHECK(of(R"({"rootDevices":["86:00.0"]})").find("can never match") != std::string::npos);
  CHECK(good(R"({"rootDevices":["0000:AF:00.0#0-3","0000:3B:00.0"]})"));  // which is compared without case
  CHECK(of(R"({"pciAddresses":["0000:AF:00.0"]})").find("can never match") != std::string::npos);
  CHECK(of(R"({"vdpaType":"net"})").find("can never match") != std::string::npos);
}

TEST_CASE("patterns are judged as what they match") {
  for (const char* states : {R"(["*"])", R"(["lower*"])", R"(["?p"])", R"(["[du]*"])", R"(["testing"])",
                             R"(["notpresent"])", R"([""])"})
    CHECK(good("{\"linkStates\":" + std::string(states) + "}"));
  for (const char* states : {R"(["UP"])", R"(["running*"])", R"(["active","u"])"})
    CHECK_FALSE(good("{\"linkStates\":" + std::string(states) + "}"));
  for (const char* names : {R"(["ens785f0np0_abc"])", R"(["*ens785f0np0_abc*"])",
                            R"(["e[!a-z][[:digit:]]*"])", R"([""])", R"(["enp129s0f0npf0v[f0-9][0-9]"])"})
    CHECK(good("{\"ifNames\":" + std::string(names) + "}"));
  for (const char* name : {"ens785f0np0_abcd", "ens785f0np0_*abcd", "??????????????\?\?", "eth0 ", "net/eth0",
                           "eth0:1", "eth%d"}) {
    CHECK(of("{\"ifNames\":[\"" + std::string(name) + "\"]}")
              .find("\" can never match: a name of an interface") != std::string::npos);
  }
  CHECK(of(R"({"pfNames":["ens785f0np0_abcd#0-3"]})").find("can never match: a name of an interface") !=
        std::string::npos);
  CHECK(of(R"({"pfNames":["#0-3"]})").find("can never match: a name of an interface has 1 to 15 bytes") !=
        std::string::npos);
  CHECK(good(R"({"pfNames":["ens785f0np0_abc#0-3"]})"));
  const std::string longest(63, 'm');
  CHECK(good("{\"rdmaDevices\":[\"" + longest + "*\"]}"));
  CHECK(good(R"({"rdmaDevices":[""]})"));
  CHECK(
      of("{\"rdmaDevices\":[\"" + longest + "m\"]}").find("a name of an RDMA device has at most 63 bytes") !=
      std::string::npos);
  CHECK(of(R"({"rdmaDevices":["infiniband/mlx5_0"]})").find("can never match") != std::string::npos);
}

TEST_CASE("conditions that exclude each other are a mistake") {
  for (const char* selectors :
       {R"({"drivers":["vfio-pci"],"isRdma":true})", R"({"drivers":["vfio-pci","igb_uio"],"isRdma":true})",
        R"({"drivers":["uio_pci_generic"],"ifNames":["eth*"]})",
        R"({"drivers":["vfio-pci"],"rdmaDevices":["m*"]})", R"({"drivers":["vfio-pci"],"vdpaType":"vhost"})",
        R"({"drivers":["vfio-pci"],"macs":["02:*"]})", R"({"isPf":true,"pfNames":["eth0"]})",
        R"({"isPf":true,"rootDevices":["0000:86:00.0"]})", R"({"linkTypes":["ether"],"pKeys":["0x8001"]})",
        R"({"pciAddresses":["0000:86:00.1"],"pcieRoots":["pci0001:00"]})",
        R"({"rootDevices":["0000:86:00.0#1"],"pciAddresses":["0001:86:00.1","0002:86:00.1"]})",
        R"({"vendors":["15b3"],"not":{}})", R"({"vendors":["15b3"],"not":{"vendors":["15b3","8086"]}})",
        R"({"vendors":["15b3"],"isRdma":true,"not":[{"drivers":["x"]},{"isRdma":true}]})",
        R"({"isPf":false,"not":{"isPf":false}})", R"({"not":{"vendors":[]}})"}) {
    CHECK(of(selectors).find("selectors: matches nothing on any node: ") != std::string::npos);
  }
  CHECK(of(R"([{"vendors":["15b3"]},{"isPf":true,"pfNames":["a"]}])")
            .find("selectors[1]: matches nothing on any node: isPf: true cannot be combined with pfNames") !=
        std::string::npos);
  CHECK(of(R"({"auxTypes":["sf"],"isPf":true})", R"(,"deviceType":"auxNetDevice")")
            .find("an auxNetDevice is never a PF") != std::string::npos);
  for (const char* selectors :
       {R"({"drivers":["vfio-pci","mlx5_core"],"isRdma":true})", R"({"drivers":["vfio-pci"],"ifNames":[""]})",
        R"({"drivers":["vfio-pci"],"pfNames":["eth0"],"linkTypes":["ether"]})",
        R"({"isPf":false,"pfNames":["eth0"]})", R"({"linkTypes":["ether","infiniband"],"pKeys":["0x8001"]})",
        R"({"pciAddresses":["0000:86:00.1"],"pcieRoots":["pci0000:80"]})",
        R"({"vendors":["15b3","8086"],"not":{"vendors":["15b3"]}})",
        R"({"vendors":["15b3"],"not":{"vendors":["15b3"],"isRdma":true}})"}) {
    CHECK(good(selectors));
  }
}

TEST_CASE("a shared pool of devices that have no RDMA device is a mistake") {
  CHECK(only(R"({"configList":[{"resourceName":"a","rdmaHcaMax":5,"selectors":{"drivers":["vfio-pci"]}}]})")
            .find("isRdma cannot be combined with the driver vfio-pci") != std::string::npos);
}

TEST_CASE("a selector that leaves nothing for those after it is a mistake") {
  CHECK(of(R"([{},{"vendors":["15b3"]}])")
            .find("selectors[0]: selects every function, so that those after it have no effect") !=
        std::string::npos);
  CHECK(good(R"([{"vendors":["15b3"],"isRdma":true},{}])"));
}

TEST_CASE("a resource for which an earlier one leaves nothing is a mistake") {
  const auto pair = [](const std::string& first, const std::string& second) {
    return mistakes(listed(first + "," + second));
  };
  CHECK(
      pair(entry("a", R"({"vendors":["15b3"]})"), entry("b", R"({"vendors":["15b3"],"pfNames":["p0"]})")) ==
      std::vector<std::string>{
          "c.json: resourceList[1] (intel.com/b): selectors: matches nothing on any node: "
          "intel.com/a, which comes before it, has every device that is selected here [VF-CONFIG-MISTAKE]"});
  CHECK(pair(entry("a", "{}"), entry("b", R"([{"vendors":["15b3"]},{"vendors":["8086"]}])")).size() == 1);
  CHECK(pair(entry("a", R"({"vendors":["15b3"]})"), entry("b", R"({"pfNames":["p0"]})")).empty());
  CHECK(pair(entry("a", R"({"vendors":["15b3"],"isRdma":true})"), entry("b", R"({"vendors":["15b3"]})"))
            .empty());
  CHECK(pair(entry("a", "{}"), entry("b", R"({"vendors":["8086"]})", R"(,"deviceType":"accelerator")"))
            .empty());
  CHECK(pair(entry("a", "{}", R"(,"hostUse":"refuse")"), entry("b", "{}", R"(,"hostUse":"allow")")).empty());
  CHECK(mistakes(R"({"resourceList":[{"resourceName":"a","selectors":{}}],
    "configList":[{"resourceName":"s","rdmaHcaMax":1,"devices":["ib0"]}]})")
            .empty());
}

TEST_CASE("a pattern where names are compared as they are is a mistake that names ifNames") {
  for (const char* key : {"pfNames", "drivers", "ddpProfiles"}) {
    const std::string text = of(std::string(R"({"vendors":["15b3"],")") + key + R"(":["ens*","ens1"]})");
    CHECK(text.find(std::string("selectors.") + key + ": \"ens*\" is a pattern and can never match") !=
          std::string::npos);
    CHECK(text.find("use ifNames for patterns") != std::string::npos);
  }
  CHECK(of(R"({"pfNames":["ens?#0-3"]})").find("is a pattern") != std::string::npos);
  CHECK(good(R"({"ifNames":["ens*"],"rdmaDevices":["mlx5_[01]"]})"));
  CHECK(mistakes(R"({"mode":"sriov","pfNetdevices":["ens*"]})").size() == 1);
}

TEST_CASE("a shared pool without units, and a mode that is none, are mistakes") {
  CHECK(only(R"({"configList":[{"resourceName":"a","rdmaHcaMax":0,"selectors":{"vendors":["15b3"]}}]})")
            .find("rdmaHcaMax: 0 or missing") != std::string::npos);
  CHECK(only(R"({"mode":"foo"})").find("\"foo\" is neither hca nor sriov") != std::string::npos);
}
