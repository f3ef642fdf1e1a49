// Configurations in the shape in which the peers, the operators that write them, and their users publish
// them: each is read without an error, and selects on a node what the peer would.
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/match/units.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

struct Read {
  Config config;
  Pools pools;

  explicit Read(const std::string& text, const std::string& tree = "igb_node") {
    auto parsed = parse_config(text, {"config.json", "intel.com", false});
    if (!parsed) FAIL(parsed.error().text);
    config = *std::move(parsed);
    pools = match(config, Tree(tree).scan());
  }
  size_t devices(const std::string& resource) const {
    for (const Pool& pool : pools.pools) {
      if (pool.resource() == resource) return pool.devices.size();
    }
    FAIL("there is no resource " << resource);
    return 0;
  }
  size_t units(const std::string& resource) const {
    for (const Pool& pool : pools.pools) {
      if (pool.resource() == resource) return make_units(pool).size();
    }
    return 0;
  }
};

}  // namespace

TEST_CASE(
    "sriov-network-device-plugin: netdevices, DPDK, RDMA, DDP, vhost, vDPA and accelerators in one file") {
  const Read all(R"({"resourceList": [
    {"resourceName": "sriov_netdevice", "selectors": {"vendors": ["8086"], "devices": ["154c", "10ed", "1889"],
      "drivers": ["i40evf", "iavf", "ixgbevf"]}},
    {"resourceName": "sriov_dpdk", "resourcePrefix": "intel.com",
      "selectors": {"vendors": ["8086"], "devices": ["154c"], "drivers": ["vfio-pci"], "pfNames": ["enp0s0f0", "enp2s2f1"],
        "needVhostNet": true}},
    {"resourceName": "rdma_vfs", "resourcePrefix": "mellanox.com",
      "selectors": [{"vendors": ["8086"], "pfNames": ["eth0#0-1"], "isRdma": true},
                    {"rootDevices": ["0000:41:00.0#2"], "isRdma": true}]},
    {"resourceName": "ddp_pool", "selectors": {"vendors": ["8086"], "devices": ["154c"], "ddpProfiles": ["GTPv1-C/U IPv4/IPv6 payload"]}},
    {"resourceName": "partition", "selectors": {"vendors": ["15b3"], "linkTypes": ["infiniband"], "pKeys": ["0x8001", "0xabcd"]}},
    {"resourceName": "vdpa_vhost", "resourcePrefix": "nvidia.com", "selectors": {"vendors": ["15b3"], "vdpaType": "vhost"}},
    {"resourceName": "acpi", "selectors": {"acpiIndexes": ["101"]}},
    {"resourceName": "fec", "deviceType": "accelerator", "selectors": {"vendors": ["8086"], "devices": ["0d90"]}},
    {"resourceName": "sf_pool", "resourcePrefix": "nvidia.com", "deviceType": "auxNetDevice",
      "selectors": [{"vendors": ["15b3"], "devices": ["a2d6"], "pfNames": ["p0#1-5"], "auxTypes": ["sf"]}]},
    {"resourceName": "one_vf", "excludeTopology": true, "selectors": {"pciAddresses": ["0000:41:10.6"]},
      "additionalInfo": {"*": {"token": "3e49"}}}
  ]})");
  CHECK(all.config.resources.size() == 10);
  CHECK(all.config.warnings.empty());
  CHECK(all.devices("mellanox.com/rdma_vfs") == 3);
  CHECK(all.devices("intel.com/one_vf") == 1);
  CHECK(all.devices("intel.com/sriov_netdevice") == 0);
}

TEST_CASE("sriov-network-operator: its spelling, its nulls and its empty lists") {
  const Read all(
      R"({"resourceList":[{"resourceName":"netdev_nic","selectors":{"pfNames":["eth0#0-3"],"rootDevices":["0000:21:00.0"],
    "vendors":null,"devices":null,"drivers":null,"linkTypes":null,"ddpProfiles":null,"IsRdma":true,"NeedVhostNet":false,
    "vdpaType":""},"SelectorObj":null}]})");
  CHECK(all.config.warnings.empty());
  CHECK(all.devices("intel.com/netdev_nic") == 4);
}

TEST_CASE("network-operator: hostdev for HostDeviceNetwork") {
  const Read all(R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",
    "selectors":{"vendors":["15b3"],"isRdma":true}}]})",
                 "mlx5_switchdev");
  CHECK(all.devices("nvidia.com/hostdev") == 3);
}

TEST_CASE("network-operator: pools of a rail each") {
  const Read all(R"({"resourceList":[
    {"resourcePrefix":"nvidia.com","resourceName":"sriov_rail0","selectors":{"vendors":["8086"],"pfNames":["eth0"],"isRdma":true}},
    {"resourcePrefix":"nvidia.com","resourceName":"sriov_rail1","selectors":{"vendors":["8086"],"pfNames":["eth1"],"isRdma":true}}]})");
  CHECK(all.devices("nvidia.com/sriov_rail0") == 4);
  CHECK(all.devices("nvidia.com/sriov_rail1") == 4);
}

TEST_CASE("a file of version 2, with selectors a level too high, is read and reports what is ignored") {
  const Read all(
      R"({"resourceList":[{"resourceName":"old","rootDevices":["21:00.0"],"sriovMode":true,"deviceType":"netDevice",
    "selectors":{"vendors":["8086"]}}]})");
  CHECK(all.devices("intel.com/old") == 8);
  CHECK(all.config.warnings.size() == 2);
}

TEST_CASE("k8s-rdma-shared-dev-plugin: by interface, by ids, with and without a prefix") {
  const Read all(R"({"periodicUpdateInterval": 300, "configList": [
    {"resourceName": "hca_shared_devices_a", "rdmaHcaMax": 1000, "devices": ["eth8", "eth9"]},
    {"resourceName": "hca_shared_devices_b", "rdmaHcaMax": 500, "resourcePrefix": "example.com",
      "selectors": {"vendors": ["8086"], "deviceIDs": ["10ca"]}},
    {"resourceName": "hca_shared_devices_c", "rdmaHcaMax": 100,
      "selectors": {"vendors": ["15b3"], "deviceIDs": ["1017"], "drivers": ["mlx5_core"], "ifNames": ["ib0"], "linkTypes": ["infiniband"]}}]})");
  CHECK(all.units("rdma/hca_shared_devices_a") == 1000);
  CHECK(all.devices("example.com/hca_shared_devices_b") == 8);
  CHECK(all.units("example.com/hca_shared_devices_b") == 500);
  CHECK(all.units("rdma/hca_shared_devices_c") == 0);
}

TEST_CASE("k8s-rdma-sriov-dev-plugin and Alibaba's descendant") {
  CHECK(Read(R"({"mode" : "hca"})").units("rdma/hca") == 1000);
  CHECK(Read(R"({"mode" : "sriov", "pfNetdevices": [ "eth0", "eth1" ]})").devices("rdma/vhca") == 8);
  CHECK(Read(R"({ "mode" : "hca", "deviceType" : "eRDMA" })", "erdma_vm").units("rdma/hca") == 1000);
}
