#include "plugin/report/report.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/match/explain.h"
#include "plugin/report/config_report.h"
#include "plugin/report/report_explain.h"
#include "tests/plugin/tree.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace vfrail;
using test::Tree;

namespace {

Config hostdev() {
  auto parsed = parse_config(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",
          "selectors":{"vendors":["8086"],"isRdma":true,"pfNames":["eth0#0-2","eth1#0"]}}]})",
      {"c.json", "intel.com", false});
  if (!parsed) FAIL(parsed.error().text);
  return *std::move(parsed);
}

// A node with one VF in a pod, one with its port down, and what no pool has.
struct Scene {
  Scene() {
    tree.add("proc/1/net/route | eth9\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0");
    tree.move_to_pod("0000:21:10.2");
    tree.add("sys/bus/pci/devices/0000:21:10.4/infiniband/mlx5_2/ports/1/state = 1: DOWN");
    tree.add("var/lib/cni/vfrail/devices/0000:21:10.2 -> c1@net1");
    inventory = tree.scan();
    mark_attached(tree.root() + "/var/lib/cni/vfrail", inventory);
    pools = match(hostdev(), inventory);
  }
  Tree tree{"igb_node"};
  Inventory inventory;
  Pools pools;
};

}  // namespace

TEST_CASE("the table shows every function with its facts, its pool, or why it is in none") {
  const Scene scene;
  CHECK(render_table({scene.inventory, scene.pools, {"something is odd"}}) ==
        R"(ADDRESS         PF    VF  DRIVER  NETDEV      RDMA        PORT    LINK   NUMA  POOL
0000:21:00.0    -     -   igb     eth0        -           -       ether  0     none: PF with 4 VFs: only its VFs are advertised
  0000:21:10.0  eth0  0   igbvf   eth2        mlx5_0      ACTIVE  ether  0     nvidia.com/hostdev
  0000:21:10.2  eth0  1   igbvf   (in a pod)  (in a pod)  -       ether  0     nvidia.com/hostdev
  0000:21:10.4  eth0  2   igbvf   eth4        mlx5_2      DOWN    ether  0     nvidia.com/hostdev
  0000:21:10.6  eth0  3   igbvf   eth5        mlx5_3      ACTIVE  ether  0     none: nvidia.com/hostdev: PF is eth0#3, want one of [eth0#0-2, eth1#0]
0000:41:00.0    -     -   igb     eth1        -           -       ether  1     none: PF with 4 VFs: only its VFs are advertised
  0000:41:10.0  eth1  0   igbvf   eth6        mlx5_4      ACTIVE  ether  1     nvidia.com/hostdev
  0000:41:10.2  eth1  1   igbvf   eth7        mlx5_5      ACTIVE  ether  1     none: nvidia.com/hostdev: PF is eth1#1, want one of [eth0#0-2, eth1#0]
  0000:41:10.4  eth1  2   igbvf   eth8        mlx5_6      ACTIVE  ether  1     none: nvidia.com/hostdev: PF is eth1#2, want one of [eth0#0-2, eth1#0]
  0000:41:10.6  eth1  3   igbvf   eth9        mlx5_7      ACTIVE  ether  1     none: nvidia.com/hostdev: PF is eth1#3, want one of [eth0#0-2, eth1#0]

nvidia.com/hostdev: 4 devices
in no pool: 6 functions
RDMA network namespace mode: exclusive
warning: something is odd
)");
}

TEST_CASE("a device that is away is in a pod only if vfrail-cni has a record of it") {
  Scene scene;
  mark_attached(scene.tree.root() + "/none", scene.inventory);
  const std::string table = render_table({scene.inventory, scene.pools, {}});
  CHECK(table.find("(in a pod)") == std::string::npos);
  CHECK(table.find("0000:21:10.2  eth0  1   igbvf   (elsewhere)  (elsewhere)") != std::string::npos);
}

TEST_CASE("further reasons stand below the first") {
  Inventory inventory;
  PciFunction nic;
  nic.address = *PciAddress::parse("0000:05:00.0");
  nic.id = DeviceId(nic.address);
  inventory.functions.push_back(nic);
  Pools pools;
  pools.left_out.push_back({"0000:05:00.0", {"one", "two"}});
  const std::string table = render_table({inventory, pools, {}});
  const size_t one = table.find("none: one\n");
  const size_t two = table.find("two\n");
  REQUIRE(one != std::string::npos);
  REQUIRE(two != std::string::npos);
  const size_t line = table.rfind('\n', one) + 1;
  CHECK(one + 6 - line == two - (table.rfind('\n', two) + 1));
}

TEST_CASE("on a terminal a line is as wide as that, with the first reason and how many there are") {
  Inventory inventory;
  PciFunction nic;
  nic.address = *PciAddress::parse("0000:05:00.0");
  nic.id = DeviceId(nic.address);
  inventory.functions.push_back(nic);
  Pools pools;
  pools.left_out.push_back({"0000:05:00.0", {"one", "two", "three"}});
  const Report report{inventory, pools, {}};
  CHECK(render_table(report, {.all_reasons = false}).find("none: one (and 2 more: -o wide)\n") !=
        std::string::npos);
  const std::string table = render_table(report, {.all_reasons = false, .width = 60});
  CHECK(table.find("...\n") != std::string::npos);
  for (const std::string& line : split(table, "\n")) CHECK(line.size() <= 60);
}

TEST_CASE("a node without network functions says so") {
  const std::string table = render_table({Inventory(), Pools(), {}});
  CHECK(table.find("There is no PCI network function.\n") == 0);
}

TEST_CASE("the JSON has pools with devices and facts, and what is left out with reasons and facts") {
  const Scene scene;
  const auto parsed = Json::parse(render_json({scene.inventory, scene.pools, {"something is odd"}}).pretty());
  REQUIRE(parsed);
  const Json::Array& pools = *parsed->find("pools")->as_array();
  REQUIRE(pools.size() == 1);
  CHECK(*pools[0].find("resource")->as_text() == "nvidia.com/hostdev");
  const Json::Array& devices = *pools[0].find("devices")->as_array();
  REQUIRE(devices.size() == 4);
  const Json& first = devices[0];
  CHECK(*first.find("id")->as_text() == "0000:21:10.0");
  CHECK(*first.find("pf")->as_text() == "0000:21:00.0");
  CHECK(*first.find("pf_name")->as_text() == "eth0");
  CHECK(*first.find("vf_index")->as_int() == 0);
  CHECK(*first.find("numa_node")->as_int() == 0);
  CHECK(*first.find("netdevs")->as_array()->at(0).find("name")->as_text() == "eth2");
  const Json& rdma = first.find("rdma")->as_array()->at(0);
  CHECK(*rdma.find("uverbs")->as_text() == "uverbs0");
  CHECK(*rdma.find("ports")->as_array()->at(0).find("state")->as_text() == "ACTIVE");
  CHECK_FALSE(*first.find("in_a_pod")->as_bool());
  CHECK(*devices[1].find("in_a_pod")->as_bool());
  CHECK(*devices[1].find("handed_out")->find("rdma")->as_bool());

  const Json::Array& left_out = *parsed->find("left_out")->as_array();
  REQUIRE(left_out.size() == 6);
  CHECK(*left_out[0].find("id")->as_text() == "0000:21:00.0");
  CHECK(left_out[0].find("reasons")->as_array()->size() == 1);
  CHECK(*left_out[0].find("driver")->as_text() == "igb");
  CHECK(left_out[5].find("host_use")->as_array()->size() == 1);
  CHECK(*parsed->find("rdma_netns_mode")->as_text() == "exclusive");
  CHECK(*parsed->find("warnings")->as_array()->at(0).as_text() == "something is odd");
}

TEST_CASE("a configuration is said in words") {
  CHECK(describe(hostdev()) == R"(nvidia.com/hostdev
  selects    vendor 8086, PF eth0#0-2 or eth1#0, with RDMA
  allocates  the RDMA device's nodes
  units      each a device of its own
  health     InfiniBand port, devlink reporters
  host use   what carries the host's default route or is a member of a bond or bridge is left out
  socket     nvidia.com_hostdev.sock
  variables  PCIDEVICE_NVIDIA_COM_HOSTDEV, PCIDEVICE_NVIDIA_COM_HOSTDEV_INFO
)");
}

TEST_CASE("a shared resource is said in words, and a selector that turns others round") {
  const auto config = parse_config(
      R"({"configList":[{"resourceName":"hca","rdmaHcaMax":8,"hcaPerUnit":"one","extraDeviceNodes":["cxi/*"],
          "selectors":{"vendors":["15b3"],"not":{"rdmaDevices":["mlx5_bond_*"]}}}]})",
      {"c.json", "intel.com", true});
  REQUIRE(config);
  CHECK(describe(*config) == R"(rdma/hca
  selects    vendor 15b3, with RDMA, but not: RDMA device mlx5_bond_*
  allocates  the RDMA device's nodes
  units      8, each with one device of the pool
  health     InfiniBand port, devlink reporters
  links      interfaces that are administratively down are set up once
  adds       cxi/*
  topology   NUMA nodes are not reported
  socket     rdma_hca.sock
)");
}

TEST_CASE("names that a pod has given are shown, not obeyed, in the table, the explanation and JSON") {
  Scene scene;
  PciFunction& function = scene.inventory.functions[1];
  REQUIRE_FALSE(function.netdevs.empty());
  REQUIRE_FALSE(function.rdma.empty());
  function.netdevs.front().name = "e\x1b[2J\xC2\x9b";
  function.rdma.front().name = "mlx\nin no pool: 0 functions\x7f";
  function.host_use.push_back({HostUseFact::Kind::address, "address of \x1b]0;x\x07"});
  scene.pools = match(hostdev(), scene.inventory);
  scene.pools.left_out.front().reasons.emplace_back("a \x1b[1m reason");
  const auto traces = explain(hostdev(), scene.inventory, scene.pools);
  for (const std::string& text :
       {render_table({scene.inventory, scene.pools, {"a \x1b[1m warning"}}),
        render_explanations(traces, scene.inventory),
        render_json({scene.inventory, scene.pools, {"a \x1b[1m warning"}}).pretty()}) {
    CHECK(text.find("\nin no pool: 0 functions") == std::string::npos);
    std::string lines = text;
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    CHECK(escaped(lines) == lines);
  }
}
