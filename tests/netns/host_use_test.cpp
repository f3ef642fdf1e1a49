// What the host lives on is not given to a pod, unless the network says so; and what is no device is none.
#include "tests/netns/one_pod.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct Used : OneDevice {
  Used() : OneDevice("ip addr add 10.9.0.2/24 dev vf1") {}
  // ADD is refused for that reason; DEL has nothing to do, and nothing has changed.
  void refused(const Json& conf, int code, const std::string& words) const {
    const std::string pod_before = in_pod(pod, "ip -o link");
    const Outcome outcome = OnePod::refused(call("ADD", conf), code, words);
    CHECK(outcome.status == 1);
    CHECK_THAT(outcome.out, Contains("\"details\": \"vfrail explain VF-"));
    CHECK(in_pod(pod, "ip -o link") == pod_before);
  }
  void attached_and_detached(const Json& conf) const {
    for (const char* verb : {"ADD", "DEL"}) done(call(verb, conf));
  }
};

}  // namespace

TEST_CASE("A device that carries the host's default route is refused, unless hostUse allows it") {
  const Used node;
  std::string route = "IPv4 default route (table main)";
  SECTION("an address and other routes are no reason") {
    shell("ip route add 10.8.0.0/16 via 10.9.0.1");
    node.attached_and_detached(node.config());
    return;
  }
  SECTION("in the main table") { shell("ip route add default via 10.9.0.1"); }
  SECTION("in another table") {
    shell("ip route add default via 10.9.0.1 table 77");
    route = "IPv4 default route (table 77)";
  }
  SECTION("of IPv6") {
    shell(
        "echo 0 > /proc/sys/net/ipv6/conf/vf1/disable_ipv6; ip addr add fd09::2/64 dev vf1 nodad; "
        "ip -6 route add default via fd09::1");
    route = "IPv6 default route (table main)";
  }
  SECTION("as one of two next hops") {
    shell("ip route add default nexthop via 10.9.0.1 dev vf1 nexthop dev lo");
  }
  node.refused(node.config(), 102,
               "0000:03:02.1 is not given to a pod, because the host uses it: vf1 carries the " + route);
  node.attached_and_detached(node.config().set("hostUse", "allow"));
}

TEST_CASE("A device is refused when an interface above it carries the default route") {
  const Used node;
  shell(
      "ip link add mv1 link vf1 type macvlan && ip link set mv1 up && ip addr add 10.7.7.2/24 dev mv1 && "
      "ip route add default via 10.7.7.1");
  write_tree(node.path("root"), "sys/class/net/vf1/upper_mv1 -> ../mv1\n");
  node.refused(node.config(), 102, "mv1, above vf1, carries the IPv4 default route (table main)");
}

TEST_CASE("A member of a bridge is refused with the bridge's name, and attached when hostUse allows it") {
  const Used node;
  shell("ip link add br9 type bridge && ip link set vf1 master br9");
  node.refused(node.config(), 102, "the host uses it: part of br9 (a bridge)");
  node.attached_and_detached(node.config().set("hostUse", "allow"));
}

TEST_CASE("A device is refused when an interface above it is a member of a bridge") {
  const Used node;
  shell("ip link add mv1 link vf1 type macvlan && ip link add br9 type bridge && ip link set mv1 master br9");
  write_tree(node.path("root"),
             "sys/class/net/vf1/upper_mv1 -> ../mv1\nsys/class/net/mv1/upper_br9 -> ../br9\n");
  node.refused(node.config(), 102, "the host uses it: mv1, above vf1, is part of br9 (a bridge)");
}

TEST_CASE("A device in a VRF is attached, because a VRF does not own it") {
  const Used node;
  if (shell("ip link add vrf9 type vrf table 10 2> /dev/null && echo yes || true") != "yes\n") {
    WARN("this kernel has no VRF; cni/node/host_use_test.cpp has one");
    return;
  }
  shell("ip link set vf1 master vrf9");
  write_tree(node.path("root"), "sys/class/net/vf1/upper_vrf9 -> ../vrf9\n");
  node.attached_and_detached(node.config());
}

TEST_CASE("A PF that has VFs is refused, one without VFs is a device like others") {
  const Used node;
  write_tree(node.path("root"), "sys/bus/pci/devices/0000:03:02.1/sriov_numvfs = 8\n");
  node.refused(node.config(), 102, "0000:03:02.1 is the PF of 8 VFs");
  write_tree(node.path("root"), "sys/bus/pci/devices/0000:03:02.1/sriov_numvfs = 0\n");
  node.attached_and_detached(node.config());
}

TEST_CASE("The loopback interface is never attached, and the pod's is left alone") {
  const Used node;
  const Json by_name = *Json::parse(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","device":"lo"})");
  node.refused(by_name, 7, "lo is the loopback interface");
  shell("ip link add br9 type bridge");
  node.refused(Json(by_name).set("device", "br9"), 7, "br9 is a bridge");
}

TEST_CASE("A device whose PF is down is attached with a warning") {
  const Used node;
  shell("ip link set vf1p down");  // no carrier
  write_tree(node.path("root"),
             "sys/bus/pci/devices/0000:03:02.1/physfn -> ../0000:03:00.0\n"
             "sys/bus/pci/devices/0000:03:00.0/virtfn0 -> ../0000:03:02.1\n"
             "sys/bus/pci/devices/0000:03:00.0/net/pf0/ifindex = 1\n"
             "sys/class/net/pf0/flags = 0x1002\n");
  const Outcome outcome = node.run(node.call("ADD", node.config()));
  INFO(outcome.out);
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("its PF pf0 is down; bring it up: ip link set pf0 up"));
}

TEST_CASE("An unknown key is a warning, and the result has no trace of it") {
  const Used node;
  const Outcome outcome = node.run(node.call("ADD", node.config().set("mtuu", 1400)));
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, Contains("mtuu") && Contains("is probably meant"));
  CHECK(json_of(outcome).find("interfaces") != nullptr);
}

TEST_CASE("The message of an IPAM plugin is printed once, although the roll-back repeats the error") {
  const Used node;
  node.add_ipam("script-ipam", R"(echo '{"code":11,"msg":"the pool is exhausted"}'; exit 1)");
  const Json conf = node.config().set("ipam", *Json::parse(R"({"type":"script-ipam"})"));
  const std::string message = message_of(node.run(node.call("ADD", conf)));
  INFO(message);
  const size_t first = message.find("the pool is exhausted");
  CHECK(first != std::string::npos);
  CHECK(message.find("the pool is exhausted", first + 1) == std::string::npos);
  CHECK_THAT(message, Contains("the same"));
  const std::string missing = message_of(
      node.run(node.call("ADD", node.config().set("ipam", *Json::parse(R"({"type":"none-such"})")))));
  CHECK_THAT(missing, Contains("IPAM plugin none-such is not in CNI_PATH") && !Contains("also"));
}

}  // namespace vfrail::test
