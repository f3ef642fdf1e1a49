// plugin/device/inventory/host_view.h: a process that does not see the host's interfaces says so, and offers
// nothing of them.
#include "plugin/device/inventory/host_view.h"

#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "tests/plugin/tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

constexpr const char* kHost = "proc/sys/net/core/netdev_max_backlog = 1000\nproc/self/ns/net -> net:[1]\n";

bool is_host(const Tree& tree) { return read_host_view(tree.sys(), Inventory())->is_host_namespace; }

DeviceFacts physical(const std::string& address, const std::string& netdev) {
  DeviceFacts out;
  out.address = *PciAddress::parse(address);
  out.id = DeviceId(out.address);
  out.driver = Driver("ice");
  if (!netdev.empty()) out.netdevs.emplace_back().name = *IfName::parse(netdev);
  return out;
}

}  // namespace

TEST_CASE("the host's network namespace is that of PID 1, and has sysctls that no other has") {
  Tree tree("");
  CHECK_FALSE(is_host(tree));
  tree.add(kHost);
  CHECK(is_host(tree));
  SECTION("PID 1 is in the same") {
    tree.add("proc/1/ns/net -> net:[1]");
    CHECK(is_host(tree));
  }
  SECTION("PID 1 is in another") {
    tree.add("proc/1/ns/net -> net:[2]");
    CHECK_FALSE(is_host(tree));
  }
}

TEST_CASE("a node without visible interfaces is not served, and unseen devices count as in use") {
  Inventory inventory;
  inventory.functions = {physical("0000:01:00.0", ""), physical("0000:02:00.0", "")};
  inventory.functions[1].pf = inventory.functions[0].address;  // a VF in a pod is not unseen
  HostView view{.is_host_namespace = false, .sees_interfaces = false, .unseen = {"0000:01:00.0"}};
  SECTION("in the host an unseen device has been moved by somebody") {
    view.is_host_namespace = true;
    CHECK(mark_unseen(view, inventory).empty());
    CHECK(inventory.warnings.empty());
    CHECK(inventory.functions[0].host_use.empty());
  }
  SECTION("no interface is seen") {
    const std::string blind = mark_unseen(view, inventory);
    CHECK(blind.find("not the host's network namespace") != std::string::npos);
    CHECK(blind.find("0000:01:00.0") != std::string::npos);
    CHECK(blind.find("--root /host") != std::string::npos);
    CHECK(inventory.warnings.size() == 1);
  }
  SECTION("some are") {
    view.sees_interfaces = true;
    CHECK(mark_unseen(view, inventory).empty());
    CHECK(inventory.warnings.size() == 1);
    REQUIRE(inventory.functions[0].host_use.size() == 1);
    CHECK(inventory.functions[0].host_use[0].kind == HostUseFact::Kind::unseen);
    CHECK(inventory.functions[1].host_use.empty());
    const auto config = parse_config(R"({"resourceList":[{"resourceName":"a","selectors":{}}]})",
                                     {"c.json", "intel.com", true});
    REQUIRE(config);
    const Pools pools = match(*config, inventory);
    CHECK(pools.pools[0].find("0000:01:00.0") == nullptr);
    CHECK(pools.pools[0].find("0000:02:00.0") != nullptr);
  }
}

TEST_CASE("physical functions with a kernel driver and no interface here are unseen, others are not") {
  Tree tree("");
  tree.add(kHost);
  Inventory inventory;
  inventory.functions = {physical("0000:01:00.0", "eth0"), physical("0000:02:00.0", ""),
                         physical("0000:03:00.0", ""), physical("0000:04:00.0", "")};
  inventory.functions[2].driver = Driver("pci-pf-stub");
  inventory.functions[3].kind = FunctionKind::accelerator;
  const auto view = read_host_view(tree.sys(), inventory);
  REQUIRE(view);
  CHECK(view->sees_interfaces);
  CHECK(view->unseen == std::vector<std::string>{"0000:02:00.0"});
  // A VF or sub-function is in a pod where its PF is this namespace's, else it can be the host's uplink.
  DeviceFacts vf = physical("0000:01:10.0", "");
  vf.pf = inventory.functions[0].address;
  DeviceFacts uplink = physical("0000:02:10.0", "");
  uplink.pf = inventory.functions[1].address;
  DeviceFacts sub_function = uplink;
  sub_function.id = *DeviceId::parse("mlx5_core.sf.4");
  sub_function.kind = FunctionKind::sub_function;
  for (const DeviceFacts& one : {vf, uplink, sub_function}) inventory.functions.push_back(one);
  CHECK(read_host_view(tree.sys(), inventory)->unseen ==
        std::vector<std::string>{"0000:02:00.0", "0000:02:10.0", "mlx5_core.sf.4"});
}
