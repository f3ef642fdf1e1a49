// plugin/doctor: what each check finds, and that it finds nothing where nothing is wrong.
#include "plugin/doctor/doctor.h"

#include "tests/plugin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using test::Tree;

namespace {

CheckResults results_of(const std::string& id, const Tree& tree, const Inventory& inventory) {
  const SysRoot sys = tree.sys();
  for (auto& report : check_node({sys, inventory, sys})) {
    if (report.id == id) return report.results;
  }
  FAIL("no check " << id);
  return {};
}

CheckResults results_of(const std::string& id, const Tree& tree) { return results_of(id, tree, tree.scan()); }

// What is neither good nor unreadable, which a tree of sysfs alone is in much: "VF-N10 fault: TEXT".
std::vector<std::string> findings(const Tree& tree) {
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  std::vector<std::string> out;
  for (const auto& [id, name, results] : check_node({sys, inventory, sys})) {
    for (const CheckResult& result : results) {
      if (result.finding == Finding::good || result.finding == Finding::unknown) continue;
      const char* word = result.finding == Finding::fault    ? " fault: "
                         : result.finding == Finding::advice ? " advice: "
                                                             : " note: ";
      out.push_back(id + word + result.text);
    }
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A node with one RDMA card and what a good one has.
const std::string kGood = R"(
pci pci0000:16/0000:16:01.0/0000:17:00.0 class=0x020000 vendor=15b3 device=101d numa=0 driver=mlx5_core net=eth1:1 carrier=1 rdma=mlx5_0:Ethernet:ACTIVE:LinkUp:0 vfs=0000:17:00.1,0000:17:00.2 vf_device=101e
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/net/eth1/flags = 0x1003
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/net/eth1/mtu = 9000
sys/module/ib_core/parameters/netns_mode = N
sys/module/mlx5_core/
sys/module/mlx5_ib/
dev/infiniband/rdma_cm/
dev/infiniband/uverbs0/
dev/null/
proc/sys/kernel/osrelease = 6.1.0-13-amd64
proc/7/comm = containerd
proc/7/limits = Max locked memory         unlimited            unlimited            bytes
var/lib/kubelet/device-plugins/kubelet.sock = socket
var/lib/kubelet/pod-resources/kubelet.sock = socket
etc/cni/net.d/00-multus.conf = {"type":"multus"}
etc/cni/net.d/10-calico.conflist = {}
opt/cni/bin/vfrail/
etc/containerd/config.toml = version = 3
var/run/cdi/
)";
const std::string kPf = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/";

struct Case {
  const char* id;
  Finding finding;
  std::string added;  // to kGood
  const char* text;   // a part of what is found
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"VF-N01", Finding::fault,
       "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1\n",
       "0000:18:00.0 (eth2) has no RDMA device: mlx5_ib is not loaded"},
      {"VF-N02", Finding::fault, "sys/module/mlx5_core/version = 24.10-1.1.4\n",
       "mlx5_core is 24.10-1.1.4 and mlx5_ib is of Linux"},
      {"VF-N03", Finding::advice, "proc/sys/kernel/osrelease = 4.18.0-305.el8.x86_64\n", "Linux 4.18"},
      {"VF-N04", Finding::advice, "sys/module/ib_core/parameters/netns_mode = Y\n", "shared"},
      {"VF-N05", Finding::fault,
       "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=vfio-pci\n",
       "0000:18:00.0 is bound to vfio-pci and has no IOMMU group"},
      {"VF-N05", Finding::advice,
       kPf + "iommu_group -> ../../../../kernel/iommu_groups/9\nsys/kernel/iommu_groups/9/type = DMA-FQ\n"
             "pci pci0000:16/0000:16:02.0/0000:19:00.0 class=0x030200 vendor=10de device=20b5 numa=0 "
             "driver=nvidia\n",
       "translates the DMA of 0000:17:00.0"},
      {"VF-N06", Finding::note, kPf + "sriov_numvfs = 0\n", "0000:17:00.0 (eth1, mlx5_0): 0 of 2"},
      {"VF-N07", Finding::advice, kPf + "sriov_drivers_autoprobe = 0\n",
       "1 VF of 0000:17:00.0 has no driver, and cannot be allocated: 0000:17:00.2 (sriov_drivers_autoprobe"},
      {"VF-N09", Finding::fault, kPf + "net/eth1/carrier = 0\n",
       "0000:17:00.0 (eth1, mlx5_0): its port has no carrier"},
      {"VF-N09", Finding::advice, kPf + "net/eth1/carrier_changes = 37\n", "changed 37 times"},
      {"VF-N10", Finding::fault,
       kPf + "infiniband/mlx5_0/ports/1/state = 1: DOWN\n" + kPf +
           "infiniband/mlx5_0/ports/1/phys_state = 3: Disabled\n",
       "0000:17:00.0 (eth1, mlx5_0): port 1 of mlx5_0 is DOWN, Disabled"},
      {"VF-N11", Finding::advice,
       kPf + "infiniband/mlx5_0/ports/1/rate = 25 Gb/sec (1X EDR)\n"
             "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1 "
             "rdma=mlx5_1:Ethernet:ACTIVE:LinkUp:1\n"
             "sys/devices/pci0000:17/0000:18:00.0/infiniband/mlx5_1/ports/1/rate = 100 Gb/sec (4X EDR)\n",
       "0000:17:00.0 (eth1, mlx5_0) runs at 25 Gb/sec"},
      {"VF-N13", Finding::note,
       kPf + "infiniband/mlx5_0/ports/1/counters/symbol_error = 0\n" + kPf +
           "infiniband/mlx5_0/ports/1/counters/link_downed = 3\n",
       "port 1 of mlx5_0 has counted errors since its driver was bound: link_downed 3"},
      {"VF-N14", Finding::note,
       "proc/1/net/route | Iface\nproc/1/net/route | eth1 00000000 0100000A 0003 0 0 0 00000000 0 0 0\n",
       "0000:17:00.0 (eth1, mlx5_0) has RDMA and is the host's"},
      {"VF-N15", Finding::note,
       "pci pci0000:17/0000:18:00.0 class=0x020700 vendor=15b3 device=1021 driver=mlx5_core net=ib0:32 "
       "rdma=mlx5_1:InfiniBand:ACTIVE:LinkUp:1\nsys/devices/pci0000:17/0000:18:00.0/vpd = SW_MNG\n",
       "0000:18:00.0 (ib0, mlx5_1): they manage NVLink"},
      {"VF-N16", Finding::advice, kPf + "net/eth1/mtu = 1500\n", "has MTU 1500"},
      {"VF-N20", Finding::note,
       kPf + "net/eth1_0/flags = 0x1002\n" + kPf + "net/eth1_0/type = 1\n" + kPf +
           "net/eth1_0/dev_port = 1\nsys/class/net/eth1_0/phys_port_name = pf0vf0\n",
       "whose representor is down has no traffic: eth1_0"},
      {"VF-N21", Finding::note, "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.2/msi_irqs/41 = msix\n",
       "VFs of 0000:17:00.0 have 1 interrupt vector: TCP and IPoIB on them use one CPU; RDMA that polls does "
       "not need them: 0000:17:00.2"},
      {"VF-N22", Finding::advice,
       "sys/devices/system/node/node0/\nsys/devices/system/node/node1/\n" + kPf + "numa_node = -1\n",
       "0000:17:00.0 (eth1, mlx5_0)"},
      {"VF-N23", Finding::advice, kPf + "current_link_width = 8\n" + kPf + "max_link_width = 16\n",
       "PCIe link_width is 8 of 16"},
      {"VF-N25", Finding::note,
       "pci pci0000:90/0000:91:00.0 class=0x030200 vendor=10de device=20b5 numa=1 driver=nvidia\n",
       "0000:91:00.0"},
      {"VF-N26", Finding::advice,
       "pci pci0000:90/0000:91:00.0 class=0x030200 vendor=10de device=20b5 "
       "driver=nvidia\nsys/module/nvidia/\n",
       "nvidia_peermem is not loaded"},
      {"VF-N29", Finding::advice,
       "pci pci0000:90/0000:91:00.0 class=0x030200 vendor=10de device=20b5 numa=1 driver=nvidia\n"
       "pci pci0000:91/0000:92:00.0 class=0x030200 vendor=10de device=20b5 numa=0 driver=nvidia\n"
       "var/lib/kubelet/config.yaml = kind: KubeletConfiguration\n",
       "topologyManagerPolicy is none"},
      {"VF-N31", Finding::fault, "etc/cni/net.d/00-cilium.conf = {}\n", "00-cilium.conf comes first"},
      {"VF-N32", Finding::advice, "opt/cni/bin/whereabouts/\n", "whereabouts.kubeconfig is not there"},
      {"VF-N34", Finding::advice, "etc/containerd/config.toml = enable_cdi = false\n", "enable_cdi = false"},
      {"VF-N35", Finding::fault,
       R"(etc/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one"}]})"
       "\nvar/run/cdi/b.yaml = {kind: x.com/net, devices: [{name: one}]}\n",
       "CDI device x.com/net=one is defined by"},
      {"VF-N36", Finding::advice,
       "proc/8/comm = crio\nproc/8/limits = Max locked memory         65536                65536             "
       "   bytes\n",
       "crio may lock 64 KiB"},
      {"VF-N37", Finding::fault,
       R"(var/run/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one","containerEdits":)"
       R"({"hooks":[{"hookName":"createRuntime","path":"/opt/none/hook"}]}}]})"
       "\n",
       "the CDI hook /opt/none/hook of "},
      {"VF-N40", Finding::note, "proc/sys/kernel/numa_balancing = 1\n", "numa_balancing is on"},
      {"VF-N41", Finding::advice,
       "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=8086 device=1889 driver=vfio-pci\n"
       "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages = 0\n",
       "no huge pages"},
      {"VF-N42", Finding::fault,
       "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=8086 device=1889 driver=vfio-pci\n"
       "sys/devices/pci0000:17/0000:18:00.0/iommu_group -> ../../../kernel/iommu_groups/9\n" +
           kPf + "iommu_group -> ../../../../kernel/iommu_groups/9\nsys/kernel/iommu_groups/9/type = DMA\n",
       "IOMMU group 9 has functions for VFIO and 0000:17:00.0"},
  };
  return kCases;
}

// Also what such a node needs to have before it can go wrong.
void prepare(const Case& one, Tree& tree) {
  const std::string id = one.id;
  if (id == "VF-N01") tree.remove("sys/module/mlx5_ib");
  if (id == "VF-N07") tree.remove("sys/devices/pci0000:16/0000:16:01.0/0000:17:00.2/driver");
}

// By things of the file system that a manifest cannot take away, or by what only vfrail-cni knows.
struct Change {
  const char* id;
  std::function<void(Tree&)> tree;
  std::function<void(Inventory&)> inventory;
  const char* text;
};

const std::vector<Change>& changes() {
  const auto nothing = [](auto&) {};
  static const std::vector<Change> kChanges = {
      {"VF-N01", [](Tree& tree) { tree.remove("dev/infiniband/rdma_cm"); }, nothing, "rdma_cm"},
      {"VF-N01", nothing, [](Inventory& all) { all.functions[0].verbs_nodes.clear(); },
       "without a verbs node"},
      {"VF-N08", nothing,
       [](Inventory& all) {
         PciFunction& vf = all.functions[1];
         vf.rdma = {
             {.name = "mlx5_9", .ports = {{.link_layer = "InfiniBand"}}, .guid = "0000:0000:0000:0000"}};
         vf.link_type = "infiniband";
       },
       "0000:17:00.1 (mlx5_9): its GUID is not set"},
      {"VF-N09", [](Tree& tree) { tree.remove(kPf + "net/eth1/carrier"); }, nothing,
       "0000:17:00.0 (eth1, mlx5_0): its port is administratively down"},
      {"VF-N10", nothing,
       [](Inventory& all) {
         all.functions[0].rdma[0].ports[0] = {.state = "INIT", .link_layer = "InfiniBand"};
       },
       "port 1 of mlx5_0 is INIT"},
      {"VF-N19", nothing, [](Inventory& all) { all.functions[0].port.failed_reporters = {"fw_fatal"}; },
       "fw_fatal"},
      {"VF-N28", [](Tree& tree) { tree.remove("var/lib/kubelet/device-plugins/kubelet.sock"); }, nothing,
       "no kubelet.sock"},
      {"VF-N30", [](Tree& tree) { tree.remove("var/lib/kubelet/pod-resources/kubelet.sock"); }, nothing,
       "has no kubelet.sock: reports and metrics have no pods"},
      {"VF-N31", [](Tree& tree) { tree.remove("opt/cni/bin/vfrail"); }, nothing,
       "neither vfrail nor vfrail-cni"},
      {"VF-N33", nothing, [](Inventory& all) { all.functions[1].unclean = "its MTU is 1300, was 1500"; },
       "0000:17:00.1 (mlx5_0): its MTU is 1300"},
      {"VF-N33", nothing,
       [](Inventory& all) {
         all.unread.push_back({"0000:99:00.1", "EIO"});
       },
       "0000:99:00.1 cannot be read: EIO"},
      {"VF-N39", [](Tree& tree) { tree.remove("dev/infiniband/uverbs0"); }, nothing, "lacks uverbs0"},
  };
  return kChanges;
}

}  // namespace

TEST_CASE("a node where nothing is wrong has no finding, and every check can be made") {
  Tree tree("");
  tree.add(kGood);
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  std::set<std::string> ids;
  for (const CheckReport& report : check_node({sys, inventory, sys})) {
    CAPTURE(report.id, report.results[0].text);
    CHECK(ids.insert(report.id).second);
    CHECK(report.results[0].finding == Finding::good);
  }
  CHECK(ids.size() == node_checks().size());
}

TEST_CASE("each check finds its fault, names the object, and has a remedy where something is to be done") {
  for (const Case& one : cases()) {
    Tree tree("");
    tree.add(kGood);
    prepare(one, tree);
    tree.add(one.added);
    const CheckResults found = results_of(one.id, tree);
    CAPTURE(one.id, one.text, found[0].text);
    const bool named = std::any_of(found.begin(), found.end(), [&](const CheckResult& result) {
      return result.finding == one.finding && contains(result.text, one.text) &&
             (result.finding <= Finding::note || !result.remedy.empty());
    });
    CHECK(named);
  }
  for (const Change& one : changes()) {
    Tree tree("");
    tree.add(kGood);
    one.tree(tree);
    Inventory inventory = tree.scan();
    one.inventory(inventory);
    const CheckResults found = results_of(one.id, tree, inventory);
    CAPTURE(one.id, one.text, found[0].text);
    CHECK(found[0].finding >= Finding::advice);
    CHECK(contains(found[0].text, one.text));
    CHECK_FALSE(found[0].remedy.empty());
  }
}

TEST_CASE("no check is without a case of its own") {
  std::set<std::string> shown = {"VF-N24", "VF-N27"};  // below: their files are binary
  for (const Case& one : cases()) shown.insert(one.id);
  for (const Change& one : changes()) shown.insert(one.id);
  for (const NodeCheck& check : node_checks()) {
    CAPTURE(check.id);
    CHECK(shown.contains(check.id));
  }
}

TEST_CASE("the RDMA port of a free VF or sub-function is down with its netdev, which is no fault") {
  Tree tree("");
  tree.add(kGood);
  for (const FunctionKind kind : {FunctionKind::network, FunctionKind::sub_function}) {
    Inventory inventory = tree.scan();
    PciFunction& free = inventory.functions[1];
    free.kind = kind;
    free.netdevs = {{.name = "eth3"}};
    free.rdma = {
        {.name = "mlx5_3", .ports = {{.state = "DOWN", .link_layer = "Ethernet", .physical = "Disabled"}}}};
    CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::good);
    free.netdevs[0].up = true;
    CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::fault);
    inventory.functions[1].port.rdma = {{.state = "DOWN"}};
    CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::good);
  }
}

TEST_CASE("a fact that cannot be read is unknown, never good") {
  Tree tree("");
  tree.add(kGood);
  for (const char* file : {"proc/sys/kernel/osrelease", "etc/containerd/config.toml"}) {
    tree.remove(file);
    tree.add(std::string(file) + " -> " + std::string(file).substr(std::string(file).rfind('/') + 1));
  }
  for (const char* id : {"VF-N03", "VF-N34"}) {
    CAPTURE(id);
    CHECK(results_of(id, tree)[0].finding == Finding::unknown);
    CHECK(contains(results_of(id, tree)[0].text, "ELOOP"));
  }
  tree.add("etc/cni/net.d/00-gone.conf -> nowhere.conf");
  tree.remove("var/run/cdi");
  for (const char* id : {"VF-N31", "VF-N35"}) {
    CAPTURE(id);
    CHECK(results_of(id, tree)[0].finding == Finding::unknown);
    CHECK(contains(results_of(id, tree)[0].text, "is not there"));
  }
}

TEST_CASE("the report has each finding with id and remedy, and how many there are of each") {
  Tree tree("a100_bond");
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  const auto reports = check_node({sys, inventory, sys});
  const std::string text = render_checks(reports);
  CHECK(contains(text, "fault   VF-N10 rdma-ports"));
  CHECK(contains(text, "\n        remedy: ip link set ibp75s0 up"));
  CHECK(contains(text, " unknown, "));
  std::ifstream file(VFRAIL_SOURCE_DIR "/plugin/report/schema.json");
  const std::string schema{std::istreambuf_iterator<char>(file), {}};
  CHECK(test::schema_violation(schema, doctor_json(reports).text()) == "");
}

TEST_CASE("the exit code is 1 from the finding on that was asked for") {
  Tree tree("");
  tree.add(kGood + kPf + "net/eth1/mtu = 1500\n");
  DoctorOptions options;
  options.root = tree.root();
  CHECK(test::run([&] { return doctor(options); }).code == 0);
  options.fail_on = Finding::advice;
  CHECK(test::run([&] { return doctor(options); }).code == 1);
}

// The nodes of tests/data: what each has that a good one has not, as far as its tree shows it.
TEST_CASE("known nodes have the findings that their reports describe, and no others") {
  const std::string shared = "VF-N04 advice: shared: every pod sees";
  const std::map<std::string, std::vector<std::string>> kKnown = {
      // One InfiniBand card without a cable; mlx5_bond_0 is the host's uplink, not an InfiniBand card.
      {"a100_bond",
       {shared, "VF-N10 fault: 0000:4b:00.0 (ibp75s0, mlx5_0): port 1 of mlx5_0 is DOWN, Disabled",
        "VF-N14 note: 0000:18:00.0 (eno1, mlx5_bond_0) has RDMA and is the host's: ",
        "VF-N25 note: no RDMA device is below the host bridge of GPU 0000:31:00.0"}},
      {"v100_ib", {shared}},
      {"roce_rails", {shared, "VF-N14 note: 0000:02:00.0 (eth0, mlx5_0) has RDMA and is the host's: "}},
      {"erdma_vm",
       {shared, "VF-N10 fault: 0000:9c:00.0 (rocep156s0): port 1 of rocep156s0 is DOWN, Disabled"}},
      {"dgx_a100", {}},
      {"dgx_h100", {}},
      {"b200",
       {"VF-N01 advice: there is no /dev/infiniband/rdma_cm",
        "VF-N15 note: 0000:05:00.0 (ibp5s0f0, mlx5_0)"}},
      {"two_sockets", {}},
      {"igb_node", {}},
      {"mlx5_switchdev",
       {shared, "VF-N07 advice: 1 VF of 0000:03:00.1 has no driver",
        "VF-N14 note: 0000:03:00.0 (enp3s0f0np0, rocep3s0f0) has RDMA and is the host's: ",
        "VF-N16 advice: 0000:03:00.0 (enp3s0f0np0, rocep3s0f0) has MTU 1500",
        "VF-N16 advice: 0000:03:00.1 (enp3s0f1np1, rocep3s0f1) has MTU 1500"}},
      {"management", {}},
  };
  for (const auto& [name, expected] : kKnown) {
    const std::vector<std::string> found = findings(Tree(name));
    CAPTURE(name, found);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) CHECK(found[i].starts_with(expected[i]));
  }
}

TEST_CASE("in the plugin's container the kernel's own settings are read from its /proc and /sys") {
  Tree host("");
  host.add(kGood);
  host.remove("proc/sys/kernel/osrelease");
  Tree own("");
  own.add("proc/sys/kernel/osrelease = 4.18.0-553.el8\nproc/sys/kernel/numa_balancing = 1");
  const SysRoot sys = host.sys();
  const SysRoot kernel = own.sys();
  const Inventory inventory = host.scan();
  std::map<std::string, std::string> found;
  for (const CheckReport& report : check_node({sys, inventory, kernel}))
    found[report.id] = report.results[0].text;
  CHECK(found["VF-N03"] == "Linux 4.18.0-553.el8 cannot move RDMA devices between network namespaces");
  CHECK(contains(found["VF-N40"], "numa_balancing is on"));
}

namespace {

// Configuration space: a list of capabilities with PCI Express, and of extended ones with ACS.
std::string config_space(unsigned device_control, unsigned access_control) {
  std::string out(4096, '\0');
  const auto word = [&](size_t at, unsigned value) {
    out[at] = static_cast<char>(value);
    out[at + 1] = static_cast<char>(value >> 8);
  };
  word(0x34, 0x40);
  word(0x40, 0x6001);  // power management; the next is at 0x60
  word(0x60, 0x0010);  // PCI Express, the last
  word(0x68, device_control);
  word(0x100, 0x0001);  // AER; the next is at 0x148
  word(0x102, 0x1481);
  word(0x148, 0x000d);  // ACS, the last
  word(0x14a, 0x0001);
  word(0x14e, access_control);
  out.back() = '\x7f';
  return out;
}

// A GPU and an RDMA device behind one PCIe switch.
void add_switch(Tree& tree) {
  tree.add(kGood);
  tree.add(
      "pci pci0000:50/0000:50:01.0/0000:51:00.0/0000:52:00.0/0000:53:00.0 class=0x030200 vendor=10de "
      "device=20b5 numa=0 driver=nvidia\n"
      "pci pci0000:50/0000:50:01.0/0000:51:00.0/0000:52:04.0/0000:54:00.0 class=0x020000 vendor=15b3 "
      "device=101d numa=0 driver=mlx5_core net=eth5:1 carrier=1 rdma=mlx5_5:Ethernet:ACTIVE:LinkUp:5\n");
}

void write_config_space(const Tree& tree, const std::string& address, const std::string& bytes) {
  const std::string folder = tree.root() + "/sys/bus/pci/devices/" + address;
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config", std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("what PCI configuration space says of the way between GPU and NIC is read where root reads it") {
  const auto found = [](unsigned device_control, unsigned access_control) {
    Tree tree("");
    add_switch(tree);
    for (const char* bridge : {"0000:52:00.0", "0000:52:04.0"})
      write_config_space(tree, bridge, config_space(0, bridge[9] == '4' ? access_control : 0));
    write_config_space(tree, "0000:54:00.0", config_space(device_control, 0));
    return std::pair(results_of("VF-N24", tree)[0], results_of("VF-N27", tree)[0]);
  };
  const auto good = found(0x2010, 0x1);
  CHECK(good.first.finding == Finding::good);
  CHECK(good.second.finding == Finding::good);
  const auto bad = found(0x0000, 0x1d);
  CHECK(bad.first.finding == Finding::advice);
  CHECK(contains(bad.first.text, "to the root complex at 0000:52:04.0"));
  CHECK_FALSE(contains(bad.first.text, "0000:51:00.0"));
  CHECK(contains(bad.second.text, "reads of 128 bytes at most: 0000:54:00.0"));

  Tree unreadable("");
  add_switch(unreadable);
  CHECK(results_of("VF-N24", unreadable)[0].finding == Finding::unknown);
  CHECK(results_of("VF-N27", unreadable)[0].finding == Finding::unknown);
}
