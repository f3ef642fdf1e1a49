// plugin/provision/plan.h: the golden table of writes for each driver, and what is refused.
#include "plugin/provision/plan.h"

#include "plugin/device/provisioning/withheld.h"
#include "tests/plugin/provision/provision_tree.h"

using namespace vfrail;
using namespace vfrail::test;

namespace {

// A card with two ports and no VFs.
struct Card : Tree {
  explicit Card(const std::string& driver) : Tree("") {
    for (const char* port : {"0", "1"}) {
      const std::string path = "pci0000:16/0000:16:02.0/0000:18:00." + std::string(port);
      add("pci " + path + " class=0x020000 vendor=8086 device=1572 driver=" + driver + " net=ens1f" + port +
          ":1 carrier=1");
      const std::string base = "sys/devices/" + path + "/";
      add(base + "sriov_totalvfs = 64\n" + base + "sriov_numvfs = 0\n" + base +
          "sriov_drivers_autoprobe = 1\n" + base + "net/ens1f" + port + "/address = 0c:42:a1:65:f1:f" + port +
          "\n" + base + "net/ens1f" + port + "/mtu = 1500\n");
    }
  }
};

// Four VFs on each PF of tests/data/igb_node.sysfs.
std::string grow(const std::string& more = "") {
  return R"({"vfs": [{"pf": "0000:21:00.0", "count": 7)" + more + "}]}";
}

}  // namespace

TEST_CASE("i40e: VFs are made with autoprobe off, get their addresses, and are bound once") {
  const Card tree("i40e");
  CHECK(planned(tree, R"({"vfs": [{"pf": "ens1f0", "count": 2, "trust": true, "spoofChk": false}]})") ==
        R"(record that sriov_drivers_autoprobe of 0000:18:00.0 was 1
write 0 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write 2 to /sys/bus/pci/devices/0000:18:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn1 of 0000:18:00.0
set ens1f0 vf 0 mac e6:00:65:f1:f0:16, spoofchk off, trust on
set ens1f0 vf 1 mac e6:01:65:f1:f0:16, spoofchk off, trust on
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write the address of virtfn0 of 0000:18:00.0 to /sys/bus/pci/drivers_probe
write the address of virtfn1 of 0000:18:00.0 to /sys/bus/pci/drivers_probe
remove the record of 0000:18:00.0
)");
}

TEST_CASE("ice: the eswitch mode is set before there are VFs, which get vfio-pci where it is wanted") {
  const Card tree("ice");
  CHECK(planned(tree, R"({"vfs": [{"pf": "ens1f0", "count": 1, "eswitch": "switchdev", "mtu": 9000,
                                   "mac": "none", "driver": "vfio-pci"}]})") ==
        R"(record that sriov_drivers_autoprobe of 0000:18:00.0 was 1
set ens1f0 mtu 9000
write 0 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
set the eswitch mode of pci/0000:18:00.0 to switchdev
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn0 of 0000:18:00.0
write vfio-pci to /sys/bus/pci/devices/0000:18:00.0/virtfn0/driver_override
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write the address of virtfn0 of 0000:18:00.0 to /sys/bus/pci/drivers_probe
remove the record of 0000:18:00.0
)");
}

TEST_CASE("mlx5, RoCE: the eswitch mode is set for VFs that no driver has yet") {
  const Card tree("mlx5_core");
  CHECK(planned(tree, R"({"vfs": [{"pf": "ens1f0", "count": 1, "eswitch": "switchdev"}]})") ==
        R"(record that sriov_drivers_autoprobe of 0000:18:00.0 was 1
write 0 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn0 of 0000:18:00.0
set the eswitch mode of pci/0000:18:00.0 to switchdev
set ens1f0 vf 0 mac e6:00:65:f1:f0:16
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write the address of virtfn0 of 0000:18:00.0 to /sys/bus/pci/drivers_probe
remove the record of 0000:18:00.0
)");
}

TEST_CASE("an administrator's autoprobe of 0 is switched on to bind, and off again") {
  const auto plan = [](const std::string& driver) {
    ProvisionFacts facts = facts_of(Card("i40e"));
    facts.pfs[0].autoprobe = false;
    return lines_of_plan(provision_plan(
        vfs_config(R"({"vfs": [{"pf": "ens1f0", "count": 1, "mac": "none", "driver": ")" + driver + "\"}]}"),
        facts));
  };
  CHECK(plan("default") == R"(record that sriov_drivers_autoprobe of 0000:18:00.0 was 0
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn0 of 0000:18:00.0
write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
write the address of virtfn0 of 0000:18:00.0 to /sys/bus/pci/drivers_probe
write 0 to /sys/bus/pci/devices/0000:18:00.0/sriov_drivers_autoprobe
remove the record of 0000:18:00.0
)");
  CHECK(plan("none") == R"(write 1 to /sys/bus/pci/devices/0000:18:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn0 of 0000:18:00.0
)");
}

TEST_CASE("mlx5, InfiniBand: each VF has its GUIDs before it is bound, derived or from a list") {
  Tree tree("v100_ib");
  const std::string base = "sys/devices/pci0000:85/0000:85:00.0/0000:86:00.0/";
  tree.add(base + "sriov_totalvfs = 8\n" + base + "sriov_numvfs = 0\n" + base +
           "net/ibp134s0f0/address = 00:00:10:29:fe:80:00:00:00:00:00:00:0c:42:a1:03:00:65:f1:f2\n");
  const auto writes = [](const std::string& first, const std::string& second) {
    return "record that sriov_drivers_autoprobe of 0000:86:00.0 was 1\n"
           "write 0 to /sys/bus/pci/devices/0000:86:00.0/sriov_drivers_autoprobe\n"
           "write 2 to /sys/bus/pci/devices/0000:86:00.0/sriov_numvfs\n"
           "wait for the links virtfn0 to virtfn1 of 0000:86:00.0\n"
           "set ibp134s0f0 vf 0 link_state enable, node GUID " +
           first + ", port GUID " + first +
           "\n"
           "set ibp134s0f0 vf 1 link_state enable, node GUID " +
           second + ", port GUID " + second +
           "\n"
           "write 1 to /sys/bus/pci/devices/0000:86:00.0/sriov_drivers_autoprobe\n"
           "write the address of virtfn0 of 0000:86:00.0 to /sys/bus/pci/drivers_probe\n"
           "write the address of virtfn1 of 0000:86:00.0 to /sys/bus/pci/drivers_probe\n"
           "remove the record of 0000:86:00.0\n";
  };
  const std::string entry = R"({"vfs": [{"pf": "0000:86:00.0", "count": 2, "linkState": "enable")";
  CHECK(planned(tree, entry + "}]}") == writes("e6:00:00:03:00:65:f1:f2", "e6:00:01:03:00:65:f1:f2"));
  CHECK(planned(
            tree,
            entry +
                R"(, "guids": {"first": "02:00:00:00:00:00:00:ff", "last": "02:00:00:00:00:00:0f:00"}}]})") ==
        writes("02:00:00:00:00:00:00:ff", "02:00:00:00:00:00:01:00"));
  tree.add(
      "etc/sriov-operator/infiniband/guids = [{\"pciAddress\": \"0000:86:00.1\", \"guids\": "
      "[\"02:00:00:00:00:00:00:09\"]}, "
      "{\"pciAddress\": \"0000:86:00.0\", \"rangeStart\": \"02:00:00:00:00:00:00:01\", \"rangeEnd\": "
      "\"02:00:00:00:00:00:00:08\"}]\n");
  CHECK(planned(tree, entry + R"(, "guids": {"file": "/etc/sriov-operator/infiniband/guids"}}]})") ==
        writes("02:00:00:00:00:00:00:01", "02:00:00:00:00:00:00:02"));
}

TEST_CASE("each VF costs one message to its PF and one bind, however many there are") {
  Card tree("i40e");
  tree.add("sys/devices/pci0000:16/0000:16:02.0/0000:18:00.0/sriov_totalvfs = 127\n");
  const auto writes = [&](const std::string& count) {
    const auto config =
        vfs_config(R"({"vfs": [{"pf": "ens1f0", "count": )" + count + R"(, "trust": true}]})");
    return provision_plan(config, facts_of(tree)).writes();
  };
  CHECK(writes("8") == 8 * 2 + 5);
  CHECK(writes("64") == 64 * 2 + 5);
  CHECK(writes("127") == 127 * 2 + 5);
}

TEST_CASE("igb: all VFs are removed before there are more, while all of them are free") {
  CHECK_THAT(planned(Tree("igb_node"), grow()),
             Catch::StartsWith(R"(record that sriov_drivers_autoprobe of 0000:21:00.0 was 1
write 0 to /sys/bus/pci/devices/0000:21:00.0/sriov_drivers_autoprobe
write 0 to /sys/bus/pci/devices/0000:21:00.0/sriov_numvfs
write 7 to /sys/bus/pci/devices/0000:21:00.0/sriov_numvfs
wait for the links virtfn0 to virtfn6 of 0000:21:00.0
set eth0 vf 0 mac )"));
}

TEST_CASE("a PF with the wanted number of VFs is not written") {
  CHECK(planned(Tree("igb_node"), R"({"vfs": [{"pf": ["eth0", "eth1"], "count": 4}]})") == "");
}

TEST_CASE("VFs that are in use stay, and the refusal names who uses them") {
  Tree tree("igb_node");
  const std::string keeps =
      "! 0000:21:00.0 keeps its 4 VFs, 7 are wanted: all its VFs would be removed first, and ";
  CHECK(planned(tree, grow(), {{"0000:21:10.2", {"pod demo/trainer-0"}}}) ==
        keeps + "0000:21:10.2 is in pod demo/trainer-0; run it again when they are free\n");
  tree.move_to_pod("0000:21:10.4");
  CHECK(
      planned(tree, grow()) ==
      keeps +
          "0000:21:10.4 is in another network namespace, with its interface or its RDMA device; run it again "
          "when they are free\n");
  tree.remove("sys/devices/pci0000:20/0000:20:00.0/0000:21:10.4/driver");
  CHECK_THAT(planned(tree, grow()), Catch::Contains("write 7 to"));
  tree.add(
      "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.4/driver -> ../../../../bus/pci/drivers/vfio-pci\n");
  CHECK_THAT(planned(tree, grow()),
             Catch::Contains("0000:21:10.4 is bound to vfio-pci, so that a VM or another process may "
                             "use it; run it again"));
  CHECK_THAT(planned(tree, R"({"vfs": [{"pf": "eth0", "count": 0}]})"),
             Catch::StartsWith("! 0000:21:00.0 keeps its 4 VFs, 0 are wanted"));
}

TEST_CASE(
    "as long as it is not known which pods have VFs, none is removed, and more on an empty PF is made") {
  ProvisionFacts facts = facts_of(Tree("igb_node"));
  facts.pods_unknown = "which pods have them is not known: kubelet does not answer";
  CHECK_THAT(lines_of_plan(provision_plan(vfs_config(grow()), facts)),
             Catch::Contains("removed first, and which pods have them is not known"));
  facts.pfs[0].num_vfs = 0;
  facts.pfs[0].vfs.clear();
  CHECK_THAT(lines_of_plan(provision_plan(vfs_config(grow()), facts)), Catch::Contains("write 7 to"));
}

TEST_CASE("a PF that the host uses gets its first VFs, and nothing else of it changes") {
  ProvisionFacts facts = facts_of(Tree("igb_node"));
  facts.pfs[0].host_use = {{HostUseFact::Kind::default_route, "eth0 carries the IPv4 default route"}};
  const auto plan = [&] {
    return lines_of_plan(provision_plan(vfs_config(grow(R"(, "mtu": 9000)")), facts));
  };
  CHECK(
      plan() ==
      "! the MTU of eth0 stays 1500, 9000 is wanted: the host uses it: eth0 carries the IPv4 default route\n"
      "! 0000:21:00.0 keeps its 4 VFs, 7 are wanted: the host uses it: eth0 carries the IPv4 default route, "
      "so VFs are only added while it has none\n");
  facts.pfs[0].num_vfs = 0;
  facts.pfs[0].vfs.clear();
  CHECK_THAT(plan(), Catch::Contains("write 7 to") && !Catch::Contains("set eth0 mtu"));
}

TEST_CASE("an MTU is raised, and never lowered") {
  const std::string entry = R"({"vfs": [{"pf": "eth0", "count": 4, "mtu": )";
  CHECK(planned(Tree("igb_node"), entry + "9000}]}") == "set eth0 mtu 9000\n");
  CHECK(planned(Tree("igb_node"), entry + "1280}]}") == "");
}

TEST_CASE("what the firmware lacks is said with the command that helps, and nothing is written") {
  const auto only = [](ProvisionFacts facts, const std::string& config) {
    const ProvisionPlan plan = provision_plan(vfs_config(config), facts);
    REQUIRE(plan.pfs.size() == 1);
    CHECK(plan.pfs[0].steps.empty());
    REQUIRE(plan.pfs[0].obstacles.size() == 1);
    CHECK(plan.pfs[0].obstacles[0].outcome == PfOutcome::needs_reboot);
    return plan.pfs[0].obstacles[0].text;
  };
  ProvisionFacts facts = facts_of(Card("mlx5_core"));
  facts.pfs[1].vendor = "15b3";
  const std::string second = R"({"vfs": [{"pf": "0000:18:00.1", "count": )";
  CHECK(only(facts, second + "100}]}") ==
        "0000:18:00.1 can have 64 VFs by its firmware (sriov_totalvfs), and 100 are wanted: lower count, or "
        "raise the "
        "limit by `mlxconfig -d 0000:18:00.1 set SRIOV_EN=1 NUM_OF_VFS=100`, and reboot the node");
  CHECK(only(facts, second + R"(4, "linkType": "ib"}]})") ==
        "the port of 0000:18:00.1 is Ethernet, and linkType is infiniband: change it by `mlxconfig -d "
        "0000:18:00.1 set "
        "LINK_TYPE_P2=1`, and reboot the node");
  facts.pfs[1].total_vfs = 0;
  CHECK(only(facts, second + "4}]}") ==
        "0000:18:00.1 can have no VFs, because SR-IOV is off in its firmware: switch it on by `mlxconfig -d "
        "0000:18:00.1 "
        "set SRIOV_EN=1 NUM_OF_VFS=4`, and reboot the node");
  facts.pfs[1].vendor = "14e4";
  CHECK_THAT(only(facts, second + "4}]}"),
             Catch::Contains(
                 "`devlink dev param set pci/0000:18:00.1 name enable_sriov value true cmode permanent`"));
}

TEST_CASE("PFs of sriov-network-operator, without a driver, or with a failed reporter are left alone") {
  Tree tree("igb_node");
  tree.add("etc/sriov-operator/pci/0000:21:00.0 = {}\n");
  CHECK(planned(tree, grow()) ==
        "! 0000:21:00.0 is sriov-network-operator's, which makes its VFs: take it out of "
        "vfs, or out of its policies\n");
  ProvisionFacts facts = facts_of(Tree("igb_node"));
  facts.pfs[0].failed_reporters = {"fw_fatal"};
  CHECK_THAT(lines_of_plan(provision_plan(vfs_config(grow()), facts)),
             Catch::Contains("fw_fatal is in state error"));
  facts.pfs[0].driver = "";
  CHECK(lines_of_plan(provision_plan(vfs_config(grow()), facts)) ==
        "! 0000:21:00.0 has no driver, which makes the VFs: bind one\n");
}

TEST_CASE("VFs that exist get what they lack: a GUID of zero while they are free, policies, a driver") {
  ProvisionFacts facts = facts_of(Tree("igb_node"));
  PfFacts& pf = facts.pfs[0];
  pf.link_type = "infiniband";
  pf.identity.guid = 0x0c42a1030065f1f2;
  for (VfFacts& vf : pf.vfs) vf.settings = VfSettings{.node_guid = 5, .port_guid = 5};
  pf.vfs[1].settings = VfSettings{.node_guid = 0, .port_guid = 0};
  pf.vfs[2].settings = VfSettings{.node_guid = 0, .port_guid = 0};
  pf.vfs[2].in_use = "is in pod demo/trainer-0";
  pf.vfs[3].driver = Driver();
  const auto plan = [&](const std::string& more) {
    return lines_of_plan(
        provision_plan(vfs_config(R"({"vfs": [{"pf": "eth0", "count": 4)" + more + "}]}"), facts));
  };
  CHECK(plan("") ==
        "write its address to /sys/bus/pci/devices/0000:21:00.0/virtfn1/driver/unbind\n"
        "set eth0 vf 1 node GUID e6:00:01:03:00:65:f1:f2, port GUID e6:00:01:03:00:65:f1:f2\n"
        "write the address of virtfn1 of 0000:21:00.0 to /sys/bus/pci/drivers_probe\n"
        "write the address of virtfn3 of 0000:21:00.0 to /sys/bus/pci/drivers_probe\n");
  // A link state that the driver does not report would be written at each run.
  pf.vfs[1].in_use = pf.vfs[3].in_use = "is in pod demo/trainer-1";
  pf.vfs[0].settings->link_state = VfLinkState::automatic;
  CHECK(plan(R"(, "linkState": "enable")") == "set eth0 vf 0 link_state enable\n");
  facts.pods_unknown = "kubelet does not answer";
  CHECK(plan(R"(, "linkState": "enable")") ==
        "! VFs of 0000:21:00.0 are not set or bound: kubelet does not answer\n");
}

TEST_CASE("a VF that Kata or a VM has left with vfio-pci gets its own driver where it is configured") {
  Tree tree("igb_node");
  const std::string vf = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.4/";
  tree.remove(vf + "driver");
  tree.add(vf + "driver -> ../../../../bus/pci/drivers/vfio-pci\n" + vf + "enable = 0\n");
  const auto plan = [&](const std::string& more, const UsersById& users = {}) {
    return planned(tree, R"({"vfs": [{"pf": "eth0", "count": 4)" + more + "}]}", users);
  };
  const std::string brought_back =
      "write its address to /sys/bus/pci/devices/0000:21:00.0/virtfn2/driver/unbind\n"
      "write nothing to /sys/bus/pci/devices/0000:21:00.0/virtfn2/driver_override\n"
      "write the address of virtfn2 of 0000:21:00.0 to /sys/bus/pci/drivers_probe\n";
  CHECK(plan(R"(, "driver": "default")") == brought_back);
  CHECK(plan(R"(, "driver": "default#2")") == brought_back);
  CHECK(plan("") == "");
  CHECK(plan(R"(, "driver": "default#0-1")") == "");
  CHECK(plan(R"(, "driver": "default")", {{"0000:21:10.4", {"pod demo/kata"}}}) == "");
  tree.add(vf + "enable = 1\n");
  CHECK(
      plan(R"(, "driver": "default")") ==
      "! VFs of 0000:21:00.0 keep the driver that they have: 0000:21:10.4 is bound to vfio-pci and in use by "
      "a VM or another process (driver is to be default); run it again when they are free\n");
  CHECK(plan(R"(, "driver": "vfio-pci#2")") == "");
}

TEST_CASE("VFs that are bound to vfio-pci and not open are free: another number of them can be made") {
  Tree tree("igb_node");
  const std::string vf = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.4/";
  tree.remove(vf + "driver");
  tree.add(vf + "driver -> ../../../../bus/pci/drivers/vfio-pci\n" + vf + "enable = 0\n");
  CHECK_THAT(planned(tree, grow()), Catch::Contains("write 7 to"));
}

TEST_CASE("a VF goes from its own driver to vfio-pci when it is free, the others stay") {
  CHECK(planned(Tree("igb_node"), R"({"vfs": [{"pf": "eth0", "count": 4, "driver": "vfio-pci#1"}]})") ==
        "write its address to /sys/bus/pci/devices/0000:21:00.0/virtfn1/driver/unbind\n"
        "write vfio-pci to /sys/bus/pci/devices/0000:21:00.0/virtfn1/driver_override\n"
        "write the address of virtfn1 of 0000:21:00.0 to /sys/bus/pci/drivers_probe\n");
}

TEST_CASE("a mode of RDMA that the node does not have, and an entry without a PF, are warnings") {
  const ProvisionPlan plan =
      provision_plan(vfs_config(R"({"rdma": {"netns": "shared"}, "vfs": [{"pf": "ens9", "count": 4}]})"),
                     facts_of(Tree("igb_node")));
  CHECK(plan.pfs.empty());
  CHECK(lines_of(plan.warnings) ==
        std::vector<std::string>{
            "vfs[0]: no PF of this node matches it, or an entry before it has them [VF-CONFIG-DOUBTFUL]",
            "rdma.netns is shared, and the node's RDMA is in the other mode: put \"options ib_core "
            "netns_mode=1\" into "
            "modprobe.d, and reboot the node [VF-CONFIG-DOUBTFUL]"});
}

TEST_CASE("a PF is known by its address, a pattern of its interface's name, or its card's serial number") {
  const Card tree("i40e");
  ProvisionFacts facts = facts_of(tree);
  facts.pfs[1].serial = "MT2042X00001";
  const auto matched = [&](const std::string& by) {
    std::string out;
    for (const PfPlan& pf : provision_plan(vfs_config("{\"vfs\": [{" + by + ", \"count\": 1}]}"), facts).pfs)
      out += pf.pf.text() + " ";
    return out;
  };
  CHECK(matched(R"("pf": "0000:18:00.1")") == "0000:18:00.1 ");
  CHECK(matched(R"("pf": "ens1f?")") == "0000:18:00.0 0000:18:00.1 ");
  CHECK(matched(R"("serial": "MT2042X00001")") == "0000:18:00.1 ");
  CHECK(parse_vpd_serial(std::string("\x82\x03\x00NIC\x90\x0c\x00PN\x02"
                                     "AASN\x04"
                                     "X12\x00\x78",
                                     23)) == "X12");
  CHECK(parse_vpd_serial("\x82\xff").empty());
}
