// A device with an RDMA device on Ethernet: its link-local address, and the index of its GID. The RDMA device
// is a made-up sysfs; that the kernel makes the GIDs is for tests/lab.
#include "tests/netns/one_pod.h"
#include "tests/support/fake_gids.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct RocePod : OneDevice {
  RocePod() { write_tree(root(), port() + "/link_layer = Ethernet\n"); }
  static std::string port() { return "sys/bus/pci/devices/0000:03:02.1/infiniband/mlx5_9/ports/1"; }
  std::string ipv6(const std::string& setting) const {
    return in_pod(pod, "cat /proc/sys/net/ipv6/conf/" + setting);
  }
  // All with these GIDs, of an interface net1.
  void show_gids(const FakeGids& gids) const { gids.write(path("root/" + port())); }
  Json in_pod_of_record() const {
    return *Json::parse(read_text(path("state/attachments/pod1:net1.json")))->find("inPod");
  }
};

}  // namespace

TEST_CASE("The link-local address of a RoCE device is made of its MAC, whatever the pod's default is") {
  RocePod node;
  // A NIC has its carrier a moment after it is up; a veth when its peer is.
  shell("ip link set vf1p down && ip link set vf1 address 02:00:00:00:00:07");
  node.in_pod(node.pod, "echo 3 > /proc/sys/net/ipv6/conf/default/addr_gen_mode");
  node.done(node.call("ADD", node.config()));
  CHECK(node.ipv6("net1/addr_gen_mode") == "0\n");
  CHECK(node.ipv6("default/addr_gen_mode") == "3\n");
  shell("ip link set vf1p up");
  CHECK_THAT(node.in_pod(node.pod, "sleep 0.2; ip -6 addr show dev net1"), Contains("fe80::ff:fe00:7/64"));
}

TEST_CASE("An interface without RDMA keeps the pod's way to make link-local addresses") {
  Node node;
  node.add_device("0000:03:02.1", "vf1");
  Call call;
  call.netns = node.add_pod("a");
  call.config = node.config();
  node.in_pod(call.netns, "echo 3 > /proc/sys/net/ipv6/conf/default/addr_gen_mode");
  REQUIRE(node.run(call).status == 0);
  CHECK(node.in_pod(call.netns, "cat /proc/sys/net/ipv6/conf/net1/addr_gen_mode") == "3\n");
}

TEST_CASE("A RoCE device is attached to a pod without IPv6") {
  RocePod node;
  SECTION("disabled in the pod") {
    node.in_pod(node.pod, "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6");
  }
  SECTION("disabled in the host") { shell("echo 1 > /proc/sys/net/ipv6/conf/vf1/disable_ipv6"); }
  SECTION("an MTU that is too small for it") { shell("ip link set vf1 mtu 1000"); }
  Json conf = node.config();
  SECTION("an MTU that becomes too small for it") { conf.set("mtu", 1000); }
  node.done(node.call("ADD", conf));
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
}

TEST_CASE("The index of the GID is in the record, and CHECK compares it") {
  RocePod node;
  Json conf = node.config();
  conf.set(
      "ipam",
      *Json::parse(R"({"type":"static","addresses":[{"address":"fd07::5/64"},{"address":"10.7.0.5/24"}]})"));
  const MacAddress mac = *MacAddress::parse("02:00:00:00:00:07");
  const auto ip = [](const char* text) { return *IpAddress::parse_cidr(text); };
  FakeGids gids;
  gids.follow(mac, "net1", {ip("10.7.0.5/24"), ip("fd07::5/64")});
  node.show_gids(gids);
  const Outcome added = node.run(node.call("ADD", conf));
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  CHECK(*node.in_pod_of_record().find("gidIndex") == Json(3));
  CHECK(node.in_pod_of_record().find("addresses")->text() == R"(["fd07::5/64","10.7.0.5/24"])");
  conf.set("prevResult", json_of(added));
  CHECK(node.run(node.call("CHECK", conf)).status == 0);
  gids.follow(mac, "net1", {ip("fd07::5/64")});
  gids.occupy(ip("10.1.0.9/24"), "net1.5");
  gids.follow(mac, "net1", {ip("fd07::5/64"), ip("10.7.0.5/24")});
  node.show_gids(gids);
  CHECK_THAT(message_of(node.run(node.call("CHECK", conf))),
             Contains("the RoCE v2 GID of 10.7.0.5 in mlx5_9 has index 7, it had index 3"));
}

}  // namespace vfrail::test
