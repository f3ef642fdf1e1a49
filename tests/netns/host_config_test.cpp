// The host's own addresses and routes of a device: recorded at ADD, restored with it, or moved into the pod.
#include "tests/netns/one_pod.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

// One of each kind. IPv6 is off for new interfaces of a made-up host.
constexpr const char* kSetUp = R"(
echo 0 > /proc/sys/net/ipv6/conf/vf1/disable_ipv6
ip addr add 10.9.0.2/24 brd + dev vf1 label vf1:0
ip addr add 10.9.1.2 peer 10.9.1.1 dev vf1
ip addr add 10.9.2.2/24 dev vf1 noprefixroute
ip addr add 10.9.3.2/24 dev vf1 metric 50 scope link
ip addr add fd09::2/64 dev vf1 nodad
ip addr add fd0b::2/64 dev vf1 nodad noprefixroute
ip route add 10.9.2.0/24 dev vf1 proto kernel scope link src 10.9.2.2 metric 100
ip -6 route add fd0b::/64 dev vf1 proto kernel metric 100
ip route add 10.20.0.0/16 via 10.9.0.1 metric 7 src 10.9.0.2 mtu 1400 advmss 1300 initcwnd 20
ip route add 10.20.0.0/16 via 10.9.0.3 metric 8
ip route add 10.21.0.0/16 via 192.0.2.1 dev vf1 onlink table 77 proto static
ip route add 10.22.0.0/16 dev vf1 table 70000
ip route add 10.23.0.0/16 via inet6 fd09::1 dev vf1
ip route add 10.24.0.0/16 via 10.9.0.1 tos 0x10
ip -6 route add fd0a::/48 via fd09::1 metric 9 pref high
ip -6 route add fd0c::/48 via fd09::1 src fd09::2
)";

std::string shown(const std::string& command) {
  return shell("{ " + command + "; } | sed 's/ *$//' | grep -v 'fe80' | sort -u");
}

// All that ip(8) shows of the interface, but for what the carrier makes.
std::string config_of(const std::string& link) {
  return shown("ip -o -d addr show dev " + link +
               " | sed 's/^[0-9]*: //'; ip -d -4 route show table all dev " + link +
               "; ip -d -6 route show table all dev " + link);
}

struct Configured : OneDevice {
  Configured() : OneDevice(kSetUp) {}
  std::string host = config_of("vf1");
};

}  // namespace

TEST_CASE("The host's addresses and routes of a device come back with it, with all that they have") {
  const Configured node;
  INFO(node.host);
  REQUIRE_THAT(node.host, Contains("10.20.0.0/16 via 10.9.0.1") && Contains("fd0c::/48"));
  for (int i = 0; i < 2; ++i) {
    node.done(node.call("ADD"));
    CHECK_THAT(node.in_pod(node.pod, "ip addr show; ip route show table all"), !Contains("10.9."));
    CHECK_THAT(shown("ip route show table all"), !Contains("10.20.0.0"));
    node.done(node.call("DEL"));
    CHECK(config_of("vf1") == node.host);
  }
}

TEST_CASE("They come back by a DEL without the namespace, and after a failed ADD") {
  const Configured node;
  SECTION("a failed ADD") {
    node.add_ipam("refuses", "echo '{\"code\": 77, \"msg\": \"full\"}'; exit 1");
    Json network = node.config();
    network.set("ipam", Json::object().set("type", "refuses"));
    CHECK(node.run(node.call("ADD", network)).status == 1);
  }
  SECTION("a DEL without the namespace's path") {
    node.done(node.call("ADD"));
    Call del = node.call("DEL");
    del.netns.clear();
    node.done(del);
  }
  CHECK(config_of("vf1") == node.host);
}

TEST_CASE("A route that the kernel refuses is a warning that names it, and DEL succeeds") {
  OneDevice node(
      "ip addr add 10.8.0.1/32 dev lo && ip addr add 10.9.0.2/24 dev vf1 && "
      "ip route add 10.20.0.0/16 via 10.9.0.1 src 10.8.0.1");
  node.done(node.call("ADD"));
  shell("ip addr del 10.8.0.1/32 dev lo");
  const Outcome del = node.run(node.call("DEL"));
  CHECK(del.status == 0);
  CHECK_THAT(del.err, Contains("10.20.0.0/16 via 10.9.0.1") && Contains("VF-HOST-CONFIG-LOST"));
  CHECK_THAT(shown("ip addr show dev vf1"), Contains("10.9.0.2/24"));
}

TEST_CASE("A route over several interfaces is named at ADD, because DEL does not restore it") {
  OneDevice node(
      "ip addr add 10.9.0.2/24 dev vf1 && ip route add 10.20.0.0/16 nexthop via 10.9.0.1 dev vf1 nexthop dev "
      "lo");
  const Outcome add = node.run(node.call("ADD"));
  CHECK(add.status == 0);
  CHECK_THAT(add.err, Contains("10.20.0.0/16 via 10.9.0.1") && Contains("VF-HOST-CONFIG-LOST"));
}

TEST_CASE("With hostConfig move the pod has the host's addresses and routes, and the host has them again") {
  const Configured node;
  Json network = node.config();
  network.set("hostConfig", "move");
  SECTION("alone") {}
  SECTION("beside those that are assigned") { network.set("ipam", node.host_local()); }
  const Json result = node.done(node.call("ADD", network));
  CHECK_THAT(result.text(), Contains("10.9.0.2/24") && Contains("fd09::2/64"));
  const std::string pod =
      node.in_pod(node.pod, "ip addr show dev net1; ip route show table all; ip -6 route");
  CHECK_THAT(pod, Contains("10.9.0.2/24") && Contains("fd09::2/64"));
  CHECK_THAT(pod, Contains("10.20.0.0/16 via 10.9.0.1 dev net1 src 10.9.0.2 metric 7 mtu 1400 advmss 1300"));
  CHECK_THAT(pod, Contains("10.21.0.0/16 via 192.0.2.1 dev net1 table 77 onlink"));
  CHECK_THAT(pod, Contains("fd0a::/48 via fd09::1"));
  Call check = node.call("CHECK", network);
  check.config.set("prevResult", result);
  node.done(check);
  node.done(node.call("DEL", network));
  CHECK(config_of("vf1") == node.host);
}

TEST_CASE("With hostConfig move the host's default route stays out of the pod") {
  OneDevice node("ip addr add 10.9.0.2/24 dev vf1 && ip route add default via 10.9.0.1");
  node.network.set("hostConfig", "move").set("hostUse", "allow");
  const std::string host = config_of("vf1");
  const Json result = node.done(node.call("ADD"));
  CHECK_THAT(node.in_pod(node.pod, "ip addr show dev net1"), Contains("10.9.0.2/24"));
  CHECK_THAT(node.in_pod(node.pod, "ip route"), !Contains("default"));
  node.done(node.call("DEL"));
  CHECK(config_of("vf1") == host);
}

TEST_CASE("Another word for hostConfig is refused") {
  OneDevice node;
  node.network.set("hostConfig", "copy");
  node.refused(node.call("ADD"), 7, "hostConfig");
}

}  // namespace vfrail::test
