#include "plugin/device/inventory/inventory.h"

#include "tests/plugin/tree.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <linux/capability.h>

using namespace vfrail;
using namespace vfrail::plugin;
using test::function;
using test::Tree;

TEST_CASE("all network functions are found, in the order of their addresses, and nothing else") {
  const Inventory inventory = Tree("igb_node").scan();
  std::vector<std::string> found;
  for (const DeviceFacts& each : inventory.functions) found.push_back(each.address.text());
  CHECK(found == std::vector<std::string>{"0000:21:00.0", "0000:21:10.0", "0000:21:10.2", "0000:21:10.4",
                                          "0000:21:10.6", "0000:41:00.0", "0000:41:10.0", "0000:41:10.2",
                                          "0000:41:10.4", "0000:41:10.6"});
}

TEST_CASE("the facts of a VF are read") {
  const Inventory inventory = Tree("igb_node").scan();
  const DeviceFacts& vf = function(inventory, "0000:41:10.4");
  CHECK(vf.class_code == "0x020000");
  CHECK(vf.vendor == "8086");
  CHECK(vf.device == "10ca");
  CHECK(vf.subsystem_vendor == "8086");
  CHECK(vf.subsystem_device == "a03c");
  CHECK(vf.driver.name() == "igbvf");
  CHECK(vf.numa_node == 1);
  CHECK(vf.pf->text() == "0000:41:00.0");
  CHECK(vf.pf_name == "eth1");
  CHECK(vf.vf_index == 2);
  CHECK(vf.link_type == "ether");
  CHECK(vf.iommu_group == "23");
  CHECK_FALSE(vf.vfio_noiommu);
  REQUIRE(vf.netdevs.size() == 1);
  CHECK(vf.netdevs[0].name == "eth8");
  CHECK(vf.netdevs[0].mac.text() == "52:54:00:41:10:02");
  CHECK(vf.netdevs[0].mtu == 1500);
  CHECK(vf.netdevs[0].carrier);
  CHECK_FALSE(vf.away());
}

TEST_CASE("numbers outside the kernel's range are not truncated") {
  Tree tree("igb_node");
  const std::string vf = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0";
  tree.add(vf + "/numa_node = 4294967295");
  tree.add(
      "sys/bus/auxiliary/devices/mlx5_core.sf.4 -> ../../../devices/pci0000:20/0000:20:00.0/0000:21:10.0/sf");
  tree.add(vf + "/sf/sfnum = 4294967296");
  const Inventory inventory = tree.scan();
  CHECK_FALSE(function(inventory, "0000:21:10.0").numa_node);
  for (const DeviceFacts& one : inventory.functions) CHECK(one.kind != FunctionKind::sub_function);
}

TEST_CASE("a sub-function with an invalid device id is left out, and is not its parent once more") {
  Tree tree("igb_node");
  tree.add("sys/bus/auxiliary/devices/a b -> ../../../devices/pci0000:20/0000:20:00.0/0000:21:10.0/a b");
  tree.add("sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/a b/sfnum = 4");
  const Inventory inventory = tree.scan();
  for (const DeviceFacts& one : inventory.functions) CHECK(one.kind != FunctionKind::sub_function);
}

TEST_CASE("the facts of a PF are read, and it has no PF name of its own") {
  const Inventory inventory = Tree("igb_node").scan();
  const DeviceFacts& pf = function(inventory, "0000:21:00.0");
  CHECK_FALSE(pf.is_vf());
  CHECK(pf.pf_name.empty());
  CHECK(pf.vf_index == -1);
  CHECK(pf.total_vfs == 7);
  CHECK(pf.num_vfs == 4);
}

TEST_CASE("an RDMA device is read with its character devices") {
  const Inventory inventory = Tree("igb_node").scan();
  const DeviceFacts& vf = function(inventory, "0000:21:10.2");
  REQUIRE(vf.rdma.size() == 1);
  CHECK(vf.rdma[0].name == "mlx5_1");
  CHECK(vf.rdma[0].uverbs == "uverbs1");
  REQUIRE(vf.rdma[0].ports.size() == 1);
  CHECK(vf.rdma[0].ports[0].state == "ACTIVE");
  CHECK(vf.rdma[0].ports[0].link_layer == "Ethernet");
  CHECK(vf.rdma[0].ports[0].umad == "umad1");
  CHECK(vf.rdma[0].ports[0].issm.empty());
  CHECK(vf.rdma_capable);
  CHECK(inventory.rdma_cm);
}

TEST_CASE("every port of every RDMA device of a function has its own umad and issm") {
  Tree tree("");
  tree.add(R"(
    sys/bus/pci/devices/0000:05:00.0/class = 0x020700
    sys/bus/pci/devices/0000:05:00.0/vendor = 0x15b3
    sys/bus/pci/devices/0000:05:00.0/net/ib0/type = 32
    sys/bus/pci/devices/0000:05:00.0/infiniband/mlx4_0/ports/1/state = 4: ACTIVE
    sys/bus/pci/devices/0000:05:00.0/infiniband/mlx4_0/ports/2/state = 1: DOWN
    sys/bus/pci/devices/0000:05:00.0/infiniband/mlx4_0/ports/1/pkeys/0 = 0xffff
    sys/bus/pci/devices/0000:05:00.0/infiniband/mlx4_1/ports/1/state = 2: INIT
    sys/bus/pci/devices/0000:05:00.0/infiniband_verbs/uverbs3/ibdev = mlx4_0
    sys/bus/pci/devices/0000:05:00.0/infiniband_verbs/uverbs7/ibdev = mlx4_1
    sys/bus/pci/devices/0000:05:00.0/infiniband_cm/ucm3/ibdev = mlx4_0
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad4/ibdev = mlx4_0
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad4/port = 1
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad5/ibdev = mlx4_0
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad5/port = 2
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/issm5/ibdev = mlx4_0
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/issm5/port = 2
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad9/ibdev = mlx4_1
    sys/bus/pci/devices/0000:05:00.0/infiniband_mad/umad9/port = 1
  )");
  const Inventory inventory = tree.scan();
  const DeviceFacts& hca = function(inventory, "0000:05:00.0");
  REQUIRE(hca.rdma.size() == 2);
  REQUIRE(hca.rdma[0].ports.size() == 2);
  CHECK(hca.rdma[0].uverbs == "uverbs3");
  CHECK(hca.rdma[0].ucm == "ucm3");
  CHECK(hca.rdma[0].ports[0].umad == "umad4");
  CHECK(hca.rdma[0].ports[0].issm.empty());
  CHECK(hca.rdma[0].ports[1].umad == "umad5");
  CHECK(hca.rdma[0].ports[1].issm == "issm5");
  CHECK(hca.rdma[0].ports[1].state == "DOWN");
  CHECK(hca.rdma[1].uverbs == "uverbs7");
  CHECK(hca.rdma[1].ports[0].umad == "umad9");
  CHECK(hca.link_type == "infiniband");
  CHECK(hca.pkey == "0xffff");
}

TEST_CASE("the PF's name is its uplink also in switchdev mode, where representors surround it") {
  const Inventory inventory = Tree("mlx5_switchdev").scan();
  CHECK(function(inventory, "0000:03:00.3").pf_name == "enp3s0f0np0");
  CHECK(function(inventory, "0000:03:00.3").vf_index == 1);
  CHECK(function(inventory, "0000:03:00.0").netdevs.front().name == "enp3s0f0np0");
}

TEST_CASE("the PF's name in legacy mode is not a scalable function's representor") {
  CHECK(function(Tree("mlx5_switchdev").scan(), "0000:03:01.2").pf_name == "enp3s0f1np1");
}

TEST_CASE("a VF in a pod keeps its identity, its link type and its RDMA capability") {
  Tree tree("igb_node");
  const Inventory before = tree.scan();
  tree.move_to_pod("0000:21:10.0");
  const Inventory after = tree.scan();
  const DeviceFacts& vf = function(after, "0000:21:10.0");
  CHECK(vf.away());
  CHECK(vf.rdma.empty());
  CHECK(vf.netdevs.empty());
  CHECK(vf.rdma_capable);
  CHECK(vf.rdma_capable_why == "it has uverbs0, whose RDMA device is in another network namespace");
  CHECK(vf.link_type == "ether");
  CHECK(vf.pf_name == "eth0");
  CHECK(vf.vf_index == function(before, "0000:21:10.0").vf_index);
  CHECK(vf.verbs_nodes == std::vector<std::string>{"uverbs0"});
}

TEST_CASE("a VF bound to vfio-pci is neither in a pod nor RDMA-capable") {
  const Inventory inventory = Tree("mlx5_switchdev").scan();
  const DeviceFacts& vf = function(inventory, "0000:03:00.5");
  CHECK(vf.driver.name() == "vfio-pci");
  CHECK_FALSE(vf.away());
  CHECK_FALSE(vf.rdma_capable);
  CHECK(vf.iommu_group == "34");
}

TEST_CASE("a function without a driver is in the inventory") {
  CHECK_FALSE(function(Tree("mlx5_switchdev").scan(), "0000:03:01.2").driver.is_bound());
}

TEST_CASE("NUMA node -1 is no NUMA node") {
  CHECK_FALSE(function(Tree("management").scan(), "0000:05:00.0").numa_node);
}

TEST_CASE("the ACPI index is read") {
  CHECK(function(Tree("mlx5_switchdev").scan(), "0000:03:00.0").acpi_index == "5");
}

TEST_CASE("the netdev of a virtio function is found below its virtio child") {
  const Inventory inventory = Tree("management").scan();
  const DeviceFacts& nic = function(inventory, "0000:00:05.0");
  REQUIRE(nic.netdevs.size() == 1);
  CHECK(nic.netdevs[0].name == "eth9");
}

TEST_CASE("a vDPA device belongs to the PCI function in whose folder it is") {
  Tree tree("mlx5_switchdev");
  tree.add(R"(
    sys/bus/vdpa/devices/vdpa2 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.4/vdpa2
    sys/devices/pci0000:00/0000:00:02.0/0000:03:00.4/vdpa2/driver -> ../../../../../bus/vdpa/drivers/vhost_vdpa
    sys/devices/pci0000:00/0000:00:02.0/0000:03:00.4/vdpa2/vhost-vdpa-0/dev = 236:0
  )");
  const Inventory inventory = tree.scan();
  const DeviceFacts& vf = function(inventory, "0000:03:00.4");
  REQUIRE(vf.vdpa);
  CHECK(vf.vdpa->name == "vdpa2");
  CHECK(vf.vdpa->driver.name() == "vhost_vdpa");
  CHECK(vf.vdpa->node == "vhost-vdpa-0");
  CHECK_FALSE(function(inventory, "0000:03:00.3").vdpa);
}

TEST_CASE("a sub-function's vDPA device is not its PF's") {
  Tree tree("mlx5_switchdev");
  tree.add(R"(
    sys/bus/vdpa/devices/vdpa0 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/vdpa0
    sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4/vdpa0/driver -> ../../../../../../bus/vdpa/drivers/vhost_vdpa
  )");
  CHECK_FALSE(function(tree.scan(), "0000:03:00.0").vdpa);
}

TEST_CASE("an IOMMU group without an IOMMU and a uio device are recognised") {
  Tree tree("");
  tree.add(R"(
    sys/bus/pci/devices/0000:05:00.0/class = 0x020000
    sys/bus/pci/devices/0000:05:00.0/vendor = 0x8086
    sys/bus/pci/devices/0000:05:00.0/iommu_group -> ../../../../kernel/iommu_groups/3
    sys/bus/pci/devices/0000:05:00.0/uio/uio4/
    sys/kernel/iommu_groups/3/name = vfio-noiommu
  )");
  tree.add("sys/bus/pci/devices/0000:05:00.0/iommu_group -> ../../../../kernel/iommu_groups/3");
  const Inventory inventory = tree.scan();
  const DeviceFacts& nic = function(inventory, "0000:05:00.0");
  CHECK(nic.iommu_group == "3");
  CHECK(nic.vfio_noiommu);
  CHECK(nic.uio == "uio4");
}

TEST_CASE("the RDMA network namespace mode is read from the module's parameter when there is no netlink") {
  CHECK(Tree("igb_node").scan().rdma_netns_mode == RdmaNetnsMode::exclusive);
  CHECK(Tree("mlx5_switchdev").scan().rdma_netns_mode == RdmaNetnsMode::shared);
  CHECK_FALSE(Tree("management").scan().rdma_netns_mode);
}

TEST_CASE("one function can be read again, and is no value when it has vanished") {
  Tree tree("igb_node");
  const DeviceFacts known = function(tree.scan(), "0000:21:10.2");
  const auto fresh = read_function(tree.sys(), known);
  REQUIRE(fresh);
  REQUIRE(*fresh);
  CHECK((*fresh)->rdma.at(0).name == "mlx5_1");
  CHECK((*fresh)->vf_index == 1);
  tree.remove("sys/bus/pci/devices/0000:21:10.2");
  const auto gone = read_function(tree.sys(), known);
  REQUIRE(gone);
  CHECK_FALSE(*gone);
}

TEST_CASE("a function whose folder is empty is left out in silence") {
  Tree tree("igb_node");
  tree.add("sys/bus/pci/devices/0000:77:00.0/");
  const Inventory inventory = tree.scan();
  CHECK(inventory.functions.size() == 10);
  for (const Warning& warning : inventory.warnings)
    CHECK(warning.text.find("0000:77:00.0") == std::string::npos);
}

const std::string kBrokenVf = "0000:21:10.0";

TEST_CASE("a function that cannot be read is not one that is gone, and hides no other") {
  const std::string vf = "sys/devices/pci0000:20/0000:20:00.0/" + kBrokenVf + "/";
  const std::string broken = GENERATE_COPY(as<std::string>{}, vf + "uevent", vf + "infiniband",
                                           vf + "infiniband_verbs", vf + "numa_node");
  CAPTURE(broken);
  Tree tree("igb_node");
  const size_t all = tree.scan().functions.size();
  tree.remove(broken);
  tree.add(broken + " -> " + broken.substr(broken.rfind('/') + 1));  // ELOOP for whom no permission stops
  const Inventory inventory = tree.scan();
  CHECK(inventory.functions.size() == all - 1);
  REQUIRE(inventory.unread.size() == 1);
  CHECK(inventory.unread[0].id == kBrokenVf);
  CHECK(inventory.unread[0].reason.find("ELOOP") != std::string::npos);
}

TEST_CASE("a function whose partition or product data cannot be read is not one without") {
  Tree tree("igb_node");
  const std::string hca = "sys/bus/pci/devices/0000:05:00.0/";
  for (const char* file : {"class = 0x020700", "vendor = 0x15b3", "net/ib0/type = 32",
                           "infiniband/mlx5_9/ports/1/state = 4: ACTIVE"})
    tree.add(hca + file);
  SECTION("the partition") { tree.add(hca + "infiniband/mlx5_9/ports/1/pkeys/0/"); }  // EISDIR
  SECTION("the product data") { tree.add(hca + "vpd/"); }
  const Inventory inventory = tree.scan();
  REQUIRE(inventory.unread.size() == 1);
  CHECK(inventory.unread[0].id == "0000:05:00.0");
  CHECK(inventory.unread[0].reason.find("EISDIR") != std::string::npos);
}

namespace {

// The calling thread, and those that it starts, without the capabilities that make file modes void for root.
class NoOverride {
 public:
  NoOverride() {
    (void)::syscall(SYS_capget, &header_, before_);
    __user_cap_data_struct less[2]{before_[0], before_[1]};
    for (const unsigned capability : {unsigned{CAP_DAC_OVERRIDE}, unsigned{CAP_DAC_READ_SEARCH}})
      less[CAP_TO_INDEX(capability)].effective &= ~CAP_TO_MASK(capability);
    (void)::syscall(SYS_capset, &header_, less);
  }
  NoOverride(const NoOverride&) = delete;
  NoOverride& operator=(const NoOverride&) = delete;
  ~NoOverride() { (void)::syscall(SYS_capset, &header_, before_); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct before_[2]{};
};

}  // namespace

TEST_CASE("product data that only root reads are a warning: the function may manage the NVLink switches") {
  Tree tree("igb_node");
  const std::string hca = "sys/bus/pci/devices/0000:05:00.0/";
  for (const char* file : {"class = 0x020700", "vendor = 0x15b3", "net/ib0/type = 32", "vpd = SW_MNG",
                           "infiniband/mlx5_9/ports/1/state = 4: ACTIVE"})
    tree.add(hca + file);
  const size_t warnings = tree.scan().warnings.size();
  CHECK(function(tree.scan(), "0000:05:00.0").manages_nvlink);
  REQUIRE(::chmod((tree.root() + "/" + hca + "vpd").c_str(), 0) == 0);
  const NoOverride without;
  const Inventory inventory = tree.scan();
  CHECK(inventory.unread.empty());
  CHECK_FALSE(function(inventory, "0000:05:00.0").nvlink_unknown.empty());
  REQUIRE(inventory.warnings.size() == warnings + 1);
  CHECK(inventory.warnings.back().text.find(
            "whether the NVLink switches are managed through 0000:05:00.0 is not "
            "known") == 0);
  CHECK(inventory.warnings.back().line().ends_with(" [VF-PERMISSION-DENIED]"));
}

TEST_CASE("an address that is spelt otherwise than the kernel does is no second device with that id") {
  Tree tree("igb_node");
  const size_t all = tree.scan().functions.size();
  tree.add("sys/bus/pci/devices/0000" + kBrokenVf + "/");
  const Inventory inventory = tree.scan();
  CHECK(inventory.functions.size() == all);
  REQUIRE(inventory.unread.size() == 1);
  CHECK(inventory.unread[0].id == "0000" + kBrokenVf);
  CHECK(inventory.unread[0].reason.find(kBrokenVf) != std::string::npos);
}

TEST_CASE("a fact that decides on several functions fails the scan if it cannot be read") {
  const std::string broken =
      GENERATE(as<std::string>{}, "sys/devices/pci0000:20/0000:20:00.0/" + kBrokenVf + "/net",
               "sys/bus/pci/devices", "sys/bus/auxiliary/devices", "sys/bus/vdpa/devices", "sys/class/net");
  CAPTURE(broken);
  Tree tree("igb_node");
  tree.remove(broken);
  tree.add(broken + " -> " + broken.substr(broken.rfind('/') + 1));  // ELOOP for whom no permission stops
  const auto scanned = scan(tree.sys(), nullptr);
  REQUIRE_FALSE(scanned);
  CHECK(scanned.error().text.find("ELOOP") != std::string::npos);
}

TEST_CASE("a root without sysfs is an error that says so") {
  const Tree tree("");
  const auto scanned = scan(tree.sys(), nullptr);
  REQUIRE_FALSE(scanned);
  CHECK(scanned.error().text.find("is sysfs mounted below this root?") != std::string::npos);
}
