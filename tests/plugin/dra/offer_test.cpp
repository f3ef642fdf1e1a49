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

TEST_CASE("a bundle is one device, named after its resource, and shared devices are not offered") {
  Pool pool = vfs_of(Tree("b200").scan());
  pool.config.unit = UnitKind::bundle;
  const auto bundles = offer(pool);
  REQUIRE_FALSE(bundles.empty());
  CHECK(bundles.front().name == "nvidia-com-hostdev-bundle-0");
  CHECK(attribute(bundles.front(), "kind") == R"({"string":"bundle"})");
  CHECK(attribute(bundles.front(), "k8s.cni.cncf.io/deviceID") == R"({"string":"bundle-0"})");
  pool.config.unit = UnitKind::shared;
  pool.config.units = 10;
  CHECK(offer(pool).empty());
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
