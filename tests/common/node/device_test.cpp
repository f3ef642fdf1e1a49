// common/node/device.h: the one reader of a device's facts.
#include "common/node/device.h"

#include "common/node/device_folder.h"
#include "tests/support/sys_tree.h"

#include <filesystem>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

namespace fs = std::filesystem;

constexpr Facts kAll = Facts::ids | Facts::place | Facts::pf | Facts::vf_counts | Facts::driver |
                       Facts::netdevs | Facts::dev_ports | Facts::netdev_settings | Facts::rdma |
                       Facts::rdma_ports | Facts::mad_nodes | Facts::user_nodes;

struct DeviceTree : SysTree {
  using SysTree::SysTree;
  Result<std::optional<Device>> read(const std::string& id, Facts wanted) const {
    return read_device(sys, *DeviceId::parse(id), wanted);
  }
};

constexpr const char* kVf =
    "sys/devices/pci0000:16/0000:16:02.0/0000:03:02.1/uevent = PCI_CLASS=20000\n"
    "sys/bus/pci/devices/0000:03:02.1 -> ../../../devices/pci0000:16/0000:16:02.0/0000:03:02.1\n"
    "sys/bus/pci/devices/0000:03:02.1/driver -> ../../drivers/mlx5_core\n"
    "sys/bus/pci/devices/0000:03:02.1/physfn -> ../0000:03:00.0\n"
    "sys/bus/pci/devices/0000:03:02.1/numa_node = 1\n"
    "sys/bus/pci/devices/0000:03:02.1/net/eth7/dev_port = 1\n"
    "sys/bus/pci/devices/0000:03:02.1/net/eth8/dev_port = 0\n"
    "sys/bus/pci/devices/0000:03:02.1/net/eth7/mtu = 9000\n"
    "sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_4/ports/1/link_layer = Ethernet\n"
    "sys/bus/pci/devices/0000:03:02.1/infiniband_verbs/uverbs4/ibdev = mlx5_4\n"
    "sys/bus/pci/devices/0000:03:02.1/infiniband_mad/umad4/ibdev = mlx5_4\n";

}  // namespace

TEST_CASE("a device has the facts that were requested") {
  const DeviceTree tree(kVf);
  const auto device = tree.read("0000:03:02.1", kAll);
  REQUIRE((device && *device));
  CHECK((*device)->id.text() == "0000:03:02.1");
  CHECK((*device)->class_code == "0x020000");
  CHECK((*device)->pcie_path == std::vector<std::string>{"pci0000:16", "0000:16:02.0", "0000:03:02.1"});
  CHECK((*device)->numa_node == 1);
  CHECK((*device)->pf == PciAddress::parse("0000:03:00.0"));
  CHECK((*device)->driver == Driver("mlx5_core"));
  CHECK((*device)->netdev_names() == std::vector<std::string>{"eth8", "eth7"});  // by dev_port
  CHECK((*device)->netdevs[1].mtu == 9000);
  CHECK((*device)->rdma_names() == std::vector<std::string>{"mlx5_4"});
  CHECK((*device)->rdma_nodes() == std::vector<std::string>{"umad4", "uverbs4"});
  CHECK((*device)->rdma[0].uverbs == "uverbs4");
  CHECK((*device)->is_on_ethernet());
}

TEST_CASE("facts that were not requested are not read") {
  DeviceTree tree(kVf);
  // Each of these would fail: a folder cannot be read as a file (EISDIR).
  for (const char* file : {"uevent", "numa_node", "net/eth7/dev_port", "net/eth7/mtu"}) {
    const fs::path path = tree.dir.path(std::string("sys/bus/pci/devices/0000:03:02.1/") + file);
    fs::remove(path);
    fs::create_directory(path);
  }
  const auto device =
      tree.read("0000:03:02.1", Facts::pf | Facts::netdevs | Facts::link_layer | Facts::verbs_nodes);
  REQUIRE((device && *device));
  CHECK((*device)->driver == Driver("mlx5_core"));  // says where the netdevs are
  CHECK((*device)->netdev_names() == std::vector<std::string>{"eth7", "eth8"});
  CHECK_FALSE((*device)->netdevs[0].dev_port);
  CHECK((*device)->is_on_ethernet());
  CHECK((*device)->rdma_nodes() == std::vector<std::string>{"uverbs4"});
  for (const Facts wanted : {Facts::ids, Facts::place, Facts::dev_ports, Facts::netdev_settings}) {
    CAPTURE(static_cast<int>(wanted));
    CHECK_FALSE(tree.read("0000:03:02.1", wanted));
  }
}

TEST_CASE("a missing device is neither an error nor an empty device") {
  const DeviceTree tree(kVf);
  for (const Facts wanted : {Facts::ids, Facts::driver, kAll}) {
    const auto device = tree.read("0000:03:02.2", wanted);
    CHECK((device && !*device));
    const auto auxiliary = tree.read("mlx5_core.sf.4", wanted);
    CHECK((auxiliary && !*auxiliary));
  }
}

TEST_CASE("without uevent the ids are read from their files") {
  const DeviceTree tree(
      "sys/bus/pci/devices/0000:03:02.1/class = 0x020700\n"
      "sys/bus/pci/devices/0000:03:02.1/vendor = 0x15B3\n"
      "sys/bus/pci/devices/0000:03:02.1/device = 0x101e\n"
      "sys/bus/pci/devices/0000:03:02.1/subsystem_vendor = 0x15b3\n"
      "sys/bus/pci/devices/0000:03:02.1/subsystem_device = 0x0051\n");
  const auto device = tree.read("0000:03:02.1", Facts::ids);
  REQUIRE((device && *device));
  CHECK((*device)->class_code == "0x020700");
  CHECK((*device)->vendor == "15b3");
  CHECK((*device)->device == "101e");
  CHECK((*device)->subsystem_vendor == "15b3");
  CHECK((*device)->subsystem_device == "0051");
}

TEST_CASE("a umad or issm node whose port is not known belongs to the device that it names") {
  const std::string files =
      "sys/bus/pci/devices/0000:03:02.1/uevent = PCI_CLASS=20700\n"
      "sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_4/node_guid = 1\n"
      "sys/bus/pci/devices/0000:03:02.1/infiniband_verbs/uverbs4/ibdev = mlx5_4\n"
      "sys/bus/pci/devices/0000:03:02.1/infiniband_mad/issm4/ibdev = mlx5_4\n"
      "sys/bus/pci/devices/0000:03:02.1/infiniband_mad/umad4/ibdev = mlx5_4\n"
      "sys/bus/pci/devices/0000:03:02.1/infiniband_mad/umad5/ibdev = mlx5_5\n";
  const auto read_rdma = [](const std::string& manifest) {
    const DeviceTree tree(manifest);
    const auto device = tree.read("0000:03:02.1", kAll);
    REQUIRE((device && *device));
    REQUIRE((*device)->rdma.size() == 1);
    return (*device)->rdma[0];
  };
  const RdmaFacts without_ports = read_rdma(files);
  REQUIRE(without_ports.ports.size() == 1);
  CHECK(without_ports.ports[0].umad == "umad4");
  CHECK(without_ports.ports[0].issm == "issm4");
  // Two ports, and nodes that do not say of which they are.
  const std::string ports = "sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_4/ports/";
  const RdmaFacts two = read_rdma(files + ports + "1/state = 4: ACTIVE\n" + ports + "2/state = 1: DOWN\n");
  REQUIRE(two.ports.size() == 2);
  CHECK(two.ports[0].umad == "umad4");
  CHECK(two.ports[0].state == "ACTIVE");
  CHECK(two.ports[1].umad.empty());
}

TEST_CASE("an auxiliary device is read in its own folder, its PF is its parent") {
  const DeviceTree tree(
      "sys/devices/pci0000:16/0000:03:00.0/mlx5_core.sf.4/net/eth3/dev_port = 0\n"
      "sys/bus/auxiliary/devices/mlx5_core.sf.4 -> "
      "../../../devices/pci0000:16/0000:03:00.0/mlx5_core.sf.4\n"
      "sys/bus/auxiliary/devices/mlx5_core.sf.4/driver -> ../../drivers/mlx5_core.sf\n");
  const auto device = tree.read("mlx5_core.sf.4", Facts::pf | Facts::netdevs);
  REQUIRE((device && *device));
  CHECK((*device)->pf == PciAddress::parse("0000:03:00.0"));
  CHECK((*device)->netdev_names() == std::vector<std::string>{"eth3"});
}

TEST_CASE("the netdev of a virtio device is below the device of its own bus") {
  const DeviceTree tree(
      "sys/bus/pci/devices/0000:00:05.0/driver -> ../../drivers/virtio-pci\n"
      "sys/bus/pci/devices/0000:00:05.0/virtio2/net/eth3/dev_port = 0\n");
  const auto device = tree.read("0000:00:05.0", Facts::netdevs);
  REQUIRE((device && *device));
  CHECK((*device)->netdev_names() == std::vector<std::string>{"eth3"});
}

TEST_CASE("locks and records use the device's id, or a mere netdev's name") {
  Device device;
  device.netdevs = {{.name = "veth0"}};
  CHECK(device.key() == "netdev.veth0");
  device.id = *DeviceId::parse("0000:03:02.1");
  CHECK(device.key() == "0000:03:02.1");
}

TEST_CASE("the index of the firmware has no blanks around it") {
  const DeviceTree tree(std::string(kVf) + "sys/bus/pci/devices/0000:03:02.1/acpi_index = \t 12 \n");
  CHECK((*tree.read("0000:03:02.1", Facts::place))->acpi_index == "12");
}

TEST_CASE("a VF that has been removed leaves the others at their indexes") {
  const std::string pf = "sys/bus/pci/devices/0000:03:00.0/";
  const DeviceTree tree(pf + "sriov_numvfs = 12\n" + pf + "virtfn0 -> ../0000:03:02.0\n" + pf +
                        "virtfn10 -> ../0000:03:03.2\n" + pf + "virtfn3 -> ../0000:03:02.3\n" + pf +
                        "virtfnx = x\n");
  const DeviceFolder folder(tree.sys, *DeviceId::parse("0000:03:00.0"));
  std::vector<std::string> all(11);
  all[0] = "0000:03:02.0";
  all[3] = "0000:03:02.3";
  all[10] = "0000:03:03.2";
  CHECK(list_vfs(folder).value_or({}) == all);
  all.resize(4);
  CHECK(list_vfs(folder, "0000:03:02.3").value_or({}) == all);
}

}  // namespace vfrail::test
