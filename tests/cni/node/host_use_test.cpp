// cni/node/host_use.h on the fake node: which masters make a device one that the host uses.
#include "cni/node/host_use.h"

#include "tests/cni/fake_node.h"

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kVf = "0000:21:10.0";

// A VF with a macvlan on it, and a master of that kind, of which one of the two is a member.
struct Stack : TwoVfs {
  explicit Stack(const std::string& kind) {
    world.stack(FakeWorld::kHost, "vf0", "mv0");
    world.add_veth(FakeWorld::kHost, "m0");
    world.link("m0").kind = kind;
    upper("vf0", "mv0");
  }
  void upper(const std::string& lower, const std::string& name) const {
    write_tree(dir.path("root"), "sys/class/net/" + lower + "/upper_" + name + " -> ../" + name + "\n");
  }
  void enslave(const std::string& member) {
    world.link(member).master = world.link("m0").index;
    upper(member, "m0");
  }
  std::string use() {
    const SysRoot sys(dir.path("root"));
    const auto host = world.open(FakeWorld::kHost);
    DeviceSelector selector;
    selector.id = *DeviceId::parse(kVf);
    const auto device = find_device(sys, *host, selector);
    REQUIRE(device);
    const auto uppers = find_uppers(sys, *host, "vf0");
    REQUIRE(uppers);
    const auto out = find_host_use(sys, *host, *device, world.link("vf0"), *uppers);
    REQUIRE(out);
    return *out;
  }
};

}  // namespace

TEST_CASE("a device is the host's if it or an interface on it is a member of a bond, bridge or team") {
  const auto kind = GENERATE(as<std::string>(), "bond", "bridge", "team", "openvswitch");
  Stack node(kind);
  CHECK(node.use().empty());
  SECTION("itself") {
    node.enslave("vf0");
    CHECK(node.use() == "vf0 is a member of m0, a " + kind);
  }
  SECTION("an interface on it") {
    node.enslave("mv0");
    CHECK(node.use() == "mv0, which stands on vf0, is a member of m0, a " + kind);
  }
}

TEST_CASE("a VRF does not own its interfaces, and what is above it belongs to it alone") {
  Stack node("vrf");
  node.enslave(GENERATE(as<std::string>(), "vf0", "mv0"));
  CHECK(node.use().empty());
  node.world.add_veth(FakeWorld::kHost, "br0");
  node.world.link("br0").kind = "bridge";
  node.world.link("m0").master = node.world.link("br0").index;
  node.upper("m0", "br0");
  CHECK(node.use().empty());
}

TEST_CASE("a default route over anything above a device, also above its VRF, is the host's use of it") {
  Stack node("vrf");
  node.enslave("vf0");
  for (const char* name : {"vf0", "m0"}) node.world.link(name).flags |= 1;
  Route route;
  route.destination = *IpAddress::parse_cidr("0.0.0.0/0");
  route.link = node.world.link("m0").index;
  REQUIRE(node.world.open(FakeWorld::kHost)->add_route(route));
  CHECK(node.use() == "m0, which stands on vf0, carries a default route of the host");
}

}  // namespace vfrail::test
