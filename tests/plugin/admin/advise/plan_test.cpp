// plugin/advise: what the plan says of nodes that users have written about, and that each number has been
// read.
#include "plugin/admin/advise/plan.h"

#include "plugin/admin/advise/plan_command.h"
#include "plugin/admin/advise/render_plan.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <iterator>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

using Words = std::vector<std::string>;

struct Planned {
  PlanFacts facts;
  std::string text;
  Json json;
  std::vector<FabricPlan> fabrics;

  explicit Planned(const Tree& tree, const std::string& config = "") {
    const SysRoot sys = tree.sys();
    facts.inventory = tree.scan();
    facts.hardware = read_hardware(sys, {}, facts.inventory);
    facts.checks = check_node({sys, facts.inventory, sys});
    if (!config.empty()) {
      auto parsed = parse_config(config, {.file = "config.json"});
      if (!parsed) FAIL(parsed.error().text);
      facts.config = *std::move(parsed);
      facts.config_file = "config.json";
    }
    const Plan plan = make_plan(facts);
    text = render_plan(plan);
    json = plan_json(plan);
    fabrics = plan.fabrics;
  }

  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
  const FabricPlan& fabric() const {
    REQUIRE(fabrics.size() == 1);
    return fabrics[0];
  }
};

Words plan_devices(const Way& way) {
  Words out;
  for (const PoolDevice& device : way.pool.devices) out.push_back(device.id());
  return out;
}

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
  CHECK(planned.says("0000:4b:00.0 (ibp75s0, mlx5_0): mlx5_0 is DOWN, Disabled: check its cable and switch"));
  CHECK(planned.says("RDMA namespace mode: shared; 2 GPUs"));
}

TEST_CASE("A100 node: one pod at once by whole cards, because one of the two ports is down") {
  const Way whole = Planned(Tree("a100_bond")).fabric().way(WayKind::whole);
  CHECK(whole.pods_now == 1);
  CHECK(whole.pods == "1; 2 when 0000:4b:00.0 works");
  CHECK(whole.address == "IPoIB");
  CHECK(whole.isolation == "own nodes");
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

TEST_CASE("eight RoCE rails for four GPUs: a pod has whole cards, and the management NIC stays the host's") {
  const Planned planned(Tree("roce_rails"));
  const FabricPlan& fabric = planned.fabric();
  CHECK(fabric.recommended == WayKind::whole);
  CHECK(fabric.way(WayKind::whole).pods == "8");
  CHECK(fabric.way(WayKind::shared).takes.size() == 1);  // hostNetwork
  for (const Way& way : fabric.ways) {
    INFO(way.resource);
    CHECK(way.pool.find("0000:02:00.0") == nullptr);
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
  CHECK(planned.fabric().way(WayKind::shared).resource == "rdma/iwarp_shared");
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
    CHECK(fabric.passed_through);
    CHECK(fabric.later.empty());
    CHECK(fabric.way(WayKind::vfs).pods == "0: VFs are made where the PF is");
    CHECK(fabric.way(WayKind::vfs).pool.devices.empty());
    CHECK_FALSE(fabric.way(fabric.recommended).pool.devices.empty());
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
  CHECK(fabric.way(WayKind::vfs).pods_now == fabric.way(WayKind::vfs).pool.devices.size());
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
  for (const char* name : {"a100_bond", "v100_ib", "roce_rails", "erdma_vm", "igb_node", "mlx5_switchdev"}) {
    CAPTURE(name);
    const Planned planned{Tree(name)};
    for (const FabricPlan& fabric : planned.fabrics) {
      for (const Way& way : fabric.ways) {
        const auto config = parse_config(way.config.text(), {.file = "plan.json", .strict = true});
        REQUIRE(config);
        CHECK(config->warnings.empty());
        CHECK(config->resources.front().resource() == way.resource);
        for (const PoolDevice& device : way.pool.devices) CHECK(device.facts.rdma_capable);
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
  const test::Run good = test::run([&] { return plan({.root = tree.root()}); });
  CHECK(good.code == 0);
  CHECK(good.out.find("* shared device") != std::string::npos);
  CHECK(test::run([&] { return plan({.root = tree.root(), .json = true}); }).out.find("\"fabrics\"") !=
        std::string::npos);
  const test::Run wrong = test::run([&] { return plan({.root = tree.root(), .config_file = "/nowhere"}); });
  CHECK(wrong.code == 2);
  CHECK(test::run([&] { return plan({.root = "/nowhere"}); }).code == 1);
}
