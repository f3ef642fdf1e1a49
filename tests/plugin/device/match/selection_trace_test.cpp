#include "plugin/device/match/selection_trace.h"

#include "plugin/admin/report/report_trace.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Config config(const std::string& text) {
  auto parsed = parse_config(text, {"c.json", "intel.com", true});
  if (!parsed) FAIL(parsed.error().text);
  return *std::move(parsed);
}

// Two resources that want the same VFs, one that wants others, and a shared one.
const char* const kConfig = R"({"resourceList":[
  {"resourceName":"first","selectors":{"vendors":["8086"],"numaNodes":[0],"isRdma":true}},
  {"resourceName":"second","selectors":[{"vendors":["15b3"]},{"pfNames":["eth0#1-2"]}]},
  {"resourceName":"ib","selectors":{"vendors":["8086"],"drivers":["igbvf"],"linkTypes":["infiniband"]}}],
  "configList":[{"resourceName":"shared","rdmaHcaMax":4,"selectors":{"rdmaDevices":["mlx5_1"]}}]})";

struct Explained {
  Config config;
  Inventory inventory;
  Pools pools;
  std::vector<FunctionTrace> traces;

  Explained(const std::string& text, const Tree& tree)
      : config(::config(text)),
        inventory(tree.scan()),
        pools(match(config, inventory)),
        traces(trace_selection(config, inventory, pools)) {}
  Explained(const Explained&) = delete;
  Explained& operator=(const Explained&) = delete;

  const FunctionTrace& of(const std::string& id) const {
    for (const FunctionTrace& traced : traces) {
      if (traced.function->id.text() == id) return traced;
    }
    throw std::out_of_range(id);
  }
  std::string text(const std::string& id) const { return render_traces({of(id)}, inventory); }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a device is explained for each resource, with what each field requires and has") {
  const Tree tree("igb_node");
  const Explained all(kConfig, tree);
  CHECK(all.text("0000:21:10.2") ==
        R"(0000:21:10.2  VF 1 of eth0 (0000:21:00.0), 8086:10ca, igbvf, eth3, mlx5_1, ether, NUMA node 0
  in intel.com/first, rdma/shared
  intel.com/first: has it
      + vendors: vendor is 8086, want one of [8086]
      + isRdma: RDMA device is there, want one
      + numaNodes: NUMA node is 0, want one of [0]
  intel.com/second: selected, but claimed by intel.com/first before [VF-CLAIMED-BEFORE]
    selectors[0]
      - vendors: vendor is 8086, want one of [15b3]
    selectors[1]
      + pfNames: PF is eth0#1, want one of [eth0#1-2]
  intel.com/ib: no selector matches
      + vendors: vendor is 8086, want one of [8086]
      + drivers: driver is igbvf, want one of [igbvf]
      - linkTypes: link type is ether, want one of [infiniband]
  rdma/shared: has it
      + isRdma: RDMA device is there, want one
      + rdmaDevices: RDMA device is mlx5_1, want one of [mlx5_1]
  RDMA is in exclusive namespace mode: its RDMA device moves into the pod with its netdev, and is not in the host meanwhile
  distance: no GPU on this node
)");
}

TEST_CASE("a device in no resource is explained with the selector that it misses by the least") {
  const Tree tree("igb_node");
  const Explained all(kConfig, tree);
  CHECK(all.of("0000:41:10.2").pools.empty());
  CHECK(all.of("0000:41:10.2").nearest_miss ==
        "intel.com/first: it misses by NUMA node is 1, want one of [0]");
}

TEST_CASE("a PF whose VFs are advertised, a member of a bond and a device in a pod are described as such") {
  Tree igb("igb_node");
  igb.move_to_pod("0000:21:10.0");
  const Explained node(kConfig, igb);
  CHECK(node.text("0000:21:00.0").find("intel.com/first: PF with 4 VFs") != std::string::npos);
  CHECK(node.of("0000:21:10.0").remarks.at(0) ==
        "neither its netdev nor its RDMA device is in this network namespace, and vfrail-cni has no record "
        "of a "
        "pod that has them");
  CHECK(node.of("0000:21:10.0").pools == Texts{"intel.com/first"});

  const Tree management("management");
  const Explained host(R"({"resourceList":[{"resourceName":"a","selectors":{}}]})", management);
  const FunctionTrace& member = host.of("0000:01:00.0");
  CHECK(member.resources.at(0).result.kind == MatchKind::host_use);
  CHECK(render_traces({member}, host.inventory).find("+ {} selects everything") != std::string::npos);
}

TEST_CASE("a bond's RDMA device is described as such") {
  Tree tree("");
  tree.add(R"(
    sys/bus/pci/devices/0000:5e:00.0 -> ../../../devices/pci0000:5d/0000:5e:00.0
    sys/devices/pci0000:5d/0000:5e:00.0/class = 0x020000
    sys/devices/pci0000:5d/0000:5e:00.0/vendor = 0x15b3
    sys/devices/pci0000:5d/0000:5e:00.0/device = 0x1015
    sys/devices/pci0000:5d/0000:5e:00.0/driver -> ../../../bus/pci/drivers/mlx5_core
    sys/devices/pci0000:5d/0000:5e:00.0/net/eno1/type = 1
    sys/devices/pci0000:5d/0000:5e:00.0/net/eno1/master -> ../../../../../devices/virtual/net/bond0
    sys/class/net/eno1 -> ../../devices/pci0000:5d/0000:5e:00.0/net/eno1
    sys/devices/virtual/net/bond0/bonding/mode = 802.3ad 4
    sys/devices/virtual/net/bond0/bonding/slaves = eno1 eno2
    sys/class/net/bond0 -> ../../devices/virtual/net/bond0
    sys/devices/pci0000:5d/0000:5e:00.0/infiniband/mlx5_bond_0/ports/1/state = 4: ACTIVE
    sys/devices/pci0000:5d/0000:5e:00.0/infiniband/mlx5_bond_0/ports/1/link_layer = Ethernet
    sys/devices/pci0000:5d/0000:5e:00.0/infiniband_verbs/uverbs2/ibdev = mlx5_bond_0
  )");
  const Explained all(
      R"({"resourceList":[{"resourceName":"hostdev","selectors":{"vendors":["15b3"],"isRdma":true}}]})",
      tree);
  const FunctionTrace& nic = all.of("0000:5e:00.0");
  CHECK(nic.pools.empty());
  CHECK(nic.resources.at(0).result.kind == MatchKind::host_use);
  CHECK(nic.remarks.at(0) == "it is a member of bond0, a bond (802.3ad) of eno1, eno2");
  CHECK(nic.remarks.at(1) ==
        "its RDMA device mlx5_bond_0 is the one of that bond: RoCE over all its members, no InfiniBand");
}

TEST_CASE("explanations and pools never disagree") {
  for (const char* name :
       {"igb_node", "mlx5_switchdev", "management", "dgx_a100", "dgx_h100", "b200", "two_sockets"}) {
    CAPTURE(name);
    const Tree tree(name);
    const Explained all(kConfig, tree);
    for (const FunctionTrace& traced : all.traces) {
      Texts having;
      for (const Pool& pool : all.pools.pools) {
        if (pool.find(traced.function->id.text()) != nullptr) having.push_back(pool.resource());
      }
      CAPTURE(traced.function->id.text());
      CHECK(traced.pools == having);
    }
  }
}

TEST_CASE("an explanation as JSON has each field") {
  const Tree tree("igb_node");
  const Explained all(kConfig, tree);
  const Json first = trace_json(all.of("0000:21:10.2"));
  const Json& ib = first.find("resources")->as_array()->at(2);
  CHECK(*ib.find("match")->as_text() == "no_selector");
  const Json& field = ib.find("selectors")->as_array()->at(0).as_array()->at(2);
  CHECK(*field.find("field")->as_text() == "linkTypes");
  CHECK_FALSE(*field.find("matches")->as_bool());
  CHECK(*field.find("found")->as_text() == "ether");
}
