#include "plugin/dra/offer.h"

#include "tests/plugin/tree.h"
#include "tests/support/places.h"

#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

using Names = std::vector<std::string>;

// All VFs of a node, as one pool.
Pool vfs_of(const Inventory& inventory, Preference preference = Preference::none) {
  Pool out;
  out.config.prefix = "nvidia.com";
  out.config.name = "hostdev";
  out.config.preference = preference;
  out.gpus = std::make_shared<const std::vector<Gpu>>(inventory.gpus);
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_vf()) continue;
    PoolDevice device;
    device.facts = function;
    out.devices.push_back(std::move(device));
  }
  return out;
}

std::vector<OfferedDevice> offer(const Pool& pool, const DevicesInUse& in_use = {},
                                 const OfferOptions& options = {}) {
  KnownNames names;
  return make_offer({PublishedPool(pool)}, in_use, options, names);
}

Names names_of(const std::vector<OfferedDevice>& devices) {
  Names out;
  for (const OfferedDevice& one : devices) out.push_back(one.name);
  return out;
}

std::string attribute(const OfferedDevice& offered, const std::string& name) {
  const Json* value = offered.device.find("attributes")->find(name);
  return value == nullptr ? "missing" : value->text();
}

std::set<std::string> attribute_names(const OfferedDevice& offered) {
  std::set<std::string> out;
  for (const auto& [name, value] : *offered.device.find("attributes")->as_object()) out.insert(name);
  return out;
}

// Of the golden slice: standard attributes may be missing, ours never.
std::set<std::string> own_names(const OfferedDevice& offered) {
  std::set<std::string> out = attribute_names(offered);
  std::erase_if(out, [](const std::string& name) { return name.find('/') != std::string::npos; });
  return out;
}

}  // namespace

TEST_CASE("a VF is offered with what the scheduler, Multus and administrators select it by") {
  const Inventory inventory = Tree("igb_node").scan();
  const Pool pool = vfs_of(inventory);
  const auto devices = offer(pool);
  REQUIRE(devices.size() == pool.devices.size());
  const DeviceFacts& function = pool.devices.front().facts;
  const OfferedDevice& first = devices.front();
  std::string dashed = function.address.text();
  std::replace_if(
      dashed.begin(), dashed.end(), [](char letter) { return letter == ':' || letter == '.'; }, '-');
  CHECK(first.name == dashed);
  CHECK(first.device.find("name")->text() == "\"" + dashed + "\"");
  CHECK(first.unit == function.address.text());
  CHECK(attribute(first, "resource.kubernetes.io/pciBusID") ==
        R"({"string":")" + function.address.text() + "\"}");
  CHECK(attribute(first, "resource.kubernetes.io/pcieRoot") ==
        R"({"string":")" + function.pcie_path.front() + "\"}");
  CHECK(attribute(first, "k8s.cni.cncf.io/deviceID") == R"({"string":")" + function.address.text() + "\"}");
  CHECK(attribute(first, "k8s.cni.cncf.io/resourceName") == R"({"string":"nvidia.com/hostdev"})");
  CHECK(attribute(first, "kind") == R"({"string":"vf"})");
  CHECK(attribute(first, "rdma") == R"({"bool":true})");
  CHECK(attribute(first, "vendor") == R"({"string":"8086"})");
  CHECK(first.device.find("taints") == nullptr);
}

TEST_CASE("every offered device has the same attributes of ours, whatever is known of it") {
  Pool pool = vfs_of(Tree("b200").scan());
  pool.devices.resize(2);
  DeviceFacts& bare = pool.devices[1].facts;
  bare.pf_name.clear();
  bare.link_type.clear();
  bare.numa_node.reset();
  bare.driver = {};
  const auto devices = offer(pool);
  CHECK(own_names(devices[0]) == own_names(devices[1]));
  // Two devices of which it is not known must not be taken for neighbours.
  CHECK(attribute(devices[1], "resource.kubernetes.io/numaNode") == "missing");
}

TEST_CASE("what is offered is the same while a pod has the device") {
  Tree tree("igb_node");
  const Pool before = vfs_of(tree.scan());
  tree.move_to_pod(before.devices.front().id());
  Pool after = vfs_of(tree.scan());
  KnownNames names;
  const OfferOptions options{.for_dranet = true};
  const auto first = make_offer({PublishedPool(before)}, {}, options, names).front();
  const auto second = make_offer({PublishedPool(after)}, {}, options, names).front();
  CHECK(second.name == first.name);
  CHECK(attribute(second, "dra.net/ifName") == attribute(first, "dra.net/ifName"));
  CHECK(attribute(second, "dra.net/rdmaDevice") == attribute(first, "dra.net/rdmaDevice"));
  CHECK(attribute(second, "linkType") == attribute(first, "linkType"));
  CHECK(attribute(second, "rdma") == attribute(first, "rdma"));
}

TEST_CASE("attributes of DRANET are offered on request alone") {
  const Pool pool = vfs_of(Tree("igb_node").scan());
  CHECK(attribute(offer(pool).front(), "dra.net/rdma") == "missing");
  CHECK(attribute(offer(pool, {}, {.for_dranet = true}).front(), "dra.net/rdma") == R"({"bool":true})");
}

TEST_CASE("the order of an offer is the pool's preference") {
  const Inventory inventory = Tree("b200").scan();
  const auto port = [&](const OfferedDevice& one) {
    const Pool pool = vfs_of(inventory);
    const PoolDevice* device = pool.find(one.unit);
    return device->facts.pf->text();
  };
  const auto packed = offer(vfs_of(inventory, Preference::pack));
  const auto spread = offer(vfs_of(inventory, Preference::spread));
  REQUIRE(packed.size() == spread.size());
  REQUIRE(packed.size() >= 4);
  CHECK(port(packed[0]) == port(packed[1]));
  CHECK(port(spread[0]) != port(spread[1]));
  Names sorted_packed = names_of(packed);
  Names sorted_spread = names_of(spread);
  std::sort(sorted_packed.begin(), sorted_packed.end());
  std::sort(sorted_spread.begin(), sorted_spread.end());
  CHECK(sorted_packed == sorted_spread);
}

TEST_CASE("an unhealthy device is offered with a taint that names the fault") {
  Pool pool = vfs_of(Tree("b200").scan());
  pool.devices[0].fault = {FaultCode::port_down, "its port is DOWN"};
  const auto devices = offer(pool);
  REQUIRE(devices.front().device.find("taints") != nullptr);
  CHECK(devices.front().device.find("taints")->text() ==
        R"([{"key":"vfrail.io/unhealthy","value":"port_down","effect":"NoSchedule"}])");
  CHECK(devices[1].device.find("taints") == nullptr);
}

TEST_CASE("a device that a pod has by the device plugin is not offered, one of a claim is") {
  const Pool pool = vfs_of(Tree("b200").scan());
  DevicesInUse in_use;
  in_use.resources["nvidia.com/hostdev"][pool.devices[0].id()] = {"default", "old", "app"};
  in_use.resources["claim default/nic"][pool.devices[1].id()] = {"default", "new", "app"};
  const auto devices = offer(pool, in_use);
  CHECK(devices.size() == pool.devices.size() - 1);
  CHECK(devices.front().unit == pool.devices[1].id());
}

TEST_CASE("a bundle is one device, named after its resource") {
  Pool pool = vfs_of(Tree("b200").scan());
  pool.config.unit = UnitKind::bundle;
  const auto bundles = offer(pool);
  REQUIRE_FALSE(bundles.empty());
  CHECK(bundles.front().name == "nvidia-com-hostdev-bundle-0");
  CHECK(attribute(bundles.front(), "kind") == R"({"string":"bundle"})");
  CHECK(attribute(bundles.front(), "k8s.cni.cncf.io/deviceID") == R"({"string":"bundle-0"})");
}

namespace {

Pool hcas(UnitKind unit, uint32_t units) {
  Pool out = vfs_of(Tree("b200").scan());
  out.devices.resize(2);
  out.config.prefix = "rdma";
  out.config.name = "hca_a";
  out.config.unit = unit;
  out.config.units = units;
  return out;
}

std::string capacity(const OfferedDevice& offered) {
  const Json* value = offered.device.find("capacity");
  return value == nullptr ? "missing" : value->text();
}

}  // namespace

TEST_CASE("what pods share is one device that several claims can have, with a share by default") {
  const Pool pool = hcas(UnitKind::shared, 500);
  const auto devices = offer(pool);
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].name == "rdma-hca-a-shared");
  CHECK(devices[0].device.find("allowMultipleAllocations")->text() == "true");
  CHECK(
      capacity(devices[0]) ==
      R"({"shares":{"value":"500","requestPolicy":{"default":"1","validRange":{"min":"1","max":"1","step":"1"}}}})");
  CHECK(attribute(devices[0], "kind") == R"({"string":"shared"})");
  CHECK(attribute(devices[0], "k8s.cni.cncf.io/resourceName") == R"({"string":"rdma/hca_a"})");
  // No CNI plugin may take what the host keeps for a device to move.
  CHECK(attribute(devices[0], "k8s.cni.cncf.io/deviceID") == R"({"string":"rdma-hca-a-shared"})");
  CHECK(own_names(devices[0]) == own_names(offer(vfs_of(Tree("b200").scan())).front()));
  CHECK(offer(vfs_of(Tree("b200").scan())).front().device.find("allowMultipleAllocations") == nullptr);
}

TEST_CASE("of a pool whose units are one device each every device has its part of the shares") {
  const Pool pool = hcas(UnitKind::shared_one, 5);
  const auto devices = offer(pool);
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].unit == "0");
  CHECK(devices[1].unit == "1");
  CHECK(devices[0].name != devices[1].name);
  CHECK(devices[0].name.starts_with("rdma-hca-a-0000-"));
  CHECK(capacity(devices[0]).find(R"("value":"3")") != std::string::npos);
  CHECK(capacity(devices[1]).find(R"("value":"2")") != std::string::npos);
}

TEST_CASE("lanes are devices that stand for the same, with the shares of one together") {
  const auto devices = offer(hcas(UnitKind::shared, 10), {}, {.lanes = 4});
  CHECK(names_of(devices) ==
        Names{"rdma-hca-a-shared-0", "rdma-hca-a-shared-1", "rdma-hca-a-shared-2", "rdma-hca-a-shared-3"});
  std::vector<std::string> shares;
  for (const OfferedDevice& one : devices)
    shares.push_back(*one.device.find("capacity")->find("shares")->find("value")->as_text());
  CHECK(shares == std::vector<std::string>{"3", "3", "2", "2"});
  CHECK(offer(hcas(UnitKind::shared, 2), {}, {.lanes = 4}).size() == 2);
}

TEST_CASE("shares that pods have do not change what is offered, a fault of all devices taints it") {
  Pool pool = hcas(UnitKind::shared, 10);
  DevicesInUse in_use;
  in_use.resources["rdma/hca_a"]["0"] = {"default", "a", "app"};
  CHECK(offer(pool, in_use).front().device == offer(pool).front().device);
  pool.devices[0].fault = {FaultCode::port_down, "its port is DOWN"};
  CHECK(offer(pool).front().device.find("taints") == nullptr);
  pool.devices[1].fault = {FaultCode::port_down, "its port is DOWN"};
  CHECK(offer(pool).front().device.find("taints") != nullptr);
}

TEST_CASE("a device has its port's firmware and rate, and a firmware that is no version costs nothing") {
  const Pool pool = vfs_of(Tree("igb_node").scan());
  PortsByFunction ports;
  const auto first = [&] {
    KnownNames names;
    return make_offer({PublishedPool(pool)}, {}, {}, names, ports).front();
  };
  CHECK(attribute(first(), "firmware") == R"({"string":""})");
  CHECK(attribute(first(), "firmwareVersion") == R"({"version":"0.0.0"})");
  CHECK(attribute(first(), "bandwidthGbps") == R"({"int":0})");
  ports[*pool.devices.front().facts.pf] = {"16.35.0306", 400};
  CHECK(attribute(first(), "firmware") == R"({"string":"16.35.0306"})");
  CHECK(attribute(first(), "firmwareVersion") == R"({"version":"16.35.306"})");
  CHECK(attribute(first(), "bandwidthGbps") == R"({"int":400})");
  ports[*pool.devices.front().facts.pf] = {"1.2 (beta)", 0};
  CHECK(attribute(first(), "firmwareVersion") == R"({"version":"0.0.0"})");
}

TEST_CASE("a firmware is a semantic version if it has three numbers") {
  CHECK(semantic_version("28.39.1002") == "28.39.1002");
  CHECK(semantic_version("20.39.0102") == "20.39.102");
  CHECK(semantic_version("0.0.00") == "0.0.0");
  for (const std::string bad : {"", "20.39", "1.2.3.4", "1.2.x", "1.2.-3", "1.2.99999999999999999999"})
    CHECK(semantic_version(bad).empty());
}

TEST_CASE("what is known of a port stays while a pod has it, and while its link is down") {
  Tree tree("igb_node");
  const Pool pool = vfs_of(tree.scan());
  const std::string pf = pool.devices.front().facts.pf->text();
  const std::string rdma = "sys/bus/pci/devices/" + pf + "/infiniband/mlx5_77";
  const auto port = [&](const std::string& state, const std::string& rate) {
    tree.add(rdma + "/fw_ver = 22.41.1000\n" + rdma + "/ports/1/state = " + state + "\n" + rdma +
             "/ports/1/rate = " + rate + "\n");
  };
  PortsByFunction ports;
  port("4: ACTIVE", "200 Gb/sec (4X HDR)");
  read_port_details(tree.sys(), {PublishedPool(pool)}, ports);
  CHECK(ports.at(*pool.devices.front().facts.pf) == PortDetails{"22.41.1000", 200});
  port("1: DOWN", "2.5 Gb/sec (1X SDR)");
  read_port_details(tree.sys(), {PublishedPool(pool)}, ports);
  CHECK(ports.at(*pool.devices.front().facts.pf) == PortDetails{"22.41.1000", 200});
  tree.remove(rdma);
  read_port_details(tree.sys(), {PublishedPool(pool)}, ports);
  CHECK(ports.at(*pool.devices.front().facts.pf) == PortDetails{"22.41.1000", 200});
  read_port_details(tree.sys(), {}, ports);
  CHECK(ports.empty());
}

TEST_CASE("a name that is too long for Kubernetes keeps what differs") {
  Pool pool = vfs_of(Tree("b200").scan());
  pool.config.unit = UnitKind::bundle;
  pool.config.name = std::string(80, 'x');
  const auto bundles = offer(pool);
  const Names names = names_of(bundles);
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == bundles.size());
  for (const std::string& name : names) {
    CHECK(name.size() <= 63);
    CHECK(name.front() != '-');
  }
}

TEST_CASE("the attributes by which the examples select and align are those of every device that is offered") {
  const Inventory inventory = Tree("igb_node").scan();
  const auto devices = offer(vfs_of(inventory), {}, {.for_dranet = true});
  size_t named = 0;
  for (const char* file : {"dranet-claim.yaml", "pod-gpu-and-nic.yaml"}) {
    const std::string text = test::source_text(std::string("examples/dra/") + file);
    static const std::regex kNamed(
        R"re(attributes\["([a-z.]+)"\]\.\??([A-Za-z]+)|matchAttribute: ([a-z.]+/[A-Za-z]+))re");
    for (std::sregex_iterator at(text.begin(), text.end(), kNamed), end; at != end; ++at) {
      const std::string domain = (*at)[1];
      const std::string name = (*at)[3].matched       ? (*at)[3].str()
                               : domain == kDraDriver ? (*at)[2].str()
                                                      : domain + "/" + (*at)[2].str();
      INFO(file << " " << name);
      ++named;
      for (const OfferedDevice& one : devices) CHECK(attribute_names(one).contains(name));
    }
  }
  CHECK(named >= 4);
}
