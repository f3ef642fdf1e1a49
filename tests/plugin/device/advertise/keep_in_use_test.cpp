#include "plugin/device/advertise/keep_in_use.h"

#include "plugin/device/advertise/orphans.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Pools pools_of(const Tree& tree, const std::string& resources) {
  const auto config = parse_config("{\"resourceList\":[" + resources + "]}", {"c.json", "intel.com", true});
  REQUIRE(config);
  return match(*config, tree.scan());
}

const char* const kHostdev = R"({"resourceName":"hostdev","selectors":{"isRdma":true}})";

DevicesInUse in_use(const std::vector<std::string>& ids, const std::string& resource = "intel.com/hostdev") {
  DevicesInUse out;
  for (const std::string& id : ids) out.resources[resource][id] = {"default", "trainer-0", "main"};
  return out;
}

std::string fault_of(const Pools& pools, const std::string& id, size_t pool = 0) {
  const PoolDevice* device = pools.pools[pool].find(id);
  REQUIRE(device != nullptr);
  return device->fault.text;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a device that is destroyed while a pod has it stays in the list, unhealthy; others leave it") {
  Tree tree("igb_node");
  tree.remove("sys/bus/pci/devices/0000:21:10.0");
  tree.remove("sys/bus/pci/devices/0000:21:10.2");
  Pools pools = pools_of(tree, kHostdev);
  keep_in_use(pools, in_use({"0000:21:10.0", "0000:41:10.0"}));
  CHECK(pools.pools[0].devices.size() == 7);
  CHECK(pools.pools[0].devices[0].id() == "0000:21:10.0");  // in its place
  CHECK(fault_of(pools, "0000:21:10.0") == "it has vanished from the node");
  CHECK(fault_of(pools, "0000:41:10.0").empty());
  CHECK(pools.pools[0].find("0000:21:10.2") == nullptr);
}

TEST_CASE("the end of a container is watched for while its device is in a pool only because of it") {
  const auto waits = [](const DevicesInUse& use, bool gone) {
    Tree tree("igb_node");
    if (gone) tree.remove("sys/bus/pci/devices/0000:21:10.0");
    Pools pools = pools_of(tree, kHostdev);
    keep_in_use(pools, use);
    std::vector<PublishedPool> published;
    for (Pool& pool : pools.pools) published.emplace_back(std::move(pool));
    return waits_for_containers(published);
  };
  CHECK(waits(in_use({"0000:21:10.0"}), true));
  CHECK(waits(in_use({"0000:21:10.0"}, "intel.com/old"), false));
  CHECK_FALSE(waits(in_use({"0000:21:10.0"}), false));
  CHECK_FALSE(waits(DevicesInUse(), true));
}

TEST_CASE("a device that a container has of a resource that was renamed is not offered under the new name") {
  Pools pools = pools_of(Tree("igb_node"), kHostdev);
  const DevicesInUse use = in_use({"0000:21:10.0"}, "intel.com/old");
  keep_in_use(pools, use);
  CHECK(pools.pools[0].devices.size() == 8);
  CHECK(fault_of(pools, "0000:21:10.0") ==
        "allocated to a container as intel.com/old, which is not configured");
  CHECK(pools.pools[0].find("0000:21:10.0")->fault.code == FaultCode::not_selected);
  CHECK(fault_of(pools, "0000:21:10.2").empty());
}

TEST_CASE("a device that a container has by a claim is offered to no other") {
  Pools pools = pools_of(Tree("igb_node"), kHostdev);
  keep_in_use(pools, in_use({"0000:21:10.0"}, "claim default/nics"));
  CHECK(fault_of(pools, "0000:21:10.0") == "allocated to a container by claim default/nics");
}

TEST_CASE(
    "the use of PCI devices by resources that are not configured is followed, that of other devices is not") {
  std::vector<PublishedPool> pools;
  for (Pool& pool : pools_of(Tree("igb_node"), kHostdev).pools)
    pools.push_back(PublishedPool(std::move(pool)));
  const DevicesInUse none;
  const DevicesInUse renamed = in_use({"0000:21:10.0"}, "intel.com/old");
  CHECK(use_changed(pools, &none, renamed));
  CHECK(use_changed(pools, &renamed, none));
  CHECK_FALSE(use_changed(pools, &renamed, renamed));
  CHECK_FALSE(use_changed(pools, &none, in_use({"GPU-1"}, "nvidia.com/gpu")));
}

TEST_CASE("a device in use that is left out has the reason") {
  Tree tree("igb_node");
  tree.remove("sys/bus/pci/devices/0000:21:10.0/driver");
  Pools pools = pools_of(tree, kHostdev);
  keep_in_use(pools, in_use({"0000:21:10.0"}));
  CHECK(fault_of(pools, "0000:21:10.0") == "no driver is bound");
}

TEST_CASE(
    "a device in use that the configuration gives to another resource is in both lists, healthy in none") {
  Pools pools = pools_of(Tree("igb_node"),
                         R"({"resourceName":"new","selectors":{"numaNodes":[0]}},)" + std::string(kHostdev));
  keep_in_use(pools, in_use({"0000:21:10.0"}));
  CHECK(fault_of(pools, "0000:21:10.0", 0) == "allocated to a container as intel.com/hostdev");
  CHECK(fault_of(pools, "0000:21:10.0", 1) == "intel.com/new selects it since the configuration has changed");
}

TEST_CASE("a device in a pod that selectors see less of goes back to its own resource, healthy") {
  Tree tree("igb_node");
  tree.move_to_pod("0000:21:10.2");
  const std::string resources =
      R"({"resourceName":"own","selectors":{"rdmaDevices":["mlx5_1"],"isRdma":true}},
                                   {"resourceName":"rest","selectors":{"vendors":["8086"]}})";
  Pools pools = pools_of(tree, resources);
  REQUIRE(pools.pools[1].find("0000:21:10.2") != nullptr);  // by what can be seen
  SECTION("its container has it") {
    keep_in_use(pools, in_use({"0000:21:10.2"}, "intel.com/own"));
    CHECK(fault_of(pools, "0000:21:10.2", 0).empty());
    CHECK(pools.pools[0].find("0000:21:10.2")->rdma);
    CHECK(pools.pools[1].find("0000:21:10.2") == nullptr);
    CHECK(pools.pools[1].devices.size() == 7);
  }
  SECTION("a container of the other resource has it, too") {
    DevicesInUse both = in_use({"0000:21:10.2"}, "intel.com/own");
    both.resources["intel.com/rest"] = both.resources["intel.com/own"];
    keep_in_use(pools, both);
    CHECK(fault_of(pools, "0000:21:10.2", 0) ==
          "intel.com/rest selects it since the configuration has changed");
    CHECK(pools.pools[1].find("0000:21:10.2") != nullptr);
  }
}

TEST_CASE("all devices of a resource come back at once out of the one that has got them, in their order") {
  Tree tree("igb_node");
  for (const char* id : {"0000:21:10.0", "0000:21:10.4", "0000:41:10.2"}) tree.move_to_pod(id);
  Pools pools = pools_of(tree, R"({"resourceName":"own","selectors":{"rdmaDevices":["none"]}},
                                  {"resourceName":"rest","selectors":{"vendors":["8086"]}})");
  keep_in_use(pools, in_use({"0000:41:10.2", "0000:21:10.0", "0000:21:10.4"}, "intel.com/own"));
  Texts own;
  for (const PoolDevice& device : pools.pools[0].devices) own.push_back(device.id());
  CHECK(own == Texts{"0000:21:10.0", "0000:21:10.4", "0000:41:10.2"});
  for (const std::string& id : own) CHECK(fault_of(pools, id).empty());
  Texts rest;
  for (const PoolDevice& device : pools.pools[1].devices) rest.push_back(device.id());
  CHECK(rest == Texts{"0000:21:10.2", "0000:21:10.6", "0000:41:10.0", "0000:41:10.4", "0000:41:10.6"});
}

TEST_CASE("resources of other plugins and invalid ids in kubelet's answer change nothing") {
  Pools pools = pools_of(Tree("igb_node"), kHostdev);
  keep_in_use(pools, in_use({"0000:99:00.0"}, "nvidia.com/gpu"));
  keep_in_use(pools, in_use({"../../etc"}));
  // Not as they were advertised: they would be second entries of the same device.
  keep_in_use(pools, in_use({"21:10.0", "0000:21:1A.0"}));
  CHECK(pools.pools[0].devices.size() == 8);
}

TEST_CASE("an orphaned device is missing or attached, and no container has it") {
  Tree tree("igb_node");
  for (const char* id : {"0000:21:10.0", "0000:21:10.2"}) tree.move_to_pod(id);
  std::vector<PublishedPool> pools;
  for (Pool& pool : pools_of(tree, kHostdev).pools) pools.push_back(PublishedPool(std::move(pool)));
  using Found = std::map<std::string, std::string>;
  CHECK(find_orphaned(pools, in_use({"0000:21:10.0"}), {}) ==
        Found{{"0000:21:10.2", "is in another network namespace"}});
  CHECK(find_orphaned(pools, in_use({"0000:21:10.0", "0000:21:10.2"}),
                      {{"0000:21:10.0", {"c1", "net1"}},
                       {"0000:41:10.0", {"c2", "net1"}},
                       {"not a device of ours", {"c3", "net1"}}}) ==
        Found{{"0000:41:10.0", "has the record of an attachment"}});
}

TEST_CASE("the devices of a bundle belong to the container that has the unit") {
  Tree tree("igb_node");
  for (const char* id : {"0000:21:10.0", "0000:41:10.0", "0000:21:10.2"}) tree.move_to_pod(id);
  std::vector<PublishedPool> pools;
  for (Pool& pool :
       pools_of(tree, R"({"resourceName":"rails","bundle":true,"selectors":{"isRdma":true}})").pools)
    pools.push_back(PublishedPool(std::move(pool)));
  CHECK(find_orphaned(pools, in_use({"bundle-0", "bundle-99"}, "intel.com/rails"), {}) ==
        std::map<std::string, std::string>{{"0000:21:10.2", "is in another network namespace"}});
}

TEST_CASE("the devices of units are in use with them, of bundles and of shared pools") {
  std::vector<PublishedPool> pools;
  const std::string rails = R"({"resourceName":"rails","bundle":true,"selectors":{"isRdma":true}})";
  for (Pool& pool : pools_of(Tree("igb_node"), rails).pools) {
    Pool shared = pool;
    shared.config.name = "shared";
    shared.config.unit = UnitKind::shared;
    shared.config.units = 2;
    pools.push_back(PublishedPool(std::move(shared)));
    pools.push_back(PublishedPool(std::move(pool)));
  }
  DevicesInUse used = in_use({"bundle-1", "bundle-99"}, "intel.com/rails");
  used.resources["intel.com/shared"]["1"] = {"default", "p", "c"};
  const DevicesInUse all = with_devices_of_units(used, pools);
  CHECK(all.count("intel.com/rails") == 4);
  CHECK(all.find("intel.com/rails", "0000:21:10.2") != nullptr);
  CHECK(all.find("intel.com/rails", "0000:41:10.2") != nullptr);
  CHECK(all.find("intel.com/shared", "0000:41:10.6") != nullptr);
}
