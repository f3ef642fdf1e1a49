// Networks with `mode`: an interface of the pod upon one of the host, which stays where it is.
#include "tests/netns/one_pod.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

// The master is vf1, whose device is 0000:03:02.1.
struct Shared : OneDevice {
  Shared() : OneDevice("ip link set vf1 mtu 9000") {
    network = Json::object();
    network.set("cniVersion", "1.0.0").set("name", "shared").set("type", "vfrail");
    network.set("mode", "macvlan").set("master", "vf1").set("ipam", host_local());
  }
  Json find_interface(const Json& result) const { return *result.find("interfaces")->as_array()->begin(); }
};

// Not every kernel that the tests run on has each kind.
bool kernel_has(const std::string& kind) {
  return shell("ip link add probe type dummy && { ip link add link probe name probe1 type " + kind +
               " 2> /dev/null && echo yes; ip link del probe; } || true")
             .find("yes") != std::string::npos;
}

}  // namespace

TEST_CASE("An interface of the pod is created upon one of the host, checked, and removed by DEL") {
  Shared node;
  const std::string mode = GENERATE("macvlan", "ipvlan");
  CAPTURE(mode);
  if (!kernel_has(mode)) return;
  node.network.set("mode", mode).set("mtu", 1400);
  if (mode == "macvlan") node.network.set("mac", "02:00:00:00:00:09");
  const Json result = node.done(node.call("ADD"));
  const std::string link = node.in_pod(node.pod, "ip -d link show net1");
  CHECK_THAT(link, Contains(mode) && Contains("mtu 1400") && Contains("UP"));
  if (mode == "macvlan") CHECK_THAT(link, Contains("02:00:00:00:00:09") && Contains("mode bridge"));
  CHECK_THAT(node.in_pod(node.pod, "ip addr show net1; ip route"),
             Contains("10.7.0.") && Contains("default via 10.7.0.1 dev net1"));
  CHECK_THAT(result.text(), Contains("\"name\":\"net1\"") && Contains("10.7.0."));
  CHECK_THAT(shell("ip link show vf1"), Contains("vf1"));
  Call check = node.call("CHECK");
  check.config.set("prevResult", result);
  node.done(check);
  node.in_pod(node.pod, "ip link set net1 mtu 1300");
  CHECK_THAT(message_of(node.run(check)), Contains("MTU 1300"));
  node.done(node.call("DEL"));
  CHECK(node.in_pod(node.pod, "ip -o link").find("net1") == std::string::npos);
  CHECK(node.world() == node.before);
  node.done(node.call("DEL"));
}

TEST_CASE("Several pods have an interface each upon one of the host, which they reach each other by") {
  Shared node;
  const std::string second = node.add_pod("b");
  const Json first_result = node.done(node.call("ADD"));
  Call other = node.call("ADD");
  other.container = "pod2";
  other.netns = second;
  const Json second_result = node.done(other);
  const std::string address = *second_result.find("ips")->as_array()->begin()->find("address")->as_text();
  const std::string peer = address.substr(0, address.find('/'));
  CHECK_THAT(
      node.in_pod(node.pod, "bash -c \"for i in {1..50}; do echo > /dev/udp/" + peer + "/9; ip neigh show " +
                                peer + " | grep lladdr && exit; sleep 0.1; done\""),
      Contains("lladdr"));
  node.done(node.call("DEL"));
  CHECK_THAT(node.in_pod(second, "ip -o link"), Contains("net1"));
  other.verb = "DEL";
  node.done(other);
  CHECK(node.world() == node.before);
}

TEST_CASE("The master is named by its name, an alternative name or the address of its device") {
  Shared node;
  shell("ip link property add dev vf1 altname a-name-of-more-than-fifteen-bytes");
  const std::string before = node.world();
  node.network.set("master", GENERATE("vf1", "a-name-of-more-than-fifteen-bytes", "0000:03:02.1"));
  // What Multus passes of a shared pool: a number.
  node.network.set("deviceID", GENERATE("", "7", "0000:03:02.1"));
  node.done(node.call("ADD"));
  CHECK_THAT(node.in_pod(node.pod, "ip -d link show net1"), Contains("macvlan"));
  node.done(node.call("DEL"));
  CHECK(node.world() == before);
}

TEST_CASE("What cannot be created is refused with the reason, and nothing has changed") {
  Shared node;
  SECTION("no master") {
    node.network.set("master", "").set("deviceID", "7");
    node.refused(node.call("ADD"), 7, "set \"master\"");
  }
  SECTION("a master that is not there") {
    node.network.set("master", "eth99");
    node.refused(node.call("ADD"), 100, "eth99");
  }
  SECTION("not Ethernet") {
    node.network.set("mode", "ipoib");
    node.refused(node.call("ADD"), 7, "needs an interface of InfiniBand, which vf1 is not");
  }
  SECTION("the loopback interface") {
    node.network.set("master", "lo");
    node.refused(node.call("ADD"), 7, "needs an interface of Ethernet, which lo is not");
  }
  SECTION("a name that the pod has") {
    node.in_pod(node.pod, "ip link add net1 type veth");
    node.refused(node.call("ADD"), 101, "already has an interface");
    CHECK_THAT(node.in_pod(node.pod, "ip -d link show net1"), Contains("veth"));
  }
  SECTION("a larger MTU than the master's") {
    node.network.set("mtu", 9001);
    node.refused(node.call("ADD"), 7, "more than vf1 has (9000)");
  }
  SECTION("an ipvlan where there is a macvlan") {
    shell("ip link add mv1 link vf1 type macvlan");
    node.network.set("mode", "ipvlan");
    if (kernel_has("ipvlan")) node.refused(node.call("ADD"), 11, "something else has taken the master over");
    if (!kernel_has("ipvlan")) node.refused(node.call("ADD"), 2, "modprobe ipvlan");
  }
  SECTION("the IPAM plugin has no address") {
    node.add_ipam("refuses",
                  "[ $CNI_COMMAND != ADD ] || { echo '{\"code\": 77, \"msg\": \"full\"}'; exit 1; }");
    node.network.set("ipam", Json::object().set("type", "refuses"));
    node.refused(node.call("ADD"), 77, "full");
    CHECK(node.in_pod(node.pod, "ip -o link").find("net1") == std::string::npos);
  }
}

TEST_CASE("An interface that the pod has renamed is removed, and one that has taken its name is not") {
  const Shared node;
  node.done(node.call("ADD"));
  node.in_pod(node.pod, "ip link set net1 down; ip link set net1 name own; ip link add net1 type veth");
  node.done(node.call("DEL"));
  CHECK_THAT(node.in_pod(node.pod, "ip -o -d link"), Contains("veth") && !Contains("macvlan"));
  CHECK(node.world() == node.before);
}

TEST_CASE("When the namespace has ended DEL, a sweep and GC release the address and the record") {
  Shared node;
  node.done(node.call("ADD"));
  node.end_pod(node.pod);
  SECTION("DEL") { node.done(node.call("DEL")); }
  SECTION("a sweep") {
    const Outcome swept = node.command_line({"sweep"}).wait();
    INFO(swept.out << swept.err);
    CHECK(swept.status == 0);
    CHECK_THAT(swept.out, Contains("1 released"));
  }
  SECTION("GC") {
    Call gc = node.call("GC");
    gc.config.set("cniVersion", "1.1.0").set("cni.dev/valid-attachments", Json::array());
    gc.config.set("ipam", Json());
    CHECK(node.run(gc).status == 0);
  }
  CHECK(node.leases().empty());
}

TEST_CASE("With source routing the interface has a table of its own, and DEL removes its rules") {
  Shared node;
  node.network.set("sourceRouting", true);
  node.done(node.call("ADD"));
  CHECK_THAT(node.in_pod(node.pod, "ip rule"), Contains("lookup 100"));
  node.done(node.call("DEL"));
  CHECK_THAT(node.in_pod(node.pod, "ip rule"), !Contains("lookup 100"));
}

TEST_CASE("An interface upon one of the host costs one message that creates it and two that query") {
  Shared node;
  node.network.set("ipam", Json());
  for (const char* verb : {"ADD", "DEL"}) node.done(node.call(verb));
  Call traced = node.call("ADD");
  const std::string trace = node.path("trace");
  traced.prefix = {"strace", "-qq", "-X", "raw", "-o", trace};
  traced.more_environment["ASAN_OPTIONS"] = "detect_leaks=0";
  node.done(traced);
  const std::string calls = read_text(trace);
  int messages = 0;
  for (size_t at = 0; (at = calls.find("nlmsg_type=0x1", at)) != std::string::npos; ++at)
    messages += calls.rfind("\nsend", at) == calls.rfind('\n', at) ? 1 : 0;
  // The master by its name and by what find_device() has found, the name in the pod, the new one, its state.
  CHECK(messages <= 5);
}

}  // namespace vfrail::test
