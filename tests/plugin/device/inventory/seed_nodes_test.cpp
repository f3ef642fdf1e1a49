// Nodes that users have written about, with the configurations that they used: their pools, and the reasons
// for the rest.
#include "plugin/admin/report/report_trace.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/selection_trace.h"
#include "plugin/device/match/units.h"
#include "tests/plugin/tree.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

struct SeedNode {
  Config config;
  Inventory inventory;
  Pools pools;

  SeedNode(const std::string& tree, const std::string& text) {
    auto parsed = parse_config(text, {"config.json", "intel.com", true});
    if (!parsed) FAIL(parsed.error().text);
    config = *std::move(parsed);
    inventory = Tree(tree).scan();
    pools = match(config, inventory);
  }

  std::vector<std::string> ids(size_t pool = 0) const {
    std::vector<std::string> out;
    for (const PoolDevice& device : pools.pools[pool].devices) out.push_back(device.id());
    return out;
  }
  // What `vfrail inspect --explain` says of one function.
  std::string explanation(const std::string& id) const {
    std::string out;
    for (const FunctionTrace& traced : trace_selection(config, inventory, pools)) {
      if (traced.function->id.text() == id) out = render_traces({traced}, inventory);
    }
    return out;
  }
};

using Texts = std::vector<std::string>;

const char* const kHostdev =
    R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"vendors":["15b3"],"isRdma":true}}]})";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("V100 node: both InfiniBand ports are advertised and healthy") {
  const SeedNode node("v100_ib", kHostdev);
  CHECK(node.ids() == Texts{"0000:86:00.0", "0000:86:00.1"});
  for (const PoolDevice& device : node.pools.pools[0].devices) CHECK(device.fault.empty());
}

TEST_CASE("A100 node: the bond of Ethernet ports is left out, and the dead InfiniBand port is unhealthy") {
  const SeedNode node("a100_bond", kHostdev);
  CHECK(node.ids() == Texts{"0000:4b:00.0", "0000:b2:00.0"});
  CHECK(
      node.pools.pools[0].devices[0].fault.text ==
      "its port is DOWN, Disabled: it is switched off on this node: ip link set ibp75s0 up; if it stays so, "
      "mlxlink -d ADDRESS shows why");
  CHECK(node.pools.pools[0].devices[1].fault.empty());
}

TEST_CASE("A100 node: mlx5_bond_0 is described as the Ethernet bond's") {
  const SeedNode node("a100_bond", kHostdev);
  const std::string text = node.explanation("0000:18:00.0");
  CHECK(
      says(text, "left out, the host uses it: part of bond0 (a bond), which carries the IPv4 default route"));
  CHECK(says(text, "(hostUse: allow would advertise it)"));
  CHECK(says(text, "it is a member of bond0, a bond (active-backup) of eno1, eno2"));
  CHECK(says(
      text, "its RDMA device mlx5_bond_0 is the one of that bond: RoCE over all its members, no InfiniBand"));
  CHECK(says(node.explanation("0000:4b:00.0"), "port 1 of mlx5_0 is DOWN (Disabled)"));
}

TEST_CASE("the shared pools of those nodes: 63 units each, by the names of interfaces") {
  const char* const config = R"({"periodicUpdateInterval":300,"configList":[
    {"resourceName":"rdma_v100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp134s0f0","ibp134s0f1"],"linkTypes":["infiniband"]}},
    {"resourceName":"rdma_a100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp75s0","ibp178s0"],"linkTypes":["infiniband"]}}]})";
  const SeedNode v100("v100_ib", config);
  CHECK(make_units(v100.pools.pools[0]).size() == 63);
  CHECK(make_units(v100.pools.pools[1]).empty());
  const SeedNode a100("a100_bond", config);
  const auto units = make_units(a100.pools.pools[1]);
  REQUIRE(units.size() == 63);
  CHECK(units[0].fault.empty());  // one port works, and the other has its nodes in the pod for when it does
  CHECK(units[0].devices.size() == 2);
}

TEST_CASE("the functions that manage the NVLink switches of a B200 are left out of every pool") {
  for (
      const char* config :
      {R"({"resourceList":[{"resourceName":"hca","selectors":{"vendors":["15b3"],"isRdma":true},"hostUse":"allow"}]})",
       R"({"configList":[{"resourceName":"hca","rdmaHcaMax":8,"selectors":{"vendors":["15b3"]}}]})"}) {
    const SeedNode node("b200", config);
    CHECK(node.ids().empty());  // no other RDMA device is in that tree
    for (const char* id : {"0000:05:00.0", "0000:05:00.1", "0000:05:00.2", "0000:05:00.3"}) {
      const auto left = std::find_if(node.pools.left_out.begin(), node.pools.left_out.end(),
                                     [&](const LeftOut& one) { return one.id == id; });
      REQUIRE(left != node.pools.left_out.end());
      CHECK(says(left->reasons.at(0).text, "the NVLink switches are managed through it"));
    }
  }
}

TEST_CASE("a node of eight RoCE rails: the management NIC is left out, one unit can be all rails") {
  const SeedNode node("roce_rails",
                      R"({"resourceList":[{"resourcePrefix":"rdma","resourceName":"hca","bundle":true,
    "selectors":{"vendors":["15b3"],"isRdma":true}}]})");
  CHECK(node.ids().size() == 8);
  const auto units = make_units(node.pools.pools[0]);
  REQUIRE(units.size() == 1);
  REQUIRE(units[0].devices.size() == 8);
  CHECK(units[0].devices[0]->facts.rdma[0].name == "mlx5_1");
  CHECK(units[0].devices[7]->facts.rdma[0].name == "mlx5_8");
  CHECK(says(node.explanation("0000:02:00.0"), "eth0 carries the IPv4 default route"));
}

TEST_CASE("a virtual machine with eRDMA: rdma/hca as its users request it, no PF and no netdev needed") {
  const SeedNode node("erdma_vm", R"({"mode" : "hca", "deviceType" : "eRDMA"})");
  CHECK(node.pools.pools[0].resource() == "rdma/hca");
  CHECK(node.ids() == Texts{"0000:1a:00.0", "0000:9c:00.0"});
  const auto units = make_units(node.pools.pools[0]);
  CHECK(units.size() == 1000);
  REQUIRE(units[0].devices.size() == 2);  // the port of the other is down
  CHECK(units[0].fault.empty());
  CHECK(units[0].devices[0]->facts.rdma[0].name == "rocep26s0");
  CHECK(units[0].devices[0]->facts.class_code == "0x00ff00");
}

TEST_CASE("whatever has an RDMA device is a network function, also while a pod has it or it has no driver") {
  Tree tree("");
  tree.add(
      "pci pci0000:20/0000:20:01.0 class=0xff0000 vendor=abcd device=0001 driver=x "
      "rdma=x0:Ethernet:ACTIVE:LinkUp:0\n"
      "pci pci0000:20/0000:20:02.0 class=0xff0000 vendor=abcd device=0002 driver=y\n"
      "pci pci0000:20/0000:20:03.0 class=0x00ff00 vendor=1ded device=107f\n"
      "pci pci0000:20/0000:20:04.0 class=0x060400 vendor=abcd device=0003\n");
  const auto ids = [&] {
    Texts out;
    for (const DeviceFacts& function : tree.scan().functions) out.push_back(function.id.text());
    return out;
  };
  CHECK(ids() == Texts{"0000:20:01.0", "0000:20:03.0"});
  tree.remove("sys/devices/pci0000:20/0000:20:01.0/infiniband");
  CHECK(ids() == Texts{"0000:20:01.0", "0000:20:03.0"});
}
