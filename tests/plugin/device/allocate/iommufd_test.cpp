// vfio's newer nodes, /dev/iommu and /dev/vfio/devices/vfioN: found, and allocated if the resource asks for
// them.
#include "plugin/device/allocate/allocation.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

using Texts = std::vector<std::string>;

Pool make_pool() {
  PoolDevice device;
  device.facts.address = *PciAddress::parse("0000:3b:02.6");
  device.facts.id = DeviceId(device.facts.address);
  device.facts.driver = Driver("vfio-pci");
  device.facts.iommu_group = "169";
  device.facts.vfio_cdev = "vfio3";
  Pool out;
  out.config.prefix = "intel.com";
  out.config.name = "dpdk";
  out.devices.push_back(std::move(device));
  return out;
}

Texts host_paths(const Pool& pool, const NodeFacts& node) {
  const auto out = allocate(pool, pool.devices, node);
  REQUIRE(out);
  Texts paths;
  for (const DeviceNode& one : out->edits.nodes) paths.push_back(one.host_path);
  return paths;
}

std::string info(const Pool& pool, const NodeFacts& node) {
  const auto out = allocate(pool, pool.devices, node);
  REQUIRE(out);
  return out->edits.env.at("PCIDEVICE_INTEL_COM_DPDK_INFO");
}

}  // namespace

TEST_CASE("with iommufd the vfio character device is allocated beside the group") {
  CHECK(host_paths(make_pool(), {.iommufd = true}) ==
        Texts{"/dev/vfio/vfio", "/dev/vfio/169", "/dev/iommu", "/dev/vfio/devices/vfio3"});
  CHECK(info(make_pool(), {.iommufd = true}) ==
        R"({"0000:3b:02.6":{"generic":{"deviceID":"0000:3b:02.6"},"vfio":{"cdev-mount":)"
        R"("/dev/vfio/devices/vfio3","dev-mount":"/dev/vfio/169","iommufd-mount":"/dev/iommu",)"
        R"("mount":"/dev/vfio/vfio"}}})");
}

TEST_CASE("without iommufd, or a kernel that has it, only the group is allocated") {
  const Texts group{"/dev/vfio/vfio", "/dev/vfio/169"};
  CHECK(host_paths(make_pool(), {}) == group);
  CHECK(info(make_pool(), {}).find("iommufd") == std::string::npos);
  Pool old = make_pool();
  old.devices.front().facts.vfio_cdev.clear();
  CHECK(host_paths(old, {.iommufd = true}) == group);
  CHECK(info(old, {.iommufd = true}).find("iommufd") == std::string::npos);
}

TEST_CASE("a device of another driver gets none of vfio's nodes") {
  Pool pool = make_pool();
  pool.devices.front().facts.driver = Driver("mlx5_core");
  CHECK(host_paths(pool, {.iommufd = true}).empty());
}

TEST_CASE("a vfio character device has a device number") {
  Tree tree("igb_node");
  const std::string function_folder = "sys/bus/pci/devices/0000:21:10.0/";
  for (const char* of_the_kernel : {"net", "infiniband", "infiniband_verbs", "infiniband_mad"})
    tree.remove(function_folder + of_the_kernel);
  const std::string folder = function_folder + "vfio-dev/vfio3/";
  tree.add(folder + "\n");
  CHECK(function(tree.scan(), "0000:21:10.0").vfio_cdev.empty());
  tree.add(folder + "dev = 511:3\n");
  CHECK(function(tree.scan(), "0000:21:10.0").vfio_cdev == "vfio3");
}

}  // namespace vfrail::test
