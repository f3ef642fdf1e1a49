#include "plugin/device/allocate/cdi.h"

#include "plugin/device/config/names.h"

#include <cctype>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Texts = std::vector<std::string>;

ResourceConfig make_resource(const std::string& prefix = "nvidia.com", const std::string& name = "hostdev") {
  ResourceConfig out;
  out.prefix = prefix;
  out.name = name;
  return out;
}

DeviceNode node(const std::string& path) { return {path, path, "rw"}; }

// Devices and their nodes, as allocate() has them.
Allocation make_allocation(const std::map<std::string, Texts>& devices) {
  Allocation out;
  std::set<std::string> seen;
  for (const auto& [device, paths] : devices) {
    auto& own = out.edits_of[device].nodes;
    for (const std::string& path : paths) {
      own.push_back(node(path));
      if (seen.insert(path).second) out.edits.nodes.push_back(node(path));
    }
  }
  return out;
}

Allocation by_cdi(const ResourceConfig& resource, const std::map<std::string, Texts>& devices) {
  Allocation out = make_allocation(devices);
  use_cdi(resource, "/var/lib/cni/bin", out);
  return out;
}

std::string key_of(const ResourceConfig& resource, const std::string& device) {
  const auto annotations =
      cdi_annotations(resource, by_cdi(resource, {{device, {"/dev/x"}}}).edits.cdi_devices);
  REQUIRE(annotations.size() == 1);
  return annotations.begin()->first;
}

}  // namespace

// ParseQualifier() and validateVendorOrClassName() of the CDI library: one that does not pass is ignored.
TEST_CASE("every prefix that Kubernetes takes makes a vendor that CDI takes") {
  ResourceConfig resource;
  resource.name = "net";
  for (const char* prefix : {"nvidia.com", "5g.example.com", "0", "a-1.b", "9-9.example.com"}) {
    CAPTURE(prefix);
    REQUIRE(check_resource_prefix(prefix));
    resource.prefix = prefix;
    const std::string kind = cdi_name(resource, "0000:03:02.1").kind;
    const std::string vendor = kind.substr(0, kind.find('/'));
    CHECK(std::isalpha(static_cast<unsigned char>(vendor.front())) != 0);
    CHECK(std::isalnum(static_cast<unsigned char>(vendor.back())) != 0);
    CHECK(vendor.ends_with(prefix));
  }
}

TEST_CASE("devices have the kinds and names that the peers give them") {
  ResourceConfig resource = make_resource("intel.com", "sriov_net_A");
  CHECK(cdi_name(resource, "0000:03:02.1").qualified_name() == "intel.com/net-pci=0000:03:02.1");
  resource.device_type = DeviceType::accelerator;
  CHECK(cdi_name(resource, "0000:03:02.1").qualified_name() == "intel.com/net-accel=0000:03:02.1");
  resource = make_resource("nvidia.com", "bf2_sf");
  resource.device_type = DeviceType::aux_net_device;
  CHECK(cdi_name(resource, "mlx5_core.sf.4").qualified_name() == "nvidia.com/net-sf=mlx5_core.sf.4");
}

TEST_CASE("a device of several shared pools has another name and file in each") {
  ResourceConfig a = make_resource("rdma", "hca_a");
  ResourceConfig b = make_resource("rdma", "hca_b");
  ResourceConfig other = make_resource("nvidia.com", "hca_a");
  for (ResourceConfig* one : {&a, &b, &other}) {
    one->unit = GENERATE(UnitKind::shared, UnitKind::shared_one);
  }
  CHECK(cdi_name(a, "0000:03:00.0").qualified_name() == "nvidia.com/net-rdma=rdma:hca_a:0000:03:00.0");
  std::set<std::string> names;
  for (const ResourceConfig* one : {&a, &b, &other}) {
    names.insert(cdi_name(*one, "0000:03:00.0").qualified_name());
    names.insert(cdi_name(*one, "0000:03:00.0").file_name());
  }
  CHECK(names.size() == 6);
}

TEST_CASE("each device gets a spec of its own nodes, and of those that it shares with others") {
  const Allocation out = by_cdi(make_resource(), {{"0000:03:02.1", {"/dev/infiniband/uverbs1", "/dev/cm"}},
                                                  {"0000:03:02.2", {"/dev/infiniband/uverbs2", "/dev/cm"}}});
  CHECK(out.edits.nodes.empty());
  REQUIRE(out.specs.size() == 2);
  CHECK(out.specs.at("0000:03:02.1").edits.nodes ==
        std::vector<DeviceNode>{node("/dev/infiniband/uverbs1"), node("/dev/cm")});
  CHECK(out.specs.at("0000:03:02.2").edits.nodes ==
        std::vector<DeviceNode>{node("/dev/infiniband/uverbs2"), node("/dev/cm")});
  CHECK(out.edits.cdi_devices == Texts{"nvidia.com/net-pci=0000:03:02.1", "nvidia.com/net-pci=0000:03:02.2"});
}

TEST_CASE("a device without nodes is not named, because CDI takes a device without edits for an error") {
  const Allocation one = by_cdi(make_resource(), {{"0000:03:02.1", {}}, {"0000:03:02.2", {"/dev/x"}}});
  CHECK(one.edits.cdi_devices == Texts{"nvidia.com/net-pci=0000:03:02.2"});
  const Allocation none = by_cdi(make_resource(), {{"0000:03:02.1", {}}});
  CHECK(none.edits.cdi_devices.empty());
  CHECK(cdi_annotations(make_resource(), none.edits.cdi_devices).empty());
}

TEST_CASE("with memlock each device's spec has the hook of vfrail-cni, with the amount if one was given") {
  ResourceConfig resource = make_resource();
  CHECK(by_cdi(resource, {{"0000:03:02.1", {"/dev/x"}}}).specs.begin()->second.edits.hooks.empty());
  for (const auto& [amount, args] :
       {std::pair(std::string(), Texts{"vfrail", "hook", "memlock"}),
        std::pair(std::string("67108864"), Texts{"vfrail", "hook", "memlock", "67108864"})}) {
    resource.memlock = amount;
    const Allocation out =
        by_cdi(resource, {{"0000:03:02.1", {"/dev/x"}}, {"0000:03:02.2", {"/dev/y"}}, {"0000:03:02.3", {}}});
    CHECK(out.specs.size() == 2);  // none for a device without nodes
    for (const auto& [device, spec] : out.specs) {
      REQUIRE(spec.edits.hooks.size() == 1);
      CHECK(spec.edits.hooks[0].name == "createRuntime");
      CHECK(spec.edits.hooks[0].path == "/var/lib/cni/bin/vfrail");
      CHECK(spec.edits.hooks[0].args == args);
    }
    CHECK(out.edits.hooks.empty());
  }
}

TEST_CASE("the annotation has the same names as the field") {
  const Allocation out =
      by_cdi(make_resource(), {{"0000:03:02.1", {"/dev/x"}}, {"0000:03:02.2", {"/dev/y"}}});
  const auto annotations = cdi_annotations(make_resource(), out.edits.cdi_devices);
  REQUIRE(annotations.size() == 1);
  CHECK(annotations.begin()->first.starts_with("cdi.k8s.io/vfrail_hostdev_"));
  CHECK(annotations.begin()->second == "nvidia.com/net-pci=0000:03:02.1,nvidia.com/net-pci=0000:03:02.2");
}

TEST_CASE("no two resources, and no two allocations, have the same annotation key") {
  const std::string long_name(63, 'n');
  std::set<std::string> keys;
  for (const std::string prefix : {"nvidia.com", "intel.com"}) {
    for (const std::string& name :
         {std::string("a"), std::string("b"), long_name, long_name.substr(1) + "m"}) {
      for (const std::string device : {"0000:03:02.1", "0000:03:02.2"})
        keys.insert(key_of(make_resource(prefix, name), device));
    }
  }
  CHECK(keys.size() == 16);
}

TEST_CASE("an annotation key is valid in Kubernetes, whatever the resource is called") {
  const std::string name = GENERATE(as<std::string>(), "a", "0", "hca_shared_devices_a", std::string(63, 'n'),
                                    "with-dashes-and_underscores");
  const std::string key = key_of(make_resource("nvidia.com", name), "mlx5_core.sf.4");
  const std::string part = key.substr(key.find('/') + 1);
  CAPTURE(part);
  CHECK(part.size() <= 63);
  const auto good = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  CHECK(good(part.front()));
  CHECK(good(part.back()));
  for (const char c : part) CHECK((good(c) || c == '-' || c == '_' || c == '.'));
}

TEST_CASE("the same allocation has the same key and names again") {
  CHECK(key_of(make_resource(), "0000:03:02.1") == key_of(make_resource(), "0000:03:02.1"));
}
