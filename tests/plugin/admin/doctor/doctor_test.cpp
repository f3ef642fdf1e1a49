// plugin/doctor: what each check finds, and that it finds nothing where nothing is wrong.
#include "plugin/admin/doctor/doctor.h"

#include "common/container/cdi_spec.h"
#include "common/container/claim_record.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/dra/offer_state.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"
#include "tests/support/write_attachment.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <sys/stat.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

// PFC for priority 3, which DSCP 26 is, and trust in DSCP.
Result<std::optional<DcbSettings>> good_dcb(const std::string& /*interface*/) {
  return std::optional(DcbSettings{.lossless = 0x08, .dscp = {{26, 3}}});
}

CheckResults results_of(const std::string& id, const CheckedNode& node) {
  for (auto& report : check_node(node)) {
    if (report.id == id) return report.results;
  }
  FAIL("no check " << id);
  return {};
}

CheckResults results_of(const std::string& id, const Tree& tree, const Inventory& inventory,
                        const std::string& config = "", const ReadDcb& read_dcb = good_dcb) {
  const SysRoot sys = tree.sys();
  const Result<Config> parsed =
      config.empty() ? Result<Config>(Config()) : parse_config(config, {.file = "c.json"});
  if (!parsed) FAIL(parsed.error().text);
  return results_of(id, {.sys = sys,
                         .inventory = inventory,
                         .kernel = sys,
                         .config = config.empty() ? nullptr : &*parsed,
                         .read_dcb = read_dcb});
}

CheckResults results_of(const std::string& id, const Tree& tree) { return results_of(id, tree, tree.scan()); }

// What is neither good nor unreadable, which a tree of sysfs alone is in much: "VF-N10 fault: TEXT".
std::vector<std::string> findings(const Tree& tree) {
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  std::vector<std::string> out;
  for (const auto& [id, name, results] : check_node({sys, inventory, sys})) {
    for (const CheckResult& result : results) {
      if (result.finding <= Finding::unknown) continue;
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
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/net/eth1/ecn/roce_np/enable/3 = 1
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/net/eth1/ecn/roce_rp/enable/3 = 1
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/current_link_speed = 16.0 GT/s PCIe
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/max_link_speed = 16.0 GT/s PCIe
sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/infiniband/mlx5_0/ports/1/counters/symbol_error = 0
proc/sys/kernel/numa_balancing = 0
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
dev/kmsg = 6,0,0,-;Linux version 6.1.0-13-amd64
proc/1/net/route = Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT
usr/lib/udev/rules.d/60-rdma-persistent-naming.rules = PROGRAM="rdma_rename %k NAME_KERNEL"
)";
const std::string kPf = "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0/";

const std::string kRenaming =
    "etc/udev/rules.d/60-rdma-persistent-naming.rules = ACTION==\"add\", SUBSYSTEM==\"infiniband\", "
    "PROGRAM=\"/usr/lib/udev/rdma_rename %k NAME_FALLBACK\"\n";

// Beside the Ethernet card of kGood, one of InfiniBand.
const std::string kInfiniband =
    "pci pci0000:17/0000:18:00.0 class=0x020700 vendor=15b3 device=101b driver=mlx5_core net=ib0:32 "
    "carrier=1 "
    "rdma=mlx5_1:InfiniBand:ACTIVE:LinkUp:1\n";

const std::string kRailSettings = "proc/sys/net/ipv4/conf/";
// A second RoCE card, and both in one network.
const std::string kTwoRails =
    "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1 "
    "carrier=1 "
    "rdma=mlx5_1:Ethernet:ACTIVE:LinkUp:1\n"
    "proc/1/net/route | eth1 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
    "proc/1/net/route | eth2 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
    "proc/1/net/route | eth3 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n"
    "proc/sys/net/core/netdev_max_backlog = 1000\n" +
    kRailSettings + "all/arp_ignore = 0\n" + kRailSettings + "all/arp_announce = 0\n" + kRailSettings +
    "all/rp_filter = 0\n" + kRailSettings + "eth1/arp_ignore = 0\n" + kRailSettings +
    "eth1/arp_announce = 0\n" + kRailSettings + "eth1/rp_filter = 2\n" + kRailSettings +
    "eth2/arp_ignore = 0\n" + kRailSettings + "eth2/arp_announce = 2\n" + kRailSettings +
    "eth2/rp_filter = 1\n";

const std::string kInfinibandPort = "sys/devices/pci0000:17/0000:18:00.0/infiniband/mlx5_1/ports/1/";
const std::string kPartitions = kInfinibandPort + "pkeys/0 = 0xffff\n" + kInfinibandPort +
                                "pkeys/1 = 0x0004\n" + kInfinibandPort + "pkeys/2 = 0x0000\n" +
                                kInfinibandPort + "sm_lid = 0x1\n";

const std::string kHealthLog =
    "dev/kmsg | 3,900,95000000,-;mlx5_core 0000:17:00.0: poll_health:825:(pid 0): device's health "
    "compromised "
    "- reached miss count\n";
// No resource of the other cases is near it.
const std::string kPlainCard =
    "pci pci0000:a0/0000:a1:00.0 class=0x020000 vendor=14e4 device=1750 driver=bnxt_en net=ens7f0np0:1\n";

const std::string kGidLog =
    "dev/kmsg | 3,901,1000000,-;infiniband mlx5_0: add_roce_gid GID add failed port=1 index=0\n"
    "dev/kmsg | 4,902,2000000,-;__ib_cache_gid_add: unable to add gid "
    "fe80:0000:0000:0000:0211:22ff:fe33:4455 error=-22\n"
    "dev/kmsg | 3,903,3000000,-;infiniband mlx5_0: \x1b"
    "add_roce_gid GID add failed port=1 index=1\n"
    "dev/kmsg | 3,904,4000000,-;infiniband mlx5_0: add_roce_gid GID add failed port=1 index=2\n";

struct Case {
  const char* id;
  Finding finding;
  std::string added;  // to kGood
  const char* text;   // a part of what is found
  std::string config = {};
};

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
      {"VF-N01", Finding::fault,
       "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1\n",
       "0000:18:00.0 (eth2) has no RDMA device: mlx5_ib is not loaded"},
      {"VF-N02", Finding::fault, "sys/module/mlx5_core/version = 24.10-1.1.4\n",
       "mlx5_core is 24.10-1.1.4 and mlx5_ib is of Linux"},
      {"VF-N03", Finding::advice, "proc/sys/kernel/osrelease = 4.18.0-305.el8.x86_64\n", "Linux 4.18"},
      {"VF-N03", Finding::note, "proc/sys/kernel/osrelease = 5.4.0-216-generic\n", "older than 5.10"},
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
      {"VF-N09", Finding::advice, kPf + "net/eth1/carrier = 0\n",
       "0000:17:00.0 (eth1, mlx5_0): its port has no carrier"},
      {"VF-N09", Finding::advice, kPf + "net/eth1/carrier_changes = 37\n", "changed 37 times"},
      {"VF-N10", Finding::advice,
       kPf + "infiniband/mlx5_0/ports/1/state = 1: DOWN\n" + kPf +
           "infiniband/mlx5_0/ports/1/phys_state = 3: Disabled\n",
       "0000:17:00.0 (eth1, mlx5_0): port 1 of mlx5_0 is DOWN, Disabled"},
      {"VF-N11", Finding::advice,
       kPf + "infiniband/mlx5_0/ports/1/rate = 25 Gb/sec (1X EDR)\n"
             "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1 "
             "rdma=mlx5_1:Ethernet:ACTIVE:LinkUp:1\n"
             "sys/devices/pci0000:17/0000:18:00.0/infiniband/mlx5_1/ports/1/rate = 100 Gb/sec (4X EDR)\n",
       "0000:17:00.0 (eth1, mlx5_0) runs at 25 Gb/sec"},
      {"VF-N12", Finding::advice, kInfiniband,
       "intel.com/rdma has devices of Ethernet (0000:17:00.1 0000:17:00.2) and of InfiniBand (0000:18:00.0)",
       R"({"resourceList":[{"resourceName":"rdma","selectors":{"drivers":["mlx5_core"]}}]})"},
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
      {"VF-N18", Finding::advice, kPf + "net/eth1/ecn/roce_rp/enable/3 = 0\n",
       "eth1: congestion control (ECN) is off for lossless priority 3 (roce_rp)"},
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
       "driver=nvidia\nsys/module/nvidia/taint = POE\n",
       "nvidia_peermem is not loaded: GPUDirect RDMA is not possible, because the closed"},
      {"VF-N29", Finding::advice,
       "pci pci0000:90/0000:91:00.0 class=0x030200 vendor=10de device=20b5 numa=1 driver=nvidia\n"
       "pci pci0000:91/0000:92:00.0 class=0x030200 vendor=10de device=20b5 numa=0 driver=nvidia\n"
       "var/lib/kubelet/config.yaml = kind: KubeletConfiguration\n",
       "topologyManagerPolicy is none"},
      {"VF-N31", Finding::advice, "etc/cni/net.d/00-cilium.conf = {}\n", "00-cilium.conf comes first"},
      {"VF-N31", Finding::fault, "etc/cni/net.d/00-cilium.conf = {}\n", "00-cilium.conf comes first",
       R"({"resourceList":[{"resourceName":"rdma","selectors":{"isRdma":true}}]})"},
      {"VF-N31", Finding::good, "etc/cni/net.d/00-cilium.conf = {}\n", "every resource shares its devices",
       R"({"configList":[{"resourceName":"x","rdmaHcaMax":9,"selectors":{"ifNames":["eth1"]}}]})"},
      {"VF-N32", Finding::advice, "opt/cni/bin/whereabouts/\n", "whereabouts.kubeconfig is not there"},
      {"VF-N34", Finding::advice, "etc/containerd/config.toml = enable_cdi = false\n", "enable_cdi = false"},
      {"VF-N06", Finding::fault,
       "pci pci0000:a0/0000:a1:00.0 class=0x020000 vendor=15b3 device=101e driver=mlx5_core net=eth9:1 "
       "rdma=mlx5_9:Ethernet:ACTIVE:LinkUp:9\n",
       "intel.com/vf has no device: it selects VFs by their PF, and 0000:a1:00.0 (eth9, mlx5_9) was passed "
       "through to this virtual machine, which has no PF",
       R"({"resourceList":[{"resourceName":"vf","selectors":{"pfNames":["ens7"],"isRdma":true}}]})"},
      {"VF-N34", Finding::fault,
       "etc/containerd/config.toml | cdi_spec_dirs = [\"/var/cdi/static\"]\nvar/run/cdi/vfrail-a.json = {}\n",
       "the container runtime reads CDI specs in /var/cdi/static alone (cdi_spec_dirs), and there is "},
      {"VF-N34", Finding::good, "etc/containerd/config.toml = version = 3\n",
       "with specs in /etc/cdi and /var/run/cdi"},
      {"VF-N35", Finding::fault,
       R"(var/run/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one"}]})"
       "\nvar/run/cdi/b.yaml = {kind: x.com/net, devices: [{name: one}]}\n",
       "CDI device x.com/net=one is defined by"},
      {"VF-N35", Finding::note,
       R"(etc/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one"}]})"
       "\nvar/run/cdi/b.yaml = {kind: x.com/net, devices: [{name: one}]}\n",
       "/var/run/cdi/b.yaml hides x.com/net=one of "},
      {"VF-N36", Finding::advice,
       "proc/8/comm = crio\nproc/8/limits = Max locked memory         65536                65536             "
       "   bytes\n",
       "crio may lock 64 KiB"},
      {"VF-N37", Finding::fault,
       R"(var/run/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one","containerEdits":)"
       R"({"hooks":[{"hookName":"createRuntime","path":"/opt/none/hook"}]}}]})"
       "\n",
       "the CDI hook /opt/none/hook of "},
      {"VF-N38", Finding::note, kRenaming,
       "rules.d/60-rdma-persistent-naming.rules names RDMA devices by their slot or GUID (rdma_rename "
       "NAME_FALLBACK), so names differ between nodes, and change when udev runs: mlx5_0"},
      {"VF-N38", Finding::advice, kRenaming, "; selected by name are the devices of intel.com/rdma (mlx5_0)",
       R"({"resourceList":[{"resourceName":"rdma","selectors":{"rdmaDevices":["mlx5_0","*"]}}]})"},
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
      {"VF-N43", Finding::advice, kTwoRails,
       "eth1 eth2 are in one network, 10.1.0.0/16: arp_ignore (eth1 0 eth2 0): any rail answers ARP for the "
       "addresses of the others, so packets arrive at the wrong port; arp_announce (eth1 0): ARP requests of "
       "a rail can have the address of another; rp_filter (eth2 1): packets are dropped"},
      {"VF-N44", Finding::advice, kInfiniband + kInfinibandPort + "sm_lid = 0x0\n",
       "0000:18:00.0 (ib0, mlx5_1): port 1 of mlx5_1 is active and knows no subnet manager (sm_lid 0)"},
      {"VF-N44", Finding::advice, kInfiniband + kPartitions,
       "intel.com/ib selects partition 0x0005, which is not in the table of any port here",
       R"({"resourceList":[{"resourceName":"ib","selectors":{"pKeys":["0x8004","0x0005"]}}]})"},
      {"VF-N46", Finding::advice, kPlainCard,
       "intel.com/rdma selects nothing on this node, and one selector alone keeps out 0000:a1:00.0 "
       "(ens7f0np0): interface is ens7f0np0, want one of [ens7f0]",
       R"({"resourceList":[{"resourceName":"rdma","selectors":{"vendors":["14e4"],"ifNames":["ens7f0"]}}]})"},
      {"VF-N46", Finding::good, kPlainCard, "no resource is empty for one selector alone",
       R"({"resourceList":[{"resourceName":"rdma","selectors":{"vendors":["14e4"],"ifNames":["ens7f0np0"]}},
                           {"resourceName":"b","selectors":{"vendors":["14e4"],"ifNames":["x"]}}]})"},
      {"VF-N45", Finding::advice, kHealthLog,
       "the kernel has logged 1 message about the health of mlx5 devices: [95 s] mlx5_core 0000:17:00.0: "
       "poll_health:825:(pid 0): device's health compromised - reached miss count"},
      {"VF-N45", Finding::advice, kGidLog,
       "the kernel has logged 4 messages about GIDs that could not be set: RoCE does not work from these "
       "addresses; the last: [2 s] __ib_cache_gid_add: unable to add gid "
       "fe80:0000:0000:0000:0211:22ff:fe33:4455 error=-22; [3 s] infiniband mlx5_0: \\x1badd_roce_gid"},
  };
  return kCases;
}

// Also what such a node needs to have before it can go wrong.
void prepare(const Case& one, Tree& tree) {
  const std::string id = one.id;
  if (id == "VF-N01") tree.remove("sys/module/mlx5_ib");
  if (id == "VF-N03") tree.remove("sys/module/ib_core");
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
         DeviceFacts& vf = all.functions[1];
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

TEST_CASE("the port of a shared device whose interface is down is a fault, that of another device is none") {
  Tree tree("");
  tree.add(kGood);
  tree.remove(kPf + "net/eth1/carrier");  // cannot be read of an interface that is down
  tree.add(kPf + "infiniband/mlx5_0/ports/1/state = 1: DOWN\n");
  const auto results = [&](const std::string& config) {
    return results_of("VF-N10", tree, tree.scan(), config);
  };
  const CheckResults shared =
      results(R"({"configList":[{"resourceName":"x","rdmaHcaMax":9,"selectors":{"ifNames":["eth1"]}}]})");
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].finding == Finding::fault);
  CHECK(contains(shared[0].text, "0000:17:00.0 (eth1, mlx5_0): port 1 of mlx5_0 is DOWN"));
  CHECK(contains(shared[0].remedy, "ip link set NAME up"));
  for (const CheckResult& result :
       results(R"({"resourceList":[{"resourceName":"x","selectors":{"ifNames":["eth1"]}}]})"))
    CHECK(result.finding != Finding::fault);
}

TEST_CASE("a node where nothing is wrong has no finding, and every check can be made") {
  Tree tree("");
  tree.add(kGood);
  const SysRoot sys = tree.sys();
  Inventory inventory = tree.scan();
  inventory.asked_devlink = true;
  std::set<std::string> ids;
  for (const CheckReport& report :
       check_node({.sys = sys, .inventory = inventory, .kernel = sys, .read_dcb = good_dcb})) {
    CAPTURE(report.id, report.results[0].text);
    CHECK(ids.insert(report.id).second);
    CHECK(report.results[0].finding <= Finding::good);
  }
  CHECK(ids.size() == node_checks().size());
}

TEST_CASE("each check finds its fault, names the object, and has a remedy where something is to be done") {
  for (const Case& one : cases()) {
    Tree tree("");
    tree.add(kGood);
    prepare(one, tree);
    tree.add(one.added);
    const CheckResults found = results_of(one.id, tree, tree.scan(), one.config);
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
  // Below: the files of these are binary, this one is asked by netlink, and those of claims have sockets.
  std::set<std::string> shown = {"VF-N24", "VF-N27", "VF-N17", "VF-N47",
                                 "VF-N48", "VF-N49", "VF-N50", "VF-N51"};
  for (const Case& one : cases()) shown.insert(one.id);
  for (const Change& one : changes()) shown.insert(one.id);
  for (const NodeCheck& check : node_checks()) {
    CAPTURE(check.id);
    CHECK(shown.contains(check.id));
  }
}

TEST_CASE(
    "resources of one link layer each are good, and which there are is unknown without a configuration") {
  Tree tree("");
  tree.add(kGood + kInfiniband);
  const Inventory inventory = tree.scan();
  const CheckResults split =
      results_of("VF-N12", tree, inventory,
                 R"({"resourceList":[{"resourceName":"roce","selectors":{"linkTypes":["ether"]}},)"
                 R"({"resourceName":"ib","selectors":{"linkTypes":["infiniband"]}}]})");
  CHECK(split[0].finding == Finding::good);
  const CheckResults without = results_of("VF-N12", tree, inventory);
  CHECK(without[0].finding == Finding::unknown);
  CHECK(contains(without[0].text, "--config-file"));
}

TEST_CASE("udev's rules: the first folder's file counts, comments and names of the administrator do not") {
  const auto found = [](const std::string& added) {
    Tree tree("");
    tree.add(kGood);
    tree.add(added);
    return results_of("VF-N38", tree)[0].finding;
  };
  const std::string rule = "PROGRAM=\"rdma_rename %k NAME_";
  const std::string own = "etc/udev/rules.d/60-rdma-persistent-naming.rules | ";
  CHECK(found(kRenaming) == Finding::note);
  CHECK(found("usr/lib/udev/rules.d/70-more.rules = " + rule + "PCI\"\n") == Finding::note);
  CHECK(found(own + "SUBSYSTEM==\"infiniband\", \\\n" + own + "  " + rule + "GUID\"\n") == Finding::note);
  CHECK(found(own + "  # " + rule + "PCI\"\n") == Finding::good);
  CHECK(found(own + rule + "FIXED rail0\"\n") == Finding::good);
  CHECK(found("usr/lib/udev/rules.d/70-more.txt = " + rule + "PCI\"\n") == Finding::good);
  CHECK(found("lib/udev/rules.d/60-rdma-persistent-naming.rules = " + rule + "PCI\"\n") == Finding::good);

  Tree tree("");
  tree.add(kGood);
  tree.remove("usr/lib/udev");
  Inventory inventory = tree.scan();
  CHECK(results_of("VF-N38", tree, inventory)[0].finding == Finding::good);  // the kernel's names
  inventory.functions[0].rdma[0].name = "rail0";
  CHECK(results_of("VF-N38", tree, inventory)[0].finding == Finding::unknown);
  for (const char* name : {"ibp75s0", "rocep3s0f1", "roceo1", "iws3", "rocex525400c0fe123455"}) {
    inventory.functions[0].rdma[0].name = RdmaName(name);
    CAPTURE(name);
    CHECK(results_of("VF-N38", tree, inventory)[0].finding == Finding::note);
  }
  tree.add("etc/udev/rules.d/10-loop.rules -> 10-loop.rules");
  const CheckResults unread = results_of("VF-N38", tree);
  CHECK(unread[0].finding == Finding::unknown);
  CHECK(contains(unread[0].text, "ELOOP"));
}

TEST_CASE("rails in one network are good where the settings of all of them keep them apart") {
  Tree tree("");
  tree.add(kGood);
  tree.add(kTwoRails);
  for (const char* setting : {"arp_ignore = 1", "arp_announce = 2", "rp_filter = 2"})
    tree.add(kRailSettings + "all/" + setting + "\n");
  CHECK(results_of("VF-N43", tree)[0].finding == Finding::good);

  Tree apart("");
  apart.add(kGood);
  apart.add(kTwoRails);
  apart.add("proc/1/net/route = eth1 0000010A 00000000 0001 0 0 0 0000FFFF 0 0 0\n");
  apart.add("proc/1/net/route | eth2 0000010A 00000000 0001 0 0 0 00FFFFFF 0 0 0\n");
  const auto found = results_of("VF-N43", apart);
  REQUIRE(found.size() == 1);
  CHECK(found[0].finding == Finding::advice);
  CHECK(contains(found[0].text, "eth1 eth2 have other rails in other networks"));
  CHECK(contains(found[0].text, "arp_ignore (eth1 0 eth2 0)"));
  CHECK(!contains(found[0].text, "rp_filter"));
  for (const char* setting : {"arp_ignore = 1", "arp_announce = 2"})
    apart.add(kRailSettings + "all/" + setting + "\n");
  CHECK(results_of("VF-N43", apart)[0].finding == Finding::good);
}

TEST_CASE("the settings of another network namespace, or of one rail alone, are not compared") {
  for (const char* gone : {"proc/sys/net/core", "proc/sys/net/ipv4/conf/eth2", "proc/1/net/route"}) {
    Tree tree("");
    tree.add(kGood);
    tree.add(kTwoRails);
    tree.remove(gone);
    CAPTURE(gone);
    CHECK(results_of("VF-N43", tree)[0].finding == Finding::unknown);
  }
}

TEST_CASE(
    "of the kernel's log only faults count, and those of the devices here, and the kernel's own words") {
  const auto found = [](const std::string& line) {
    Tree tree("");
    tree.add(kGood);
    tree.add("dev/kmsg | " + line + "\n");
    return results_of("VF-N45", tree)[0].finding;
  };
  CHECK(found("4,9,1,-;pcieport 0000:16:01.0: AER: Multiple Corrected error received: 0000:17:00.1") ==
        Finding::advice);
  CHECK(found("4,9,1,-;nvme 0000:99:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer") ==
        Finding::good);
  CHECK(found("4,9,1,-;mlx5_core 0000:17:00.0: PCIe Bus Error: severity=Corrected") == Finding::advice);
  CHECK(found("6,9,1,-;pcieport 0000:16:01.0: AER: enabled with IRQ 24") == Finding::good);
  CHECK(found("3,9,1,-;DMAR: [DMA Read NO_PASID] Request device [17:00.0] fault addr 0xdead000") ==
        Finding::advice);
  CHECK(found("3,9,1,-;DMAR: [DMA Read NO_PASID] Request device [99:00.0] fault addr 0xdead000") ==
        Finding::good);
  CHECK(found("6,9,1,-;DMAR: Using default domain type") == Finding::good);
  CHECK(found("3,9,1,-;mlx5_core 0000:17:00.0 AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000c]") ==
        Finding::advice);
  CHECK(found("30,9,1,-;a program says: GID add failed") == Finding::good);  // facility 3
  CHECK(found(" SUBSYSTEM=GID add failed;") == Finding::good);               // of a record's dictionary
}

TEST_CASE("a kernel's log that is not there, not all there or none is never clean") {
  Tree tree("");
  tree.add(kGood);
  tree.add("dev/kmsg = 6,7000,1,-;something\n");
  CHECK(results_of("VF-N45", tree)[0].finding == Finding::unknown);
  CHECK(contains(results_of("VF-N45", tree)[0].text, "overwritten"));
  for (const char* entry :
       {"dev/kmsg -> null", "dev/kmsg -> /dev/null", "dev/kmsg -> kmsg", "dev/kmsg -> none"}) {
    CAPTURE(entry);
    tree.add(entry);
    CHECK(results_of("VF-N45", tree)[0].finding == Finding::unknown);
  }
  tree.remove("dev/kmsg");
  tree.add("dev/kmsg = no record\n");
  CHECK(results_of("VF-N45", tree)[0].finding == Finding::unknown);
}

TEST_CASE("the partition of an attached network is looked for in the table of its own port") {
  Tree tree("");
  tree.add(kGood + kInfiniband + kPartitions);
  const Inventory inventory = tree.scan();
  const SysRoot sys = tree.sys();
  const auto attached = [&](const std::string& pkey) {
    test::TempDir state;
    Record record;
    record.attachment = {"c1", "net1"};
    record.device_key = "0000:18:00.0";
    record.device = *DeviceId::parse(record.device_key);
    record.config = R"({"type":"vfrail","pkey":")" + pkey + R"("})";
    test::write_attachment(Attachments(state.path()), record);
    return results_of("VF-N44",
                      {.sys = sys, .inventory = inventory, .kernel = sys, .cni_state = state.path()})[0];
  };
  CHECK(attached("0x8004").finding == Finding::good);
  const CheckResult missing = attached("0x8005");
  CHECK(missing.finding == Finding::advice);
  CHECK(contains(missing.text, "partition 0x8005, which is not in the table of 0000:18:00.0"));
}

TEST_CASE("what of a fabric is not there is not evaluated: neither a file of the kernel nor a table") {
  Tree tree("");
  tree.add(kGood + kInfiniband);
  const std::string wanted = R"({"resourceList":[{"resourceName":"ib","selectors":{"pKeys":["0x0005"]}}]})";
  CHECK(results_of("VF-N44", tree)[0].finding == Finding::good);
  CHECK(results_of("VF-N44", tree, tree.scan(), wanted)[0].finding == Finding::unknown);
  tree.add(kInfinibandPort + "sm_lid -> sm_lid\n");
  CHECK(results_of("VF-N44", tree)[0].finding == Finding::unknown);
  // A port without a subnet manager is one finding, that of its state.
  tree.add(kInfinibandPort + "state = 2: INIT\n");
  CHECK(results_of("VF-N44", tree, tree.scan(), wanted)[0].finding == Finding::good);
}

TEST_CASE("lossless: what PFC, trust and the traffic class of RoCE are together") {
  const auto found = [](const DcbSettings& dcb, const std::string& added = "") {
    Tree tree("");
    tree.add(kGood);
    tree.add(added);
    return results_of("VF-N17", tree, tree.scan(), "", [&](const std::string& interface) {
      CHECK(interface == "eth1");
      return Result<std::optional<DcbSettings>>(std::optional(dcb));
    });
  };
  const std::string tclass = kPf + "infiniband/mlx5_0/tc/1/traffic_class = Global tclass=106\n";  // DSCP 26
  const std::string tos = "sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos = 106\n";
  const std::map<uint8_t, uint8_t> dscp = {{26, 3}};

  const CheckResults off = found({.lossless = 0});
  CHECK(off[0].finding == Finding::note);
  CHECK(contains(off[0].text, "eth1: no priority is lossless (PFC is off)"));
  CHECK(found({})[0].finding == Finding::unknown);  // the driver does not say
  CHECK(found({.lossless = 0x08, .dscp = dscp}, tclass)[0].finding == Finding::good);
  CHECK(found({.lossless = 0x08, .dscp = dscp})[0].finding == Finding::good);
  CHECK(found({.lossless = 0x09})[0].finding == Finding::good);  // with or without a VLAN

  const CheckResults other = found({.lossless = 0x20, .dscp = dscp}, tos);
  CHECK(other[0].finding == Finding::advice);
  CHECK(contains(other[0].text,
                 "eth1: RoCE is sent with traffic class 106, DSCP 26, which is priority 3; "
                 "lossless is priority 5"));
  const CheckResults ignored = found({.lossless = 0x08}, tclass);
  CHECK(ignored[0].finding == Finding::advice);
  CHECK(contains(ignored[0].text, "traffic class 106, which the port ignores"));
  const CheckResults untagged = found({.lossless = 0x18});
  CHECK(untagged[0].finding == Finding::note);
  CHECK(contains(untagged[0].text, "packets without a VLAN have priority 0; lossless is priorities 3, 4"));

  const std::array<uint8_t, 8> apart = {0, 0, 0, 3, 0, 0, 0, 0};
  CHECK(found({.lossless = 0x08, .traffic_class = apart, .dscp = dscp})[0].finding == Finding::good);
  const CheckResults together = found({.lossless = 0x10, .traffic_class = apart, .dscp = dscp});
  CHECK(contains(together[0].text, "lossless priority 4 shares traffic class 0"));
}

TEST_CASE("lossless: nothing is known of a driver without DCB, nor where netlink is not asked") {
  Tree tree("");
  tree.add(kGood);
  const Inventory inventory = tree.scan();
  const auto none = [](const std::string&) {
    return Result<std::optional<DcbSettings>>(std::optional<DcbSettings>());
  };
  const auto failing = [](const std::string&) {
    return Result<std::optional<DcbSettings>>(Error{Errc::system, EIO, "EIO"});
  };
  CHECK(results_of("VF-N17", tree, inventory, "", none)[0].finding == Finding::unknown);
  CHECK(results_of("VF-N17", tree, inventory, "", failing)[0].finding == Finding::unknown);
  CHECK(results_of("VF-N17", tree, inventory, "", ReadDcb())[0].finding == Finding::unknown);
}

TEST_CASE("congestion control: off for all priorities, or not shown by the driver") {
  Tree tree("");
  tree.add(kGood);
  const Inventory inventory = tree.scan();
  tree.add(kPf + "net/eth1/ecn/roce_np/enable/0 = 1\n" + kPf + "net/eth1/ecn/roce_np/enable/3 = 0\n");
  // Which priority RoCE has is not known without DCB.
  CHECK(results_of("VF-N18", tree, inventory, "", ReadDcb())[0].finding == Finding::good);
  tree.add(kPf + "net/eth1/ecn/roce_np/enable/0 = 0\n");
  const CheckResults off = results_of("VF-N18", tree, inventory, "", ReadDcb());
  CHECK(off[0].finding == Finding::advice);
  CHECK(contains(off[0].text, "eth1: congestion control (ECN) is off for all priorities (roce_np)"));
  tree.remove(kPf + "net/eth1/ecn");
  CHECK(results_of("VF-N18", tree, inventory)[0].finding == Finding::unknown);
}

TEST_CASE("the RDMA port of a free VF or sub-function is down with its netdev, which is no fault") {
  Tree tree("");
  tree.add(kGood);
  for (const FunctionKind kind : {FunctionKind::network, FunctionKind::sub_function}) {
    Inventory inventory = tree.scan();
    DeviceFacts& free = inventory.functions[1];
    free.kind = kind;
    free.netdevs = {{.name = "eth3"}};
    free.rdma = {
        {.name = "mlx5_3", .ports = {{.state = "DOWN", .link_layer = "Ethernet", .physical = "Disabled"}}}};
    CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::good);
    free.netdevs[0].up = true;
    CHECK(results_of("VF-N10", tree, inventory)[0].finding >= Finding::advice);
    inventory.functions[1].port.rdma = {{.state = "DOWN"}};
    CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::good);
  }
}

namespace {

// A node with a claim of its VF prepared, and serve's state of the offer.
struct ClaimNode {
  ClaimNode() {
    tree.add(kGood);
    tree.add("var/lib/kubelet/plugins_registry/vfrail.io-reg.sock = socket");
    tree.add("var/lib/kubelet/plugins/vfrail.io/dra.sock = socket");
    tree.add("var/lib/kubelet/pods/77/");
    REQUIRE(write_offer_state(run(), offer));
    ClaimRecord record{.claim = {"default", "nics", "uid-1"},
                       .pod = {"trainer-0", "77"},
                       .node_pool = "node-1",
                       .requests = {}};
    record.requests = {{"nic", {{"0000-17-00-0", "nvidia.com/hostdev", "0000:17:00.0"}}}};
    REQUIRE(write_claim(run(), record));
    REQUIRE(write_prepared(run(), {.owner = "uid-1",
                                   .asked = {},
                                   .files = {.paths = {kSpec}, .allocated_nodes = {}, .units = {}},
                                   .edits = std::vector<ContainerEdits>(1)}));
    write_spec("uverbs0");
  }
  std::string run() const { return tree.root() + "/run/vfrail"; }
  void write_spec(const std::string& verbs) const {
    CdiSpec spec{"nvidia.com/net-pci", "0000:17:00.0", {}};
    spec.edits.nodes.push_back({"/dev/infiniband/" + verbs, "/dev/infiniband/" + verbs, "rw"});
    const std::string path = tree.root() + kSpec;
    REQUIRE(write_cdi_spec(path, path + ".new", spec));
  }
  CheckResults results(const std::string& id) const {
    const SysRoot sys = tree.sys();
    const Inventory inventory = tree.scan();
    return results_of(id, {.sys = sys, .inventory = inventory, .kernel = sys, .run_dir = run()});
  }
  CheckResult only(const std::string& id) const {
    const CheckResults all = results(id);
    REQUIRE(all.size() == 1);
    UNSCOPED_INFO(all.front().text);
    return all.front();
  }

  const std::string kSpec = "/var/run/cdi/vfrail-nvidia.com-net-pci-0000:17:00.0.json";
  Tree tree{""};
  OfferState offer{.driver = "vfrail.io",
                   .socket = "/run/vfrail-dra/node.sock",
                   .resources = {"nvidia.com/hostdev"},
                   .node = "node-1",
                   .published = true};
};

}  // namespace

TEST_CASE("where nothing goes by claims their checks do not apply") {
  Tree tree("");
  tree.add(kGood);
  for (const char* id : {"VF-N47", "VF-N48", "VF-N49", "VF-N50", "VF-N51"}) {
    CAPTURE(id);
    CHECK(results_of(id, tree).front().finding == Finding::not_applicable);
  }
}

TEST_CASE("a node whose claims are in order has nothing to say of them") {
  const ClaimNode node;
  for (const char* id : {"VF-N47", "VF-N49", "VF-N50", "VF-N51"}) {
    CAPTURE(id);
    CHECK(node.only(id).finding == Finding::good);
  }
  // The agent's socket is in the pod alone.
  CHECK(node.only("VF-N48").finding == Finding::unknown);
}

TEST_CASE("each fault of DRA on a node has its finding") {
  ClaimNode node;
  SECTION("no socket in kubelet's folder") {
    node.tree.remove("var/lib/kubelet/plugins_registry/vfrail.io-reg.sock");
    CHECK(node.only("VF-N47").finding == Finding::fault);
    CHECK(contains(node.only("VF-N47").text, "plugins_registry/vfrail.io-reg.sock is not there"));
  }
  SECTION("serve is away while a claim is prepared") {
    REQUIRE(remove_offer_state(node.run()));
    CHECK(node.only("VF-N47").finding == Finding::fault);
    CHECK(contains(node.only("VF-N47").text, "1 claim prepared, and vfrail serve does not run"));
    CHECK(node.only("VF-N48").finding == Finding::not_applicable);
  }
  SECTION("no agent behind its socket") {
    node.tree.add("run/vfrail-dra/node.sock = none");
    CHECK(node.only("VF-N48").finding == Finding::fault);
  }
  SECTION("the devices are not published") {
    node.offer.published = false;
    node.offer.reason = "the API server is away";
    node.offer.id = "VF-TIMED-OUT";
    REQUIRE(write_offer_state(node.run(), node.offer));
    CHECK(node.only("VF-N49").finding == Finding::advice);
    CHECK(contains(node.only("VF-N49").text, "not published by vfrail.io: the API server is away"));
    CHECK(contains(node.only("VF-N49").remedy, "vfrail explain VF-TIMED-OUT"));
  }
  SECTION("the pod is gone") {
    node.tree.remove("var/lib/kubelet/pods/77");
    CHECK(node.only("VF-N50").finding == Finding::advice);
    CHECK(contains(node.only("VF-N50").text, "claim default/nics of pod trainer-0 is prepared"));
  }
  SECTION("a damaged record") {
    std::ofstream(node.run() + "/claims/uid-2.json") << "{";
    CHECK(node.only("VF-N50").finding == Finding::advice);
    CHECK(contains(node.only("VF-N50").text, "claims/uid-2.json cannot be read"));
  }
  SECTION("no spec") {
    node.tree.remove(node.kSpec.substr(1));
    CHECK(node.only("VF-N51").finding == Finding::fault);
    CHECK(contains(node.only("VF-N51").text, node.kSpec + " is not there"));
  }
  SECTION("a spec with the numbers of yesterday") {
    node.write_spec("uverbs7");
    CHECK(node.only("VF-N51").finding == Finding::fault);
    CHECK(contains(node.only("VF-N51").text, "has uverbs7, and device 0000:17:00.0 has other numbers now"));
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

TEST_CASE("reading the CDI specs leaves no trace, which would pass for the runtime's") {
  Tree tree("");
  tree.add(kGood);
  tree.add("var/run/cdi/a.json = {}");
  const std::string file = tree.sys().path("var/run/cdi/a.json");
  const timespec times[2] = {{0, 0}, {0, UTIME_OMIT}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  static_cast<void>(results_of("VF-N35", tree));
  struct stat info {};
  REQUIRE(::stat(file.c_str(), &info) == 0);
  CHECK(info.st_atim.tv_sec == 0);
}

TEST_CASE("the report has each finding with id and remedy, and how many there are of each") {
  Tree tree("a100_bond");
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  const auto reports = check_node({sys, inventory, sys});
  const std::string text = render_checks(reports, {.all = true});
  CHECK(contains(text, "advice  VF-N10 rdma-ports"));
  CHECK(contains(text, "\n        remedy: it is switched off on this node: ip link set ibp75s0 up"));
  CHECK(contains(text, " unknown, "));
  const std::string schema = test::source_text("plugin/admin/report/schema.json");
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

TEST_CASE("a configuration with mountCheck wants vfrail-check beside the CNI executable") {
  Tree tree("");
  tree.add(kGood);
  const std::string config =
      R"({"resourceList":[{"resourceName":"x","mountCheck":true,"selectors":{"isRdma":true}}]})";
  const CheckResults found = results_of("VF-N31", tree, tree.scan(), config);
  REQUIRE(found.size() == 1);
  CHECK(found[0].finding == Finding::advice);
  CHECK(contains(found[0].text, "has no vfrail-check"));
  CHECK(results_of("VF-N31", tree).front().finding == Finding::good);
  tree.add("opt/cni/bin/vfrail-check/\n");
  CHECK(results_of("VF-N31", tree, tree.scan(), config).front().finding == Finding::good);
}

TEST_CASE("what a node does not have is not ok, and says what is missing") {
  Tree tree("");
  tree.add("sys/module/ib_core/parameters/netns_mode = N\nsys/bus/pci/devices/\n");
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  std::map<std::string, std::string> found;
  for (const auto& [id, name, results] : check_node({sys, inventory, sys}))
    found[id] = std::string(word_of(results[0].finding)) + ": " + results[0].text;
  for (const char* id : {"VF-N08", "VF-N09", "VF-N10", "VF-N11", "VF-N14", "VF-N15", "VF-N16", "VF-N17",
                         "VF-N18", "VF-N20", "VF-N21", "VF-N22", "VF-N23", "VF-N24", "VF-N25", "VF-N26",
                         "VF-N27", "VF-N29", "VF-N12", "VF-N38", "VF-N43", "VF-N44", "VF-N46"}) {
    CAPTURE(id, found[id]);
    CHECK(found[id].starts_with("not-applicable: no "));
  }
  CHECK(found["VF-N10"] == "not-applicable: no RDMA device in the host");
  CHECK(found["VF-N26"] == "not-applicable: no GPU");
}

TEST_CASE("doctor prints the worst first, and what is ok or not applicable as counts") {
  Tree tree("a100_bond");
  DoctorOptions options;
  options.root = tree.root();
  const std::string folded = test::run([&] { return doctor(options); }).out;
  INFO(folded);
  CHECK(folded.starts_with("advice  VF-N04 "));
  CHECK(folded.find("\nadvice ") < folded.find("\nnote "));
  CHECK_FALSE(contains(folded, "\nok "));
  CHECK(contains(folded, " ok, "));
  CHECK(contains(folded, " not-applicable; --all shows each\n"));
  options.all = true;
  const std::string all = test::run([&] { return doctor(options); }).out;
  CHECK(contains(all, "\nok      VF-N"));
  CHECK(contains(all, "\n-       VF-N"));
  CHECK_FALSE(contains(all, "--all"));
}

TEST_CASE("a wrong configuration hides no check, and the exit code is 2") {
  Tree tree("");
  tree.add(kGood + "wrong.json = {\n");
  DoctorOptions options;
  options.root = tree.root();
  options.config_file = tree.root() + "/wrong.json";
  options.all = true;
  const test::Run found = test::run([&] { return doctor(options); });
  CHECK(found.code == 2);
  CHECK(contains(found.out, "VF-N04"));
  CHECK(contains(found.err, "wrong.json"));
}

// The nodes of tests/data: what each has that a good one has not, as far as its tree shows it.
TEST_CASE("known nodes have the findings that their reports describe, and no others") {
  const std::string shared = "VF-N04 advice: shared: every pod sees";
  const std::map<std::string, std::vector<std::string>> kKnown = {
      // One InfiniBand card without a cable; mlx5_bond_0 is the host's uplink, not an InfiniBand card.
      {"a100_bond",
       {shared, "VF-N10 advice: 0000:4b:00.0 (ibp75s0, mlx5_0): port 1 of mlx5_0 is DOWN, Disabled",
        "VF-N14 note: 0000:18:00.0 (eno1, mlx5_bond_0) has RDMA and is the host's: ",
        "VF-N25 note: no RDMA device is below the host bridge of GPU 0000:31:00.0"}},
      {"v100_ib", {shared}},
      {"roce_rails",
       {shared, "VF-N14 note: 0000:02:00.0 (eth0, mlx5_0) has RDMA and is the host's: ",
        "VF-N25 note: the nearest RDMA device of GPU 0000:1b:00.0 0000:3e:00.0 "}},
      {"erdma_vm",
       {shared, "VF-N10 advice: 0000:9c:00.0 (rocep156s0): port 1 of rocep156s0 is DOWN, Disabled",
        "VF-N38 note: RDMA devices are named by their slot or GUID"}},
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
        "VF-N16 advice: 0000:03:00.1 (enp3s0f1np1, rocep3s0f1) has MTU 1500",
        "VF-N38 note: RDMA devices are named by their slot or GUID"}},
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
  host.remove("sys/module/ib_core");
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

TEST_CASE("kubelet and the CNI plugins are looked for in the folders that serve was started with") {
  Tree tree("");
  tree.add(kGood);
  for (const auto& [from, to] :
       {std::pair("var/lib/kubelet", "var/lib/k3s"), {"opt/cni/bin", "var/lib/cni/bin"}}) {
    std::filesystem::create_directories(std::filesystem::path(tree.sys().path(to)).parent_path());
    std::filesystem::rename(tree.sys().path(from), tree.sys().path(to));
  }
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  CheckedNode node{.sys = sys, .inventory = inventory, .kernel = sys};
  CHECK(results_of("VF-N31", node).front().finding == Finding::unknown);
  CHECK(results_of("VF-N28", node).front().finding == Finding::unknown);
  node.kubelet_root = "/var/lib/k3s";
  node.cni_bin_dir = "/var/lib/cni/bin/";
  for (const char* id : {"VF-N28", "VF-N30", "VF-N31"}) {
    const CheckResults results = results_of(id, node);
    CAPTURE(id);
    CHECK((results.empty() || results.front().finding == Finding::good));
  }
  node.cni_bin_dir = "/";
  CHECK(results_of("VF-N31", node).front().finding == Finding::advice);
}

TEST_CASE("the RDMA mode is compared with what the resources and networks of this node need") {
  const std::string own = R"({"resourceName":"vf","selectors":{"isRdma":true,"isPf":false}})";
  const std::string shared =
      R"("configList":[{"resourceName":"shared","rdmaHcaMax":9,"hostUse":"warn","selectors":{"ifNames":["eth1"]}}])";
  const auto found = [&](const std::string& mode, const std::string& config) {
    Tree tree("");
    tree.add(kGood + "sys/module/ib_core/parameters/netns_mode = " + mode + "\n");
    return results_of("VF-N04", tree, tree.scan(), config).front();
  };
  const std::string sharing = "{" + shared + "}";
  const std::string alone = R"({"resourceList":[)" + own + "]}";
  const std::string both = R"({"resourceList":[)" + own + "]," + shared + "}";
  CHECK(found("Y", sharing).finding == Finding::good);
  CHECK(found("Y", alone).finding == Finding::advice);
  CHECK(found("Y", both).finding == Finding::note);
  CHECK(contains(found("Y", both).text, "could use none"));
  CHECK(found("Y", "").finding == Finding::advice);
  CHECK(found("N", alone).finding == Finding::good);
  for (const std::string& config : {sharing, both}) {
    CHECK(found("N", config).finding == Finding::fault);
    CHECK(contains(found("N", config).text, "rdma/shared shares RDMA devices, but RDMA is in exclusive"));
  }
}

TEST_CASE("an older Linux whose RDMA is in exclusive mode can move devices") {
  Tree tree("");
  tree.add(kGood + "proc/sys/kernel/osrelease = 4.18.0-553.el8_10.x86_64\n");
  CHECK(results_of("VF-N03", tree)[0].finding == Finding::good);
  tree.add("sys/module/ib_core/parameters/netns_mode = Y\n");
  CHECK(results_of("VF-N03", tree)[0].finding == Finding::unknown);
}

TEST_CASE("the versions that Linux gave its modules up to 5.6 are of one origin with none") {
  const auto found = [](const std::string& core, const std::string& ib) {
    Tree tree("");
    tree.add(kGood);
    if (!core.empty()) tree.add("sys/module/mlx5_core/version = " + core + "\n");
    if (!ib.empty()) tree.add("sys/module/mlx5_ib/version = " + ib + "\n");
    return results_of("VF-N02", tree)[0].finding;
  };
  CHECK(found("5.0-0", "") == Finding::good);
  CHECK(found("5.0-0", "5.0-0") == Finding::good);
  CHECK(found("4.9-0.1.7", "5.0-0") == Finding::fault);
  CHECK(found("24.10-1.1.4", "24.10-1.1.4") == Finding::good);
}

TEST_CASE("whether whereabouts has its kubeconfig is unknown where the folder is not mounted") {
  Tree tree("");
  tree.add(kGood + "opt/cni/bin/whereabouts/\n");
  tree.remove("etc/cni");
  CHECK(results_of("VF-N32", tree)[0].finding == Finding::unknown);
}

TEST_CASE("VFs that are not enabled are compared with the other cards of the model, and with the resources") {
  const std::string second =
      "pci pci0000:17/0000:18:00.0 class=0x020000 vendor=15b3 device=101d driver=mlx5_core net=eth2:1 "
      "carrier=1 rdma=mlx5_5:Ethernet:ACTIVE:LinkUp:1\n";
  const std::string folder = "sys/devices/pci0000:17/0000:18:00.0/";
  const std::string enabled = "sriov_totalvfs = 8\n" + folder + "sriov_numvfs = 0\n";
  const auto found = [&](const std::string& added, const std::string& selector) {
    Tree tree("");
    tree.add(kGood + second + added);
    return results_of("VF-N06", tree, tree.scan(),
                      selector.empty()
                          ? ""
                          : R"({"resourceList":[{"resourceName":"vf","selectors":)" + selector + "}]}")
        .front();
  };
  const CheckResult forgotten = found(folder + enabled, "");
  CHECK(forgotten.finding == Finding::advice);
  CHECK(contains(forgotten.text, "0000:18:00.0 (eth2, mlx5_5): 0 of 8, and others of this model have some"));
  CHECK(contains(forgotten.remedy, "0000:18:00.0/sriov_numvfs"));
  CHECK(contains(found("", "").remedy, "mlxconfig -d 0000:18:00.0 set SRIOV_EN=1"));
  CHECK(found(folder + enabled, R"({"isPf":false})").finding == Finding::advice);
  const CheckResult empty = found(folder + enabled, R"({"pfNames":["eth2#0-3"]})");
  CHECK(empty.finding == Finding::fault);
  CHECK(contains(empty.text, "intel.com/vf has no device: it selects VFs, and of 0000:18:00.0"));
}

TEST_CASE("where the kernel binds no drivers to VFs, the remedy is to enable that first") {
  Tree tree("");
  tree.add(kGood + kPf + "sriov_drivers_autoprobe = 0\n");
  tree.remove("sys/devices/pci0000:16/0000:16:01.0/0000:17:00.2/driver");
  CHECK(results_of("VF-N07", tree)[0].remedy.starts_with(
      "echo 1 > /sys/bus/pci/devices/0000:17:00.0/sriov_drivers_autoprobe; then echo ADDRESS"));
}

TEST_CASE("a port that is down is a fault if a resource has it, else a note, and one finding alone") {
  const auto id = GENERATE(as<std::string>(), "VF-N09", "VF-N10");
  Tree tree("");
  const bool by_carrier = id == "VF-N09";
  tree.add(kGood + kPf + "infiniband/mlx5_0/ports/1/state = 1: DOWN\n" +
           (by_carrier ? kPf + "net/eth1/carrier = 0\n" : ""));
  const auto config = [](const std::string& vendor) {
    return R"({"resourceList":[{"resourceName":"x","selectors":{"vendors":[")" + vendor + R"("]}}]})";
  };
  CAPTURE(id);
  CHECK(results_of(id, tree, tree.scan())[0].finding == Finding::advice);
  CHECK(results_of(id, tree, tree.scan(), config("15b3"))[0].finding == Finding::fault);
  CHECK(results_of(id, tree, tree.scan(), config("8086"))[0].finding == Finding::note);
  const char* other = by_carrier ? "VF-N10" : "VF-N09";
  CHECK(results_of(other, tree, tree.scan(), config("15b3"))[0].finding == Finding::good);
}

TEST_CASE("a free VF on InfiniBand waits for its GUID, unless a resource's health needs it") {
  Tree tree("");
  tree.add(kGood);
  Inventory inventory = tree.scan();
  DeviceFacts& vf = inventory.functions[1];
  vf.rdma = {{.name = "mlx5_9",
              .ports = {{.state = "DOWN", .link_layer = "InfiniBand"}},
              .guid = "0000:0000:0000:0000"}};
  vf.link_type = "infiniband";
  const auto config = [](const char* health) {
    return R"({"resourceList":[{"resourceName":"x","health":{"guid":)" + std::string(health) +
           R"(},"selectors":{"vendors":["15b3"]}}]})";
  };
  CHECK(results_of("VF-N08", tree, inventory)[0].finding == Finding::advice);
  CHECK(results_of("VF-N08", tree, inventory, config("false"))[0].finding == Finding::advice);
  CHECK(results_of("VF-N08", tree, inventory, config("true"))[0].finding == Finding::fault);
  CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::good);
  vf.attached = true;
  CHECK(results_of("VF-N08", tree, inventory)[0].finding == Finding::fault);
  CHECK(results_of("VF-N10", tree, inventory)[0].finding == Finding::fault);
}

TEST_CASE("GPUDirect RDMA without nvidia_peermem needs the open modules, and Linux 5.12") {
  const auto found = [](const std::string& taint, const std::string& release, const char* vendor = "10de") {
    Tree tree("");
    tree.add(kGood + "pci pci0000:16/0000:16:02.0/0000:19:00.0 class=0x030200 vendor=" + vendor +
             " device=20b5 numa=0 driver=nvidia\nsys/module/nvidia/\n" + taint +
             "proc/sys/kernel/osrelease = " + release + "\n");
    return results_of("VF-N26", tree)[0].finding;
  };
  const std::string open = "sys/module/nvidia/taint = OE\n";
  const std::string closed = "sys/module/nvidia/taint = POE\n";
  CHECK(found(open, "6.1.0-13-amd64") == Finding::good);
  CHECK(found(open, "5.4.0-150-generic") == Finding::advice);
  CHECK(found(open, "of mine") == Finding::unknown);
  CHECK(found(closed, "6.1.0-13-amd64") == Finding::advice);
  CHECK(found("", "6.1.0-13-amd64") == Finding::unknown);
  CHECK(found(open, "6.1.0-13-amd64", "1002") == Finding::unknown);
  CHECK(found(closed + "sys/module/nvidia_peermem/\n", "6.1.0-13-amd64") == Finding::good);
}

TEST_CASE("the nearest rail of a GPU: an address of the host does not exclude it, and PHB is a note") {
  Tree tree("");
  tree.add(kGood +
           "pci pci0000:16/0000:16:02.0/0000:19:00.0 class=0x030200 vendor=10de device=20b5 numa=0 "
           "driver=nvidia\n");
  Inventory inventory = tree.scan();
  const CheckResult behind = results_of("VF-N25", tree, inventory)[0];
  CHECK(behind.finding == Finding::note);
  CHECK(contains(behind.text, "is PHB, and NCCL uses GPUDirect RDMA up to PXB"));
  CHECK(contains(behind.remedy, "preferredAllocation: pcie"));
  for (DeviceFacts& function : inventory.functions)
    function.host_use = {{HostUseFact::Kind::address, "it has 10.0.0.1"}};
  CHECK(contains(results_of("VF-N25", tree, inventory)[0].text, "is PHB"));
}

TEST_CASE("what cannot be read for any device is unknown, never good") {
  Tree tree("");
  tree.add(kGood +
           "pci pci0000:16/0000:16:02.0/0000:19:00.0 class=0x030200 vendor=10de device=20b5 numa=0 "
           "driver=nvidia\n" +
           kPf + "iommu_group -> ../../../../kernel/iommu_groups/9\n" + kPf + "numa_node = -1\n");
  for (const char* gone : {"current_link_speed", "max_link_speed", "infiniband/mlx5_0/ports/1/counters"})
    tree.remove(kPf + gone);
  tree.remove("proc/sys/kernel/numa_balancing");
  Inventory inventory = tree.scan();
  inventory.unclean_unread = "EACCES";
  for (const char* id : {"VF-N05", "VF-N13", "VF-N19", "VF-N22", "VF-N23", "VF-N33", "VF-N40"}) {
    CAPTURE(id);
    CHECK(results_of(id, tree, inventory)[0].finding == Finding::unknown);
  }
}

TEST_CASE("in the plugin's container some of the host's folders have their own path") {
  Tree host("");
  host.add(kGood);
  Tree own("");
  own.add(
      "var/lib/kubelet/device-plugins/kubelet.sock = socket\nvar/lib/kubelet/pod-resources/kubelet.sock = "
      "socket\n"
      R"(var/run/cdi/a.json = {"kind":"x.com/net","devices":[{"name":"one","containerEdits":)"
      R"({"hooks":[{"hookName":"createRuntime","path":"/usr/bin/hook"}]}}]})"
      "\nproc/sys/kernel/random/boot_id = 8f7e\n"
      "proc/self/limits = Max locked memory         65536                65536                bytes\n");
  for (const char* gone : {"var", "proc/7", "etc", "usr"}) host.remove(gone);
  const SysRoot sys = host.sys();
  const SysRoot kernel = own.sys();
  const Inventory inventory = host.scan();
  test::TempDir state;
  const CheckedNode node{.sys = sys, .inventory = inventory, .kernel = kernel, .cni_state = state.path()};
  for (const char* id : {"VF-N28", "VF-N30", "VF-N35"}) {
    CAPTURE(id);
    CHECK(results_of(id, node)[0].finding == Finding::good);
  }
  // The folder of the hook is not mounted.
  CHECK(results_of("VF-N37", node)[0].finding == Finding::unknown);
  const CheckResult memlock = results_of("VF-N36", node)[0];
  CHECK(memlock.finding == Finding::advice);
  CHECK(contains(memlock.text, "this container may lock 64 KiB"));

  CHECK(results_of("VF-N31", node)[0].finding == Finding::unknown);
  Record record;
  record.attachment = {"c1", "net1"};
  record.device_key = "0000:17:00.1";
  record.boot_id = "8f7d";
  test::write_attachment(Attachments(state.path()), record);
  CHECK(results_of("VF-N31", node)[0].finding == Finding::unknown);
  record.attachment = {"c2", "net1"};
  record.device_key = "0000:17:00.2";
  record.boot_id = "8f7e";
  test::write_attachment(Attachments(state.path()), record);
  CHECK(results_of("VF-N31", node)[0].finding == Finding::good);
}

TEST_CASE("a low limit of the runtime does not matter where every resource has memlock") {
  Tree tree("");
  tree.add(kGood +
           "proc/7/limits = Max locked memory         65536                65536                bytes\n");
  const auto config = [](const char* memlock) {
    return R"({"resourceList":[{"resourceName":"x",)" + std::string(memlock) +
           R"("selectors":{"isRdma":true}}]})";
  };
  CHECK(results_of("VF-N36", tree, tree.scan(), config(""))[0].finding == Finding::advice);
  CHECK(results_of("VF-N36", tree, tree.scan(), config("\"memlock\":true,"))[0].finding == Finding::good);
}

TEST_CASE("where the kernel's log cannot be read the counters of PCIe speak") {
  Tree tree("");
  tree.add(kGood);
  tree.remove("dev/kmsg");
  CHECK(results_of("VF-N45", tree)[0].finding == Finding::unknown);
  tree.add(kPf + "aer_dev_correctable | RxErr 3\n" + kPf + "aer_dev_correctable | TOTAL_ERR_COR 3\n" + kPf +
           "aer_dev_fatal | TOTAL_ERR_FATAL 0\n");
  const CheckResults corrected = results_of("VF-N45", tree);
  CHECK(corrected[0].finding == Finding::note);
  CHECK(contains(corrected[0].text, "PCIe has counted correctable errors since boot: 0000:17:00.0 (3)"));
  tree.add("sys/bus/pci/devices/0000:16:01.0/aer_dev_nonfatal | TOTAL_ERR_NONFATAL 1\n");
  CHECK(results_of("VF-N45", tree)[0].finding == Finding::advice);
}

TEST_CASE("the settings of rails are those of this process' own namespace, if that is the host's") {
  Tree host("");
  host.add(kGood);
  host.add(kTwoRails);
  host.remove("proc/sys");
  Tree own("");
  own.add(kTwoRails);
  const SysRoot sys = host.sys();
  const SysRoot kernel = own.sys();
  const Inventory inventory = host.scan();
  const CheckedNode node{.sys = sys, .inventory = inventory, .kernel = kernel};
  CHECK(results_of("VF-N43", node)[0].finding == Finding::advice);
  own.remove("proc/sys/net/core");
  CHECK(results_of("VF-N43", node)[0].finding == Finding::unknown);
}
