// cni/node/host_use.h on the fake node: what vfrail-cni says to each row of the table that both programs are
// held to (tests/support/host_use_cases.h), and what that costs.
#include "cni/node/host_use.h"

#include "tests/cni/fake_node.h"
#include "tests/support/host_use_cases.h"

#include <algorithm>

namespace vfrail::test {
using namespace cni;
namespace {

using Kind = HostUseFact::Kind;

std::string use(HostUseNode& node) {
  const SysRoot sys(node.dir.path());
  const auto host = node.world.open(FakeWorld::kHost);
  DeviceSelector selector;
  selector.id = *DeviceId::parse(HostUseNode::kDevice);
  const auto device = find_device(sys, *host, selector);
  REQUIRE(device);
  node.world.forget_faults();
  const auto uppers = find_uppers(sys, *host, "vf0");
  REQUIRE(uppers);
  const auto out = read_host_use(sys, *host, *device, node.world.link("vf0"), *uppers);
  REQUIRE(out);
  return *out;
}

// Of all uses the one that an ADD is refused for: memberships are read first.
std::string refusal(const HostUseCase& row) {
  for (const Kind kind : {Kind::member, Kind::default_route}) {
    for (const HostUseFact& fact : row.uses) {
      if (fact.kind == kind) return fact.what;
    }
  }
  return "";
}

const HostUseCase& row_named(const std::string& name) {
  const auto& rows = host_use_cases();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const HostUseCase& row) { return row.name == name; });
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("vfrail-cni refuses by netlink what the host uses, in the words of the device plugin") {
  for (const HostUseCase& row : host_use_cases()) {
    INFO(row.name);
    HostUseNode node(row);
    const std::string found = use(node);
    CHECK(refusal(row).starts_with(found));  // of a member the routes are not read
    CHECK(found.empty() != serves_host(row.uses));
  }
}

TEST_CASE("a member of a bond costs a message for each interface above it, and none for routes") {
  HostUseNode node(row_named("a default route over a VLAN of its bond"));
  CHECK_FALSE(use(node).empty());
  CHECK(node.world.log() == std::vector<std::string>{"find_link bond0", "find_link bond0.100"});
}

TEST_CASE("routes are read of interfaces that are up alone") {
  HostUseNode node(row_named("addresses, link-local ones apart"));
  node.world.link("vf0").flags &= ~1U;
  CHECK(use(node).empty());
  CHECK(node.world.log() == std::vector<std::string>{"find_link vf0.5", "routes"});
}

TEST_CASE("a master that sysfs does not show yet owns its member") {
  HostUseNode node(row_named("a device alone"));
  node.world.add_veth(FakeWorld::kHost, "m0");
  node.world.link("m0").kind = "bridge";
  node.world.link("vf0").master = node.world.link("m0").index;
  CHECK(use(node) == "part of m0 (a bridge)");
  CHECK(node.world.log() == std::vector<std::string>{"find_link index"});
}

}  // namespace vfrail::test
