// plugin/device/config/formats/vfs.h
#include "plugin/device/config/formats/vfs.h"

#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/mistakes.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Result<VfsConfig> parse(const std::string& text) { return parse_vfs(text, {.file = "c.yaml"}); }

std::string fault(const std::string& entry) {
  const auto config = parse("{\"vfs\": [{\"pf\": \"ens1f0\", \"count\": 2}, {" + entry + "}]}");
  return config ? "no error" : config.error().text;
}

}  // namespace

TEST_CASE("an entry says PFs, number and settings of their VFs") {
  const auto config = parse(R"(
rdma: {netns: exclusive}
vfs:
- pf: ["0000:3b:00.0", "ens2f*"]
  serial: MT2042X00001
  count: 2
  linkType: eth
  mtu: 9000
  eswitch: legacy
  mac: ["02:00:00:00:00:01", "02:00:00:00:00:02"]
  trust: true
  spoofChk: false
  linkState: enable
  rates: {min: 10, max: 100}
  driver: vfio-pci
- {pf: ib0, count: 3, linkType: infiniband, guids: {first: "02:00:00:00:00:00:00:01", last: "02:00:00:00:00:00:00:09"}}
)");
  REQUIRE(config);
  CHECK(config->rdma_netns == RdmaNetnsMode::exclusive);
  REQUIRE(config->entries.size() == 2);
  const VfsEntry& first = config->entries[0];
  CHECK(first.devices == std::vector{*PciAddress::parse("0000:3b:00.0")});
  CHECK(first.names == std::vector<std::string>{"ens2f*"});
  CHECK(first.serials == std::vector<std::string>{"MT2042X00001"});
  CHECK(first.count == 2);
  CHECK(first.link_type == "ether");
  CHECK(first.mtu == 9000U);
  CHECK(first.eswitch == EswitchMode::legacy);
  CHECK(first.mac_list.size() == 2);
  CHECK(first.policy.text() == "min_tx_rate 10 max_tx_rate 100, spoofchk off, trust on, link_state enable");
  CHECK(first.driver_of(1) == VfDriver::vfio_pci);
  CHECK_FALSE(config->entries[1].driver_of(1));
  CHECK(config->entries[1].guid_list ==
        std::vector<uint64_t>{0x0200000000000001, 0x0200000000000002, 0x0200000000000003});
}

TEST_CASE("VFs of one PF can have different drivers, by their indexes") {
  const auto config =
      parse(R"({"vfs": [{"pf": "ens1f0", "count": 8, "driver": ["vfio-pci#4-6", "default#0,5-7"]}]})");
  REQUIRE(config);
  const VfsEntry& entry = config->entries.at(0);
  CHECK(entry.driver_of(0) == VfDriver::kernel);
  CHECK_FALSE(entry.driver_of(1));
  CHECK(entry.driver_of(5) == VfDriver::vfio_pci);
  CHECK(entry.driver_of(7) == VfDriver::kernel);
}

TEST_CASE("what is wrong in an entry is named with entry, key and cause") {
  const std::string where = "c.yaml: document 1: vfs[1].";
  const auto is = [&](const std::string& entry, const std::string& text) {
    CAPTURE(entry);
    CHECK(fault(entry) == where + text);
  };
  is(R"("count": 2)",
     "pf (line 1): missing, and so is serial: name the PF by PCI address, interface or serial");
  is(R"("pf": "a/b", "count": 2)",
     "pf (line 1): \"a/b\" is neither a PCI address like 0000:3b:00.0 nor the name of an interface, nor a "
     "pattern of "
     "names like ens1f*");
  is(R"("pf": "ib0")", "count (line 1): missing; it is the number of VFs");
  is(R"("pf": "ib0", "count": 2, "linkTyp": "ib")",
     "linkTyp (line 1): unknown key; did you mean \"linkType\"?");
  is(R"("pf": "ib0", "count": 2, "driver": "vfio")",
     "driver (line 1): must be one of default, none, vfio-pci, got \"vfio\"");
  is(R"("pf": "ib0", "count": 2, "driver": "vfio-pci#1-0")",
     "driver (line 1): \"vfio-pci#1-0\" the range 1-0 is empty: the smaller number comes first");
  is(R"("pf": "ib0", "count": 2, "guids": ["02:00:00:00:00:00:00:01"])",
     "guids (line 1): the list has 1 for 2 VFs: each VF needs one");
  is(R"("pf": "ib0", "count": 2, "guids": {"first": "02:00:00:00:00:00:00:01", "last": "02:00:00:00:00:00:00:01"})",
     "guids.last (line 1): the range has 1 GUIDs for 2 VFs");
  is(R"("pf": "ib0", "count": 2, "mac": ["01:00:00:00:00:01", "02:00:00:00:00:02"])",
     "mac (line 1): \"01:00:00:00:00:01\" is not the MAC address of one interface");
  is(R"("pf": "ib0", "count": 2, "linkType": "ib", "trust": true)",
     "trust (line 1): VFs of InfiniBand do not have it");
  is(R"("pf": "ib0", "count": 2, "rates": {"min": 20, "max": 10})",
     "rates.min (line 1): it is larger than max");
}

TEST_CASE("a file with vfs alone has nothing to serve") {
  const auto served = parse_config(R"({"vfs":[{"pf":"ens1f0","count":2}]})", {.file = "c.json"});
  REQUIRE_FALSE(served);
  CHECK(served.error().id_text() == "VF-CONFIG-EMPTY");
  CHECK_THAT(served.error().text, Catch::Contains("vfs alone"));
}

TEST_CASE("serve ignores vfs, and a fault in it takes no resource away; check-config finds it") {
  const std::string served = R"({"resourceList":[{"resourceName":"a","selectors":{"vendors":["15b3"]}}],)";
  const auto good = parse_config(served + R"("vfs":[{"pf":"ens1f0","count":2}],"rdma":{"netns":"shared"}})",
                                 {.file = "c.json", .strict = true});
  REQUIRE(good);
  CHECK(good->warnings.empty());
  const auto faulty = parse_config(served + R"("vfs":[{"pf":"ens1f0"}]})", {.file = "c.json"});
  REQUIRE(faulty);
  CHECK(faulty->resources.size() == 1);
  CHECK(test::mistakes_of(*faulty) ==
        std::vector<std::string>{"c.json: vfs: vfs[0].count: missing; it is the number of VFs "
                                 "[VF-CONFIG-MISTAKE]"});
}
