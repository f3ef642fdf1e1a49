#include "plugin/device/match/pools.h"

#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Config config(const std::string& resources) {
  auto parsed = parse_config("{\"resourceList\":[" + resources + "]}", {"c.json", "intel.com", false});
  if (!parsed) FAIL(parsed.error().text);
  return *std::move(parsed);
}

std::string resource(const std::string& name, const std::string& selectors, const std::string& more = "") {
  return R"({"resourceName":")" + name + R"(","selectors":)" + selectors + more + "}";
}

std::vector<std::string> ids(const Pool& pool) {
  std::vector<std::string> out;
  for (const PoolDevice& device : pool.devices) out.push_back(device.id());
  return out;
}

std::vector<std::string> reasons(const Pools& pools, const std::string& id) {
  for (const LeftOut& left : pools.left_out) {
    if (left.id == id) return texts_of(left.reasons);
  }
  return {};
}

// The only pool's devices for these selectors.
std::vector<std::string> selected(const Tree& tree, const std::string& selectors) {
  return ids(match(config(resource("a", selectors)), tree.scan()).pools.at(0));
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("RDMA-capable VFs are advertised, their PFs are not") {
  const Tree tree("igb_node");
  const Pools pools = match(config(resource("a", R"({"vendors":["8086"],"isRdma":true})")), tree.scan());
  CHECK(pools.pools[0].devices.size() == 8);
  CHECK(pools.pools[0].devices[0].rdma);
  CHECK(reasons(pools, "0000:21:00.0") == Ids{"PF with 4 VFs: only its VFs are advertised"});
  CHECK(pools.left_out.size() == 2);
}

TEST_CASE("the ports that decide on health are the PFs' own, and those of shared devices") {
  Tree tree("igb_node");
  tree.add("sys/bus/pci/devices/0000:21:00.0/infiniband/port0/ports/1/state = 4: ACTIVE\n");
  using Names = std::set<std::string>;
  const auto port_devices = [&](const std::string& selectors) {
    return match(config(resource("a", selectors)), tree.scan()).port_devices;
  };
  CHECK(port_devices(R"({"isRdma":true})") == Names{"port0"});
  CHECK(port_devices(R"({"rootDevices":["0000:41:00.0"]})").empty());
  auto shared =
      parse_config(R"({"configList":[{"resourceName":"a","rdmaHcaMax":9,"selectors":{"vendors":["8086"]}}]})",
                   {"c.json", "rdma", false});
  REQUIRE(shared);
  CHECK(match(*shared, tree.scan()).port_devices.size() == 9);
}

TEST_CASE("each selector field selects by its fact") {
  const Tree igb("igb_node");
  const Tree mlx5("mlx5_switchdev");
  CHECK(selected(mlx5, R"({"vendors":["15b3"]})").size() == 4);
  CHECK(selected(mlx5, R"({"vendors":["8086"]})").empty());
  CHECK(selected(igb, R"({"devices":["10ca"]})").size() == 8);
  CHECK(selected(mlx5, R"({"drivers":["vfio-pci"]})") == Ids{"0000:03:00.5"});
  CHECK(selected(igb, R"({"pciAddresses":["0000:41:10.0"]})") == Ids{"0000:41:10.0"});
  CHECK(selected(mlx5, R"({"acpiIndexes":["5"]})").empty());  // the PF has it, but its VFs are enabled
  CHECK(selected(igb, R"({"pfNames":["ETH1#0,2-3"]})") ==
        Ids{"0000:41:10.0", "0000:41:10.4", "0000:41:10.6"});
  CHECK(selected(mlx5, R"({"pfNames":["enp3s0f0np0#0","enp3s0f0np0#2"]})") ==
        Ids{"0000:03:00.2", "0000:03:00.4"});
  CHECK(selected(igb, R"({"rootDevices":["0000:21:00.0#3"]})") == Ids{"0000:21:10.6"});
  CHECK(selected(igb, R"({"linkTypes":["ether"]})").size() == 8);
  CHECK(selected(igb, R"({"linkTypes":["infiniband"]})").empty());
  CHECK(selected(mlx5, R"({"isRdma":true})") == Ids{"0000:03:00.2", "0000:03:00.3", "0000:03:00.4"});
  CHECK(selected(igb, R"({"ddpProfiles":["GTP"]})").empty());
  CHECK(selected(igb, R"({"vdpaType":"vhost"})").empty());
}

TEST_CASE("fields are ANDed, selector objects ORed, and options come from the one that matched first") {
  const Pools pools = match(
      config(resource("a", R"([{"pfNames":["eth0"],"devices":["ffff"]},{"pfNames":["eth0#0"],"isRdma":true},
                                     {"pfNames":["eth0#0-1"]}])")),
      Tree("igb_node").scan());
  REQUIRE(ids(pools.pools[0]) == Ids{"0000:21:10.0", "0000:21:10.2"});
  CHECK(pools.pools[0].devices[0].rdma);
  CHECK_FALSE(pools.pools[0].devices[1].rdma);
}

TEST_CASE("the first resource that matches has the device, and an empty pool stays in the list") {
  const Pools pools = match(
      config(resource("a", R"({"vendors":["8086"]})") + "," + resource("b", R"({"pfNames":["eth0#0-3"]})")),
      Tree("igb_node").scan());
  REQUIRE(pools.pools.size() == 2);
  CHECK(pools.pools[0].devices.size() == 8);
  CHECK(pools.pools[1].devices.empty());
}

TEST_CASE("a PF without VFs is advertised, but never by its name") {
  const Tree tree("management");
  CHECK(selected(tree, R"({"pciAddresses":["0000:05:00.0"]})") == Ids{"0000:05:00.0"});
  const Pools pools = match(config(resource("a", R"({"pfNames":["ens7"]})")), tree.scan());
  CHECK(pools.pools[0].devices.empty());
  CHECK(reasons(pools, "0000:05:00.0") ==
        Ids{"intel.com/a: PF is none: it is a PF itself, and only VFs can match, want one of [ens7]"});
}

TEST_CASE("what was passed through to a virtual machine is not called a PF") {
  Tree tree("");
  tree.add(
      "pci pci0000:20/0000:20:01.0 class=0x020000 vendor=15b3 device=101e driver=mlx5_core net=eth1:1\n"
      "pci pci0000:20/0000:20:02.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1\n");
  const auto reason = [&](const char* selectors, const char* address) {
    return reasons(match(config(resource("a", selectors)), tree.scan()), address).at(0);
  };
  CHECK(reason(R"({"pfNames":["ens7"]})", "0000:20:01.0") ==
        "intel.com/a: PF is not on this machine: it was passed through to this virtual machine; select it by "
        "vendors, devices, pciAddresses or macs, want one of [ens7]");
  CHECK(reason(R"({"isPf":false})", "0000:20:01.0") ==
        "intel.com/a: function is one without a PF on this machine, which counts as a PF, want no PF");
  CHECK(reason(R"({"rootDevices":["0000:03:00.0"]})", "0000:20:02.0").find("it is a PF itself") !=
        std::string::npos);
}

TEST_CASE("a function without a driver is left out with that reason") {
  const Pools pools = match(config(resource("a", "{}")), Tree("mlx5_switchdev").scan());
  CHECK(reasons(pools, "0000:03:01.2") == Ids{"no driver is bound"});
  CHECK(reasons(pools, "0000:03:00.1") == Ids{"PF with 1 VF: only its VF is advertised"});
}

TEST_CASE("a function that matches no resource has for each the first field that failed") {
  const Pools pools = match(config(resource("a", R"({"vendors":["15b3","1924"]})") + "," +
                                   resource("b", R"([{"drivers":["iavf"]},{"pfNames":["eth0#7"]}])")),
                            Tree("igb_node").scan());
  CHECK(reasons(pools, "0000:21:10.2") ==
        Ids{"intel.com/a: vendor is 8086, want one of [15b3, 1924]",
            "intel.com/b: selectors[0]: driver is igbvf, want one of [iavf]",
            "intel.com/b: selectors[1]: PF is eth0#1, want one of [eth0#7]"});
}

TEST_CASE("the number of reasons is limited") {
  std::string resources;
  for (int i = 0; i < 20; ++i) {
    resources += (i == 0 ? "" : ",") + resource("r" + std::to_string(i), R"({"vendors":["15b3"]})");
  }
  const auto why = reasons(match(config(resources), Tree("igb_node").scan()), "0000:21:10.2");
  CHECK(why.size() == 8);
  CHECK(why.back() == "and 13 more selectors that do not match");
}

TEST_CASE("long lists of wanted values are shortened in reasons") {
  const Pools pools = match(config(resource("a", R"({"devices":["0001","0002","0003","0004","0005"]})")),
                            Tree("igb_node").scan());
  CHECK(reasons(pools, "0000:21:10.2") ==
        Ids{"intel.com/a: device is 10ca, want one of [0001, 0002, 0003, 2 more]"});
}

TEST_CASE("a function that the host uses is left out by default, with the use as the reason") {
  const Pools pools = match(config(resource("a", "{}")), Tree("management").scan());
  CHECK(ids(pools.pools[0]) == Ids{"0000:02:00.1", "0000:04:00.0", "0000:05:00.0"});
  CHECK(reasons(pools, "0000:01:00.0") ==
        Ids{"intel.com/a: left out, the host uses it: part of bond0 (a bond), on which bond0.100 carries the "
            "IPv4 default route (table main) and has the connected network 10.0.0.0/24 (hostUse: allow would "
            "advertise it)"});
  CHECK(reasons(pools, "0000:01:00.1") == reasons(pools, "0000:01:00.0"));
  CHECK(reasons(pools, "0000:02:00.0").size() == 1);
  CHECK(reasons(pools, "0000:04:00.1").size() == 1);
}

TEST_CASE("a function that merely has host addresses is advertised with a warning") {
  const Pools pools = match(config(resource("a", "{}")), Tree("management").scan());
  REQUIRE(pools.warnings.size() == 1);
  CHECK(pools.warnings[0].text.find("intel.com/a advertises 0000:02:00.1, which the host uses: eno4 has ") ==
        0);
  CHECK(pools.warnings[0].line().ends_with(" [VF-HOST-DEVICE-OFFERED]"));
  CHECK(pools.warnings[0].resource == "intel.com/a");
  CHECK(pools.warnings[0].device == "0000:02:00.1");
}

TEST_CASE("hostUse refuse leaves out functions with addresses, too") {
  const Pools pools = match(config(resource("a", "{}", R"(,"hostUse":"refuse")")), Tree("management").scan());
  CHECK(ids(pools.pools[0]) == Ids{"0000:04:00.0", "0000:05:00.0"});
  CHECK(pools.warnings.empty());
}

TEST_CASE("hostUse allow advertises everything and states the risk") {
  const Pools pools = match(config(resource("a", "{}", R"(,"hostUse":"allow")")), Tree("management").scan());
  CHECK(pools.pools[0].devices.size() == 8);
  CHECK(pools.left_out.empty());
  CHECK(pools.warnings.size() == 6);  // one for each of these functions
}

TEST_CASE("a function that one resource must not have is left to a later one that may") {
  const Pools pools = match(config(resource("a", "{}") + "," + resource("b", "{}", R"(,"hostUse":"allow")")),
                            Tree("management").scan());
  CHECK(ids(pools.pools[1]) ==
        Ids{"0000:00:05.0", "0000:01:00.0", "0000:01:00.1", "0000:02:00.0", "0000:04:00.1"});
}

TEST_CASE("VFs in pods stay in their pool, also for a plugin that has just started") {
  Tree tree("igb_node");
  const Config wanted =
      config(resource("a", R"({"isRdma":true,"linkTypes":["ether"],"pfNames":["eth0","eth1"]})"));
  const Pools before = match(wanted, tree.scan());
  for (const PoolDevice& device : before.pools[0].devices) tree.move_to_pod(device.id());
  const Pools after = match(wanted, tree.scan());
  CHECK(ids(after.pools[0]).size() == 8);
  CHECK(ids(after.pools[0]) == ids(before.pools[0]));
  CHECK(after.left_out.size() == before.left_out.size());
}

TEST_CASE("partition keys are compared as numbers, without case and membership") {
  Inventory inventory;
  DeviceFacts vf;
  vf.address = *PciAddress::parse("0000:05:00.1");
  vf.id = DeviceId(vf.address);
  vf.driver = Driver("mlx5_core");
  vf.pkey = "0xabcd";
  inventory.functions.push_back(vf);
  for (const char* key : {"0xabcd", "0xABCD", "0x2bcd", "abcd"}) {
    CHECK(match(config(resource("a", R"({"pKeys":[")" + std::string(key) + "\"]}")), inventory)
              .pools[0]
              .devices.size() == 1);
  }
  for (const char* key : {"0xabce", "all", ""}) {
    CHECK(match(config(resource("a", R"({"pKeys":[")" + std::string(key) + "\"]}")), inventory)
              .pools[0]
              .devices.empty());
  }
}

TEST_CASE("a vDPA type selects by the driver of the vDPA device") {
  Inventory inventory;
  DeviceFacts vf;
  vf.address = *PciAddress::parse("0000:05:00.1");
  vf.id = DeviceId(vf.address);
  vf.driver = Driver("mlx5_core");
  vf.vdpa = Vdpa{"vdpa0", Driver("virtio_vdpa"), ""};
  inventory.functions.push_back(vf);
  CHECK(match(config(resource("a", R"({"vdpaType":"virtio"})")), inventory).pools[0].devices.size() == 1);
  const Pools pools = match(config(resource("a", R"({"vdpaType":"vhost"})")), inventory);
  CHECK(reasons(pools, "0000:05:00.1") ==
        Ids{"intel.com/a: vDPA device is vdpa0 with the driver virtio_vdpa, want vhost"});
}

TEST_CASE("additional information is merged, a device's own values over those for all") {
  const Pools pools = match(config(resource("a", "{}", R"(,"additionalInfo":{"*":{"a":"1","b":"1"},
                                                         "0000:21:10.0":{"b":"2","c":"3"}})")),
                            Tree("igb_node").scan());
  CHECK(pools.pools[0].find("0000:21:10.0")->extra ==
        std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}, {"c", "3"}});
  CHECK(pools.pools[0].find("0000:21:10.2")->extra ==
        std::map<std::string, std::string>{{"a", "1"}, {"b", "1"}});
  CHECK(pools.pools[0].find("0000:99:00.0") == nullptr);
}

TEST_CASE("needVhostNet is a warning where the nodes do not exist") {
  const Config wanted = config(resource("a", R"({"needVhostNet":true})"));
  CHECK(match(wanted, Tree("igb_node").scan()).warnings.empty());
  const Pools pools = match(wanted, Tree("mlx5_switchdev").scan());
  REQUIRE(pools.warnings.size() == 1);
  CHECK(pools.warnings[0].text.find("intel.com/a has needVhostNet, but ") == 0);
  CHECK(pools.warnings[0].line().ends_with(" [VF-EXTRA-NODE-MISSING]"));
}

TEST_CASE("a shared pool has PFs and VFs alike, and claims none of them") {
  const auto parsed = parse_config(R"({"resourceList":[{"resourceName":"a","selectors":{"isRdma":true}}],
    "configList":[{"resourceName":"all","rdmaHcaMax":10,"selectors":{"vendors":["8086"]}},
                  {"resourceName":"one","rdmaHcaMax":10,"selectors":{"ifNames":["eth8"]}}]})",
                                   {"c.json", "intel.com", true});
  REQUIRE(parsed);
  const Pools pools = match(*parsed, Tree("igb_node").scan());
  CHECK(pools.pools[0].devices.size() == 8);
  CHECK(pools.pools[1].devices.size() == 8);  // the PFs of this tree have no RDMA device
  CHECK(ids(pools.pools[2]) == Ids{"0000:41:10.4"});
  CHECK(pools.warnings.size() == 2);  // this node's RDMA is in exclusive mode
  CHECK(pools.warnings[0].text.find(
            "rdma/all shares RDMA devices, but RDMA is in exclusive namespace mode") == 0);
  CHECK(pools.warnings[0].line().ends_with(" [VF-RDMA-EXCLUSIVE-MODE]"));
}

namespace {

// A ConnectX with two sub-functions, of which one is in a pod, and an accelerator beside it.
constexpr const char* kSubFunctions = R"(
  sys/bus/pci/devices/0000:03:00.0 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/class = 0x020000
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/vendor = 0x15b3
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/device = 0xa2d6
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/numa_node = 1
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/driver -> ../../../../bus/pci/drivers/mlx5_core
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/net/p0/type = 1
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/net/p0/address = 02:00:00:00:00:01
  sys/bus/auxiliary/devices/mlx5_core.sf.4 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/sfnum = 88
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/net/enp3s0f0s88/type = 1
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/infiniband/mlx5_4/ports/1/state = 4: ACTIVE
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/infiniband_verbs/uverbs4/ibdev = mlx5_4
  sys/bus/auxiliary/devices/mlx5_core.sf.10 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.10
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.10/sfnum = 5
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.10/infiniband_verbs/uverbs5/ibdev = mlx5_5
  sys/bus/auxiliary/devices/mlx5_core.eth.0 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.eth.0
  sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.eth.0/
  sys/bus/pci/devices/0000:6b:00.0/class = 0x120000
  sys/bus/pci/devices/0000:6b:00.0/vendor = 0x8086
  sys/bus/pci/devices/0000:6b:00.0/device = 0x0d5c
  sys/bus/pci/devices/0000:6b:00.0/driver -> ../../drivers/vfio-pci
)";

std::string aux(const std::string& selectors) {
  return resource("sf", selectors, R"(,"deviceType":"auxNetDevice")");
}

Ids selected_aux(const Tree& tree, const std::string& selectors) {
  return ids(match(config(aux(selectors)), tree.scan()).pools.at(0));
}

}  // namespace

TEST_CASE("sub-functions are selected by their own facts and their parent's") {
  Tree tree("");
  tree.add(kSubFunctions);
  const Ids both = {"mlx5_core.sf.10", "mlx5_core.sf.4"};  // by the user's numbers, 5 and 88
  CHECK(selected_aux(tree, R"({"auxTypes":["sf"]})") == both);
  CHECK(selected_aux(
            tree, R"({"auxTypes":["sf"],"vendors":["15b3"],"devices":["a2d6"],"drivers":["mlx5_core"]})") ==
        both);
  CHECK(selected_aux(tree, R"({"auxTypes":["sf"],"pfNames":["p0#1-5"]})") == Ids{"mlx5_core.sf.10"});
  CHECK(selected_aux(tree, R"({"auxTypes":["sf"],"rootDevices":["0000:03:00.0#88"]})") ==
        Ids{"mlx5_core.sf.4"});
  CHECK(selected_aux(tree, R"({"auxTypes":["sf"],"linkTypes":["ether"],"isRdma":true})") == both);
  const Pools pools = match(config(aux(R"({"auxTypes":["sf"],"isRdma":true})")), tree.scan());
  const DeviceFacts& facts = pools.pools[0].devices[1].facts;
  CHECK(facts.numa_node == 1);
  CHECK(facts.rdma.at(0).uverbs == "uverbs4");
  CHECK(reasons(pools, "0000:03:00.0") == Ids{"no resource has the deviceType netDevice"});
}

TEST_CASE("accelerators are a type of their own, and no network function is one") {
  Tree tree("");
  tree.add(kSubFunctions);
  const Pools pools = match(config(resource("fec", R"({"vendors":["8086"],"drivers":["vfio-pci"]})",
                                            R"(,"deviceType":"accelerator")")),
                            tree.scan());
  CHECK(ids(pools.pools[0]) == Ids{"0000:6b:00.0"});
  CHECK(match(config(resource("net", "{}")), tree.scan()).pools[0].find("0000:6b:00.0") == nullptr);
}

TEST_CASE("an accelerator with VFs is advertised as well as they, as in the peer") {
  Tree tree("");
  tree.add(kSubFunctions);
  tree.add(
      "sys/bus/pci/devices/0000:6b:00.0/sriov_totalvfs = 16\nsys/bus/pci/devices/0000:6b:00.0/sriov_numvfs = "
      "2");
  const Pools pools = match(
      config(resource("fec", R"({"vendors":["8086"]})", R"(,"deviceType":"accelerator")")), tree.scan());
  CHECK(ids(pools.pools[0]) == Ids{"0000:6b:00.0"});
}

TEST_CASE("an empty interface name is that of a device without one, and a virtio device has no link type") {
  const Tree node("erdma_vm");
  const auto names = [&](const std::string& selectors) { return selected(node, selectors); };
  CHECK(names(R"({"ifNames":[""]})") == Ids{"0000:1a:00.0", "0000:9c:00.0"});
  CHECK(names(R"({"linkTypes":["ether"]})").empty());
  CHECK(names(R"({"drivers":["virtio-pci"],"ifNames":["*"]})").empty());  // it carries the default route
}

TEST_CASE("a PF and its sub-functions in two pools are warned about") {
  Tree tree("");
  tree.add(kSubFunctions);
  const Pools pools = match(config(resource("pf", "{}") + "," + aux(R"({"auxTypes":["sf"]})")), tree.scan());
  REQUIRE(pools.warnings.size() == 2);
  CHECK(pools.warnings[0].text.find(
            "intel.com/pf advertises 0000:03:00.0, whose sub-function mlx5_core.sf.10") == 0);
  CHECK(pools.warnings[0].line().ends_with(" [VF-PORT-OFFERED-TWICE]"));
}

TEST_CASE("VFs are selected by their index, whatever the name of their PF") {
  const Tree igb("igb_node");
  CHECK(selected(igb, R"({"vfIndexes":["0","2-3"]})") ==
        Ids{"0000:21:10.0", "0000:21:10.4", "0000:21:10.6", "0000:41:10.0", "0000:41:10.4", "0000:41:10.6"});
  CHECK(selected(igb, R"({"vfIndexes":["1,3"],"numaNodes":[1]})") == Ids{"0000:41:10.2", "0000:41:10.6"});
  CHECK(selected(igb, R"({"vfIndexes":["4-63"]})").empty());
  const Pools pools = match(config(resource("a", R"({"vfIndexes":["1-2"]})")), igb.scan());
  CHECK(reasons(pools, "0000:21:10.0") == Ids{"intel.com/a: VF index is 0, want one of [1-2]"});
  const Config odd = config(resource("a", R"({"vfIndexes":["0-3","3-0","two"]})"));
  REQUIRE(odd.warnings.size() == 2);
  CHECK(odd.warnings[1].text.find("\"two\" can never match: numbers and ranges are written like 0-3,7") !=
        std::string::npos);
}

TEST_CASE("each further selector selects by its fact, and not inverts it") {
  const Tree igb("igb_node");
  CHECK(selected(igb, R"({"ifNames":["eth8"]})") == Ids{"0000:41:10.4"});
  CHECK(selected(igb, R"({"ifNames":["eth?"]})").size() == 8);
  CHECK(selected(igb, R"({"macs":["52:54:00:41:*"]})").size() == 4);
  CHECK(selected(igb, R"({"subsystems":["8086:a03c"]})").size() == 8);
  CHECK(selected(igb, R"({"subsystems":["8086"]})").size() == 8);
  CHECK(selected(igb, R"({"subsystems":["8086:0000"]})").empty());
  CHECK(selected(igb, R"({"numaNodes":[1]})").size() == 4);
  CHECK(selected(igb, R"({"pcieRoots":["pci0000:20"]})").size() == 4);
  CHECK(selected(igb, R"({"rdmaDevices":["mlx5_[01]"]})") == Ids{"0000:21:10.0", "0000:21:10.2"});
  CHECK(selected(igb, R"({"isPf":false})").size() == 8);
  CHECK(selected(igb, R"({"isPf":true})").empty());
  CHECK(selected(igb, R"({"not":{"numaNodes":[1]}})").size() == 4);
  CHECK(selected(igb, R"({"not":[{"numaNodes":[1]},{"rdmaDevices":["mlx5_0"]}]})").size() == 3);
  const Pools pools = match(config(resource("a", R"({"not":{"numaNodes":[0]}})")), igb.scan());
  CHECK(reasons(pools, "0000:21:10.0") ==
        Ids{"intel.com/a: function is one that \"not\" matches, want another"});
}
