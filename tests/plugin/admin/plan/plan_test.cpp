// plugin/advise: what the plan says of nodes that users have written about, and that each number has been
// read.
#include "plugin/admin/plan/plan.h"

#include "plugin/admin/plan/cluster.h"
#include "plugin/admin/plan/plan_command.h"
#include "plugin/admin/plan/ways.h"
#include "plugin/admin/report/node_report.h"
#include "tests/plugin/admin/plan/planned.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <iterator>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::plan_devices;
using test::Planned;
using test::Tree;

namespace {

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("A100 node: the InfiniBand cards are shared now; the bond and its RDMA device are the host's") {
  const Planned planned(Tree("a100_bond"));
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.fabric == Transport::infiniband);
  CHECK(fabric.recommended == WayKind::shared);
  CHECK(plan_devices(fabric.way(WayKind::shared)) == Words{"0000:4b:00.0", "0000:b2:00.0"});
  CHECK(planned.says("nothing has to be changed on the node"));
  CHECK(planned.says("a pod that is alone has all of a port's 200 Gb/s"));
  CHECK(planned.says("0000:18:00.0 (eno1, mlx5_bond_0): the host uses it: "));
  CHECK(planned.says("carries the IPv4 default route"));
  CHECK(planned.says("0000:18:00.1 (eno2): the host uses it: "));
  CHECK(
      planned.says("0000:4b:00.0 (ibp75s0, mlx5_0): mlx5_0 is DOWN, Disabled: it is switched off on this "
                   "node: ip link set ibp75s0 up"));
  CHECK(planned.says("RDMA namespace mode: shared; 2 GPUs"));
}

TEST_CASE("A100 node: one pod at once by whole cards, because one of the two ports is down") {
  const Way whole = Planned(Tree("a100_bond")).fabric().way(WayKind::whole);
  CHECK(whole.pods_now == 1);
  CHECK(whole.pods == "1; 2 when 0000:4b:00.0 works");
  CHECK(whole.address == "IPoIB");
  CHECK(whole.isolation == "own device");
}

TEST_CASE("a RoCE card without a link is healthy to kubelet, and no card of a pod to the plan") {
  Tree tree("h100_roce");
  const std::string port = "sys/bus/pci/devices/0000:5e:00.0/";
  tree.add(port + "infiniband/mlx5_3/ports/1/state = 1: DOWN\n" + port +
           "infiniband/mlx5_3/ports/1/phys_state = 3: Disabled\n" + port + "net/ens4f0np0/carrier = 0\n");
  const Planned planned(tree);
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.way(WayKind::whole).pods == "7; 8 when 0000:5e:00.0 works");
  CHECK(fabric.way(WayKind::bundle).pods == "1, with 7 of 8 cards until 0000:5e:00.0 works");
  CHECK(fabric.recommended == WayKind::bundle);
  const auto cards = [&](WayKind kind) { return shares_of(fabric, fabric.way(kind), 8).back().cards; };
  for (const WayKind kind :
       {WayKind::bundle, WayKind::per_rail, WayKind::whole, WayKind::shared, WayKind::host_network})
    CHECK(cards(kind) == 7);
  CHECK(planned.says("0000:5e:00.0 (ens4f0np0, mlx5_3): its port has no link; a pod gets it all the same"));
  // An interface that is down, whose carrier the kernel does not show, comes up in the pod.
  tree.remove(port + "net/ens4f0np0/carrier");
  CHECK(Planned(tree).fabric().way(WayKind::whole).pods == "8");
}

TEST_CASE("whether DRA is the better way depends on GPUs, and on what is below their PCIe roots") {
  CHECK(Planned(Tree("h100_roce")).says("Device plugin or Dynamic Resource Allocation (DRA)"));
  CHECK(Planned(Tree("a100_bond")).says("The device plugin: devices that pods share do not go by DRA."));
  // VFs, and no GPU.
  CHECK(Planned(Tree("igb_node")).says("without GPUs there is nothing that DRA would align"));
}

TEST_CASE("what is not read is not known, and says what it needs") {
  const Planned planned(Tree("a100_bond"));
  CHECK(planned.fabric().way(WayKind::vfs).pods == "not known: needs SR-IOV");
  CHECK(planned.says("how many VFs: not known: needs mlxconfig -d ADDRESS query"));
  CHECK(planned.fabric().way(WayKind::shared).gpu_direct == "not known");
  CHECK(planned.says("the limit is not known: needs the limits of containerd or crio"));
  const Planned without_rates(Tree("v100_ib"));
  CHECK(without_rates.says("speed not known"));
  CHECK_FALSE(without_rates.says("Gb/s"));
}

TEST_CASE("a fact that is read takes the place of what was not known") {
  Tree tree("a100_bond");
  tree.add(
      "sys/devices/pci0000:b1/0000:b1:02.0/0000:b2:00.0/sriov_totalvfs = 8\n"
      "sys/devices/pci0000:b1/0000:b1:02.0/0000:b2:00.0/sriov_numvfs = 0\n"
      "sys/module/nvidia/\nsys/module/nvidia_peermem/\n"
      "proc/7/comm = containerd\n"
      "proc/7/limits = Max locked memory         65536                65536                bytes\n");
  const Planned planned(tree);
  CHECK(planned.fabric().way(WayKind::vfs).pods == "0; up to 8");
  CHECK(planned.says("echo N > /sys/bus/pci/devices/0000:b2:00.0/sriov_numvfs"));
  CHECK(planned.fabric().way(WayKind::shared).gpu_direct == "yes");
  CHECK(planned.says("containerd may lock 64 KiB"));
}

TEST_CASE("V100 node: both ports of the card are shared, the node's own Ethernet is left alone") {
  const Planned planned(Tree("v100_ib"));
  CHECK(planned.fabric().recommended == WayKind::shared);
  CHECK(plan_devices(planned.fabric().way(WayKind::shared)) == Words{"0000:86:00.0", "0000:86:00.1"});
  CHECK(planned.fabric().way(WayKind::whole).pods == "2");
  CHECK(planned.says("0000:18:00.0 (eno1): the host uses it: eno1 carries the IPv4 default route"));
}

TEST_CASE("eight RoCE rails for four GPUs: a pod has all of them, and the management NIC stays the host's") {
  const Planned planned(Tree("roce_rails"));
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.recommended == WayKind::bundle);
  CHECK(fabric.way(WayKind::bundle).pods == "1");
  CHECK(fabric.way(WayKind::whole).pods == "8");
  CHECK(fabric.way(WayKind::shared).takes.size() == 1);  // hostNetwork
  for (const Way& way : fabric.ways) {
    INFO(way.resource);
    for (const std::string& id : plan_devices(way)) CHECK(id != "0000:02:00.0");
  }
  CHECK(planned.says("0000:02:00.0 (eth0, mlx5_0): the host uses it: eth0 carries the IPv4 default route"));
}

TEST_CASE(
    "eRDMA in a virtual machine: shared, because its devices have no interface that could go to a pod") {
  const Planned planned(Tree("erdma_vm"));
  CHECK(planned.fabric().recommended == WayKind::shared);
  CHECK(planned.fabric().way(WayKind::whole).address == "no interface");
  CHECK(planned.says("hostNetwork: true in the pod: iWARP takes its addresses from"));
  CHECK(planned.fabric().fabric == Transport::iwarp);
  CHECK(planned.fabric().way(WayKind::shared).resource.starts_with("rdma/iwarp_"));
}

TEST_CASE("in a virtual machine nobody is advised to enable SR-IOV, and what was passed through is no PF") {
  Tree tree("erdma_vm");
  SECTION("eRDMA: devices without an interface") {}
  SECTION("a VF of an NVIDIA card, with an interface") {
    tree.add(
        "pci pci0000:20/0000:20:00.0/0000:21:00.0 class=0x020700 vendor=15b3 device=101e driver=mlx5_core "
        "net=ibp33s0:32 rdma=mlx5_0:InfiniBand:ACTIVE:LinkUp:2\n");
  }
  const Planned planned(tree);
  for (const FabricPlan& fabric : planned.fabrics) {
    CHECK(fabric.passed_through());
    CHECK(fabric.later.empty());
    CHECK(fabric.way(WayKind::vfs).pods == "0: VFs are made where the PF is");
    CHECK(fabric.way(WayKind::vfs).devices().empty());
    CHECK_FALSE(fabric.way(fabric.recommended).devices().empty());
  }
  for (const char* advice : {"firmware", "sriov_numvfs", "mlxconfig", "PF:", "whole PF"}) {
    CAPTURE(advice);
    CHECK_FALSE(planned.says(advice));
  }
}

TEST_CASE("devices are told apart by what carries their messages: iWARP and EFA are not RoCE") {
  Tree tree("");
  const auto add = [&](const char* address, const char* name, const char* type) {
    tree.add(std::string("pci pci0000:20/") + address +
             " class=0x020000 vendor=8086 device=1592 driver=irdma " + "net=" + name + "n:1 rdma=" + name +
             ":Ethernet:ACTIVE:LinkUp:" + name[4] + " node_type=" + type + "\n");
  };
  add("0000:20:01.0", "card1", "CA");
  add("0000:20:02.0", "card2", "RNIC");
  add("0000:20:03.0", "card3", "unspecified");
  const Planned planned(tree);
  REQUIRE(planned.fabrics.size() == 3);
  CHECK(planned.fabrics[0].fabric == Transport::roce);
  CHECK(planned.fabrics[1].fabric == Transport::iwarp);
  CHECK(planned.fabrics[2].fabric == Transport::own);
  CHECK(planned.says("Ways for iWARP"));
}

TEST_CASE("VFs that are there are recommended, with as many pods as are healthy") {
  const Planned planned(Tree("igb_node"));
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.recommended == WayKind::vfs);
  CHECK(fabric.way(WayKind::vfs).pods_now == fabric.way(WayKind::vfs).devices().size());
  CHECK(fabric.way(WayKind::vfs).isolation == "full");
}

TEST_CASE("InfiniBand in exclusive mode: a whole card, as shared devices are not seen by pods") {
  Tree tree("v100_ib");
  tree.add("sys/module/ib_core/parameters/netns_mode = N\n");
  const Planned planned(tree);
  CHECK(planned.fabric().recommended == WayKind::whole);
  CHECK(planned.fabric().way(WayKind::whole).isolation == "full");
  CHECK(planned.says("shared device: RDMA namespace mode shared"));
}

TEST_CASE("the recommended configuration is one that serve accepts without a warning, on every node") {
  for (const char* name : {"a100_bond", "v100_ib", "roce_rails", "erdma_vm", "igb_node", "mlx5_switchdev",
                           "h100_roce", "gb200", "dgx_h100", "dgx_a100", "b200", "two_sockets"}) {
    CAPTURE(name);
    const Planned planned{Tree(name)};
    for (const FabricPlan& fabric : planned.fabrics) {
      for (const Way& way : fabric.ways) {
        if (way.config.is_null()) {
          CHECK(way.resource.empty());
          continue;
        }
        const auto config = parse_config(way.config.text(), {.file = "plan.json", .strict = true});
        REQUIRE(config);
        CHECK(config->warnings.empty());
        const std::string first = config->resources.front().resource();
        CHECK((way.kind == WayKind::per_rail
                   ? first.starts_with(way.resource.substr(0, way.resource.size() - 1))
                   : first == way.resource));
        for (const PoolDevice* device : way.devices()) CHECK(device->facts.rdma_capable);
      }
    }
  }
}

TEST_CASE("a configuration is compared with the recommendation") {
  const Planned planned(
      Tree("a100_bond"),
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"vendors":["15b3"],"isRdma":true}}],
          "configList":[{"resourceName":"rdma_v100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp134s0f0"]}},
                        {"resourceName":"rdma_a100","rdmaHcaMax":63,"selectors":{"ifNames":["ibp178s0"]}}]})");
  CHECK(planned.says("nvidia.com/hostdev: 2 devices, 1 of 2 units healthy: 0000:4b:00.0 0000:b2:00.0"));
  CHECK(planned.says("each of its devices goes to one pod; recommended is to share them"));
  CHECK(planned.says("it selects nothing on this node"));
  CHECK(planned.says("rdma/rdma_a100: 1 device, 63 of 63 units healthy: 0000:b2:00.0"));
  CHECK(planned.says("compared: it lacks 0000:4b:00.0"));
}

TEST_CASE("a node without RDMA has no way, and the plan says so") {
  Tree tree("");
  tree.add("pci pci0000:17/0000:18:00.0 class=0x020000 vendor=8086 device=1533 driver=igb net=eth0:1\n");
  const Planned planned(tree);
  CHECK(planned.fabrics.empty());
  CHECK(planned.says("No way to give RDMA to pods"));
  CHECK(planned.json.find("configuration")->is_null());
}

TEST_CASE("a node whose VFs are all with pods may have ways, and the plan does not say that it has none") {
  const Planned planned(Tree("b200"));
  CHECK(planned.fabrics.empty());
  CHECK(planned.says("Ways to give RDMA to pods: not known"));
  CHECK(
      planned.says("but 24 functions are in other network namespaces: pods have them, or this is not the "
                   "host's namespace"));
  CHECK_FALSE(planned.says("No way"));
}

TEST_CASE("the plan in JSON is as the schema says") {
  const std::string schema = test::source_text("plugin/admin/report/schema.json");
  for (const char* name : {"a100_bond", "roce_rails", "igb_node", "management"}) {
    CAPTURE(name);
    const Planned planned(Tree(name), R"({"mode":"hca"})");
    CHECK(test::schema_violation(schema, planned.json.text()) == "");
  }
}

TEST_CASE("vfrail plan: exit codes, and no line wider than the terminal but commands and tables") {
  const Tree tree("a100_bond");
  const test::Run good = test::run([&] { return plan({.roots = {tree.root()}}); });
  CHECK(good.code == 0);
  CHECK(good.out.find("* shared device") != std::string::npos);
  CHECK(test::run([&] {
          return plan({.roots = {tree.root()}, .output = PlanOutput::json});
        }).out.find("\"fabrics\"") != std::string::npos);
  const test::Run wrong =
      test::run([&] { return plan({.roots = {tree.root()}, .config_file = "/nowhere"}); });
  CHECK(wrong.code == 2);
  CHECK(test::run([&] { return plan({.roots = {"/nowhere"}}); }).code == 1);
}

TEST_CASE("8 H100: the rails are for pods, and the storage cards are named as what they are") {
  const Planned planned(Tree("h100_roce"));
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.recommended == WayKind::bundle);
  CHECK(fabric.group.rails.size() == 8);
  CHECK(fabric.group.speed_mbps == 400000);
  CHECK(fabric.way(WayKind::bundle).resource == "rdma/roce_400g_rails");
  REQUIRE(planned.others.size() == 2);
  CHECK(planned.others[0].id == "0000:aa:00.0");
  CHECK(planned.others[0].why.find("the connected network 10.20.0.0/24") != std::string::npos);
  CHECK(planned.others[0].why.find("200 Gb/s, where others have 400 Gb/s") != std::string::npos);
  CHECK(planned.others[0].why.find("are PIX") != std::string::npos);
  CHECK(planned.others[1].id == "0000:aa:00.1");
  for (const Way& way : fabric.ways) {
    for (const PoolDevice* device : way.devices()) {
      INFO(way.resource);
      CHECK(device->facts.host_use.empty());
      CHECK(device->facts.device == "1021");
    }
  }
}

TEST_CASE(
    "a job counts, not a device: a pod of 8 GPUs has 8 cards by the recommended way, and one such pod runs") {
  const Planned planned(Tree("h100_roce"));
  const FabricPlan& fabric = planned.fabric();
  const auto last = [&](WayKind kind) { return shares_of(fabric, fabric.way(kind), 8).back(); };
  for (const WayKind kind : {WayKind::bundle, WayKind::per_rail, WayKind::whole}) {
    CAPTURE(name_of(kind));
    CHECK(last(kind).gpus == 8);
    CHECK(last(kind).cards == 8);
    CHECK(last(kind).pods == 1);
  }
  const auto whole = shares_of(fabric, fabric.way(WayKind::whole), 8);
  REQUIRE(whole.size() == 4);  // 1, 2, 4 and 8 GPUs
  CHECK(whole[1].cards == 2);
  CHECK(whole[1].pods == 4);
  CHECK(last(WayKind::shared).shared);
  CHECK(last(WayKind::vfs).cards == 0);  // there are none
}

TEST_CASE("GB200: the InfiniBand cards are for pods, BlueField's ports of half the speed are not") {
  const Planned planned(Tree("gb200"));
  CHECK(planned.fabric().fabric == Transport::infiniband);
  CHECK(planned.fabric().group.rails.size() == 4);
  CHECK(planned.others.size() == 4);
}

namespace {

// The storage cards are of the rails' model and speed, so that how far they are is all that differs.
void make_one_model(Tree& tree) {
  for (const char* port : {"0000:aa:00.0", "0000:aa:00.1"}) {
    const std::string folder = std::string("sys/devices/pci0000:a7/0000:a7:01.0/") + port + "/";
    const std::string rdma = port[11] == '0' ? "mlx5_9" : "mlx5_10";
    tree.add(folder + "device = 0x1021\n" + folder + "infiniband/" + rdma +
             "/ports/1/rate = 400 Gb/sec (4X NDR)\n");
  }
  tree.remove("proc/1/net/route");
}

}  // namespace

TEST_CASE("a pool has one distance to GPUs, although all cards are of one model, speed and fabric") {
  Tree tree("h100_roce");
  make_one_model(tree);
  const Planned planned(tree);
  CHECK(planned.others.size() >= 2);
  for (const Way& way : planned.fabric().ways) {
    INFO(way.config.text());
    for (const PoolDevice* device : way.devices()) {
      const auto far = nearest_gpu(device->facts, planned.facts.inventory.gpus);
      REQUIRE(far);
      CHECK(*far <= Distance::pxb);
    }
  }
  CHECK(planned.fabric().way(WayKind::whole).devices().size() == 8);
}

TEST_CASE("where every card has an address of the host none is given away: pods share them") {
  Tree tree("h100_roce");
  for (const char* line :
       {"ens1f0np0 0001A8C0", "ens2f0np0 0002A8C0", "ens3f0np0 0003A8C0", "ens4f0np0 0004A8C0",
        "ens5f0np0 0005A8C0", "ens6f0np0 0006A8C0", "ens7f0np0 0007A8C0", "ens8f0np0 0008A8C0"})
    tree.add(std::string("proc/1/net/route | ") + line + " 00000000 0001 0 0 0 00FFFFFF 0 0 0\n");
  const Planned planned(tree);
  CHECK(planned.fabric().recommended == WayKind::shared);
  CHECK(planned.fabric().way(WayKind::whole).devices().empty());
  CHECK(planned.fabric().way(WayKind::shared).devices().size() == 8);
  CHECK(planned.says("the host has an address on each card, so none is given away"));
}

TEST_CASE("what was not read of a link is not called no carrier") {
  for (const char* name : {"erdma_vm", "dgx_h100", "b200", "dgx_a100"}) {
    CAPTURE(name);
    CHECK_FALSE(Planned(Tree(name)).says("no carrier"));
  }
  CHECK(Planned(Tree("v100_ib")).says("no carrier"));  // eno2, whose carrier was read
}

TEST_CASE("resources are named by fabric and speed, or as the user says") {
  CHECK(Planned(Tree("a100_bond")).fabric().way(WayKind::shared).resource == "rdma/ib_200g_shared");
  CHECK(Planned(Tree("v100_ib")).fabric().way(WayKind::shared).resource == "rdma/ib_connectx5_shared");
  const Planned named(Tree("a100_bond"), "", "a100");
  CHECK(named.fabric().way(WayKind::shared).resource == "rdma/a100");
  const test::Run wrong = test::run([] { return plan({.name = "a/b"}); });
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("--name a/b") != std::string::npos);
}

TEST_CASE("host network and TCP are ways too, and their cost is said") {
  const Planned planned(Tree("a100_bond"));
  CHECK(planned.fabric().way(WayKind::host_network).isolation == "none");
  CHECK(planned.fabric().way(WayKind::tcp).gpu_direct == "no RDMA");
  CHECK(planned.says("TCP over IPoIB"));
  CHECK(planned.says("the CPU copies every byte"));
}

TEST_CASE("plan -o config prints a configuration and nothing else; without a device it fails") {
  const Tree tree("h100_roce");
  const test::Run good =
      test::run([&] { return plan({.roots = {tree.root()}, .output = PlanOutput::config}); });
  CHECK(good.code == 0);
  const auto config = parse_config(good.out, {.file = "config.json", .strict = true});
  REQUIRE(config);
  CHECK(config->resources.front().resource() == "rdma/roce_400g_rails");
  CHECK(Json::parse(good.out));  // as the chart reads it
  const Tree none("");
  CHECK(test::run([&] { return plan({.roots = {none.root()}, .output = PlanOutput::config}); }).code == 1);
}

TEST_CASE("several nodes: one configuration, by which each has what its own plan says") {
  const Tree v100("v100_ib");
  const Tree a100("a100_bond");
  const test::Run text = test::run([&] { return plan({.roots = {v100.root(), a100.root()}}); });
  CHECK(text.code == 0);
  CHECK(text.out.find("Which node gets what") != std::string::npos);
  const test::Run config = test::run([&] {
    return plan({.roots = {v100.root(), a100.root()}, .output = PlanOutput::config});
  });
  const auto parsed = parse_config(config.out, {.file = "config.json", .strict = true});
  REQUIRE(parsed);
  const auto ids = [&](const Tree& tree) {
    Words out;
    for (const Pool& pool : match(*parsed, tree.scan()).pools) {
      for (const PoolDevice& device : pool.devices) out.push_back(pool.resource() + " " + device.id());
    }
    return out;
  };
  CHECK(ids(v100) == Words{"rdma/ib_connectx5_shared 0000:86:00.0", "rdma/ib_connectx5_shared 0000:86:00.1"});
  CHECK(ids(a100) == Words{"rdma/ib_200g_shared 0000:4b:00.0", "rdma/ib_200g_shared 0000:b2:00.0"});
  const std::string schema = test::source_text("plugin/admin/report/schema.json");
  const test::Run json = test::run([&] {
    return plan({.roots = {v100.root(), a100.root()}, .output = PlanOutput::json});
  });
  CHECK(test::schema_violation(schema, json.out) == "");
}

TEST_CASE("nodes of one model and name, of which one has storage cards: neither gets the other's selection") {
  Tree first("h100_roce");
  make_one_model(first);
  Tree second("");
  second.add(
      "sys/module/ib_core/parameters/netns_mode = Y\n"
      "pci pci0000:70/0000:70:01.0/0000:77:00.0 class=0x020000 vendor=15b3 device=1021 driver=mlx5_core "
      "net=ens1:1 carrier=1 rdma=mlx5_0:Ethernet:ACTIVE:LinkUp:0\n");
  std::vector<PlanFacts> nodes = {test::plan_facts(first, "first"), test::plan_facts(second, "second")};
  const ClusterPlan plan = make_cluster_plan(nodes);
  INFO(plan.config.pretty());
  CHECK(plan.warnings.empty());
  REQUIRE(plan.resources.size() == 2);
  CHECK(plan.resources[0].devices.size() == 8);
  CHECK(plan.resources[1].node == "second");
}

TEST_CASE("two models of one fabric and speed have one resource, whose selectors select each node's own") {
  const Tree first("gb200");
  Tree second("");
  second.add(
      "sys/module/ib_core/parameters/netns_mode = Y\n"
      "pci pci0000:00/0000:00:01.0/0000:01:00.0 class=0x020700 vendor=15b3 device=1023 driver=mlx5_core "
      "net=ib0:32 carrier=1 rdma=mlx5_0:InfiniBand:ACTIVE:LinkUp:0\n"
      "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0/ports/1/rate = 400 Gb/sec (4X "
      "NDR)\n");
  std::vector<PlanFacts> nodes = {test::plan_facts(first, "first"), test::plan_facts(second, "second")};
  const ClusterPlan plan = make_cluster_plan(nodes);
  INFO(plan.config.pretty());
  CHECK(plan.warnings.empty());
  REQUIRE(plan.resources.size() == 2);
  CHECK(plan.resources[0].resource == "rdma/ib_400g_shared");
  CHECK(plan.resources[1].resource == "rdma/ib_400g_shared");
  CHECK(plan.resources[1].devices == Words{"0000:01:00.0"});
  CHECK(plan.pods.size() == 1);
}
