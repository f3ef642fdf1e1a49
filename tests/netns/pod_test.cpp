// What tuning and sbr do for a pod, and the announcement of its addresses: set by the program itself, seen by
// the kernel's own tools.
#include "tests/netns/one_pod.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Catch::Contains;

struct PodNode : OneDevice {
  PodNode() : OneDevice("ip link set vf1 txqueuelen 777 promisc on") {}
  Json done(const std::string& verb, const Json& conf) const { return OnePod::done(call(verb, conf)); }
  void refused(const Json& conf, int code, const std::string& words) const {
    OnePod::refused(call("ADD", conf), code, words);
    CHECK(world() == before);
    CHECK(link_in_pod(pod, "net1").is_null());
  }
  // CHECK, with what ADD answered.
  void check_fails(Json conf, const Json& result, const std::string& words) const {
    const Outcome outcome = run(call("CHECK", conf.set("prevResult", result)));
    INFO(outcome.out << outcome.err);
    CHECK(code_of(outcome) == 103);
    CHECK_THAT(message_of(outcome), Contains(words));
  }
  std::string details() const { return in_pod(pod, "ip -d link show dev net1"); }
};

Json with(Json conf, const std::string& keys) {
  const Json more = *Json::parse(keys);
  for (const auto& [key, value] : *more.as_object()) conf.set(key, value);
  return conf;
}

}  // namespace

TEST_CASE("The sizes of BIG TCP are set in the pod, checked, and the host's values restored") {
  PodNode node;
  const Json conf = with(node.config(), R"({"gsoMaxSize":32768,"groMaxSize":40000})");
  const Json result = node.done("ADD", conf);
  CHECK_THAT(node.details(), Contains("gso_max_size 32768") && Contains("gro_max_size 40000"));
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.in_pod(node.pod, "ip link set net1 gso_max_size 30000");
  node.check_fails(conf, result, "gsoMaxSize is 30000, expected 32768");
  node.done("DEL", conf);
  CHECK(node.world() == node.before);
}

TEST_CASE("Flags and queue length are set in the pod, checked, and the host's values restored") {
  PodNode node;
  const Json conf = with(node.config(), R"({"promisc":false,"allmulti":true,"txQLen":123})");
  const Json result = node.done("ADD", conf);
  CHECK_THAT(node.details(), Contains("ALLMULTI") && !Contains("PROMISC") && Contains("qlen 123"));
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.in_pod(node.pod, "ip link set net1 promisc on allmulticast off txqueuelen 5");
  node.check_fails(conf, result, "promisc is on, expected off");
  node.check_fails(conf, result, "allmulti is off, expected on");
  node.check_fails(conf, result, "txQLen is 5, expected 123");
  node.done("DEL", conf);
  CHECK(node.world() == node.before);
}

TEST_CASE("Flags that the pod set by itself are not on the host's interface after DEL") {
  PodNode node;
  node.done("ADD", node.config());
  CHECK_THAT(node.details(), Contains("PROMISC") && Contains("qlen 777"));
  node.in_pod(node.pod, "ip link set net1 promisc off allmulticast on txqueuelen 5");
  node.done("DEL", node.config());
  CHECK(node.world() == node.before);
}

TEST_CASE("Sysctls are set in the pod and nowhere else, and checked") {
  PodNode node;
  const Json conf = with(node.config(), R"({"sysctl":{"net.ipv4.conf.IFNAME.arp_filter":"1",
      "net/ipv4/conf/IFNAME/rp_filter":"2","net.ipv4.tcp_rmem":"4096 131072  5242880"}})");
  const std::string host = shell("cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/conf/vf1/arp_filter");
  const Json result = node.done("ADD", conf);
  CHECK(
      node.in_pod(node.pod, "cd /proc/sys/net/ipv4; cat conf/net1/arp_filter conf/net1/rp_filter tcp_rmem") ==
      "1\n2\n4096\t131072\t5242880\n");
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.in_pod(node.pod, "echo 0 > /proc/sys/net/ipv4/conf/net1/arp_filter");
  node.check_fails(conf, result, "sysctl net.ipv4.conf.IFNAME.arp_filter is 0, expected 1");
  node.done("DEL", conf);
  CHECK(node.world() == node.before);
  CHECK(shell("cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/conf/vf1/arp_filter") == host);
}

TEST_CASE("Sysctls that the allow-list or the kernel does not have leave the node unchanged") {
  PodNode node;
  Json conf = with(node.config(), R"({"sysctl":{"net.ipv4.conf.IFNAME.arp_filter":"1"}})");
  SECTION("not on the list") {
    write_tree(node.path("root"), "etc/cni/tuning/allowlist.conf = ^net[.]ipv6[.]");
    node.refused(conf, 102, "net.ipv4.conf.IFNAME.arp_filter");
  }
  SECTION("no such file") {
    conf.set("sysctl", *Json::parse(R"({"net.ipv4.conf.IFNAME.no_such_thing":"1"})"));
    node.refused(conf, 100, "net.ipv4.conf.IFNAME.no_such_thing");
  }
  SECTION("a value that the kernel refuses") {
    conf.set("sysctl", *Json::parse(R"({"net.ipv4.conf.IFNAME.arp_filter":"yes"})"));
    node.refused(conf, 7, "net.ipv4.conf.IFNAME.arp_filter to yes");
  }
  SECTION("on the list") {
    write_tree(node.path("root"), "etc/cni/tuning/allowlist.conf = arp_filter");
    node.done("ADD", conf);
    node.done("DEL", conf);
  }
}

namespace {

// A pod with its own default route, and two rails that each are assigned one.
struct TwoRails : PodNode {
  Json rails[2];
  std::string pod_before;
  TwoRails() {
    add_device("0000:03:02.2", "vf2");
    before = world();
    in_pod(pod,
           "ip link add name eth0 index 100 type veth peer name q index 101; ip link set eth0 up; ip link "
           "set q up; "
           "ip addr add 10.1.0.2/24 dev eth0; ip route add default via 10.1.0.1; ip rule add from 9.9.9.9 "
           "table 100");
    pod_before = routing();
    for (const int i : {0, 1}) {
      const std::string number = std::to_string(i);
      const std::string subnet = "10.2" + number + ".0.";
      Json ipam = *Json::parse(R"({"type":"static","routes":[{"dst":"0.0.0.0/0"},{"dst":"10.20.0.0/14"}]})");
      ipam.set("addresses",
               Json::array().push(Json().set("address", subnet + "5/24").set("gateway", subnet + "1")));
      rails[i] = config().set("name", "rail" + number).set("deviceID", "0000:03:02." + std::to_string(i + 1));
      rails[i].set("sourceRouting", true).set("ipam", ipam);
    }
  }
  Call rail_call(const std::string& verb, int rail) const {
    Call out = call(verb, rails[rail]);
    out.ifname = "net" + std::to_string(rail + 1);
    return out;
  }
  Json rail(const std::string& verb, int number) const { return OnePod::done(rail_call(verb, number)); }
  std::string routing() const { return in_pod(pod, "ip rule; ip -6 rule; ip -4 route show table all"); }
  std::string way(const std::string& to) const { return in_pod(pod, "ip route get " + to); }
};

}  // namespace

TEST_CASE("With source routing each rail answers by itself and the pod keeps its default route") {
  TwoRails node;
  const Json result = node.rail("ADD", 0);
  node.rail("ADD", 1);
  CHECK_THAT(node.in_pod(node.pod, "ip rule"),
             Contains("from 10.20.0.5 lookup 101") && Contains("from 10.21.0.5 lookup 102"));
  CHECK_THAT(node.way("8.8.8.8"), Contains("via 10.1.0.1 dev eth0"));
  CHECK_THAT(node.way("8.8.8.8 from 10.20.0.5"), Contains("via 10.20.0.1 dev net1"));
  CHECK_THAT(node.way("8.8.8.8 from 10.21.0.5"), Contains("via 10.21.0.1 dev net2"));
  CHECK_THAT(node.way("10.22.0.9 from 10.20.0.5"), Contains("via 10.20.0.1 dev net1"));
  CHECK_THAT(node.way("10.20.0.9 from 10.21.0.5"), Contains("via 10.21.0.1 dev net2"));
  CHECK_THAT(node.way("10.20.0.9"), Contains("dev net1") && !Contains("via"));

  const Json conf = with(node.rails[0], R"({"prevResult":)" + result.text() + "}");
  node.done("CHECK", conf);
  node.in_pod(node.pod, "ip route del default table 101");
  node.check_fails(conf, result, "route 0.0.0.0/0 is missing in table 101");
  node.in_pod(node.pod, "ip rule del from 10.20.0.5");
  node.check_fails(conf, result, "the rule from 10.20.0.5 to table 101 is missing");

  node.rail("DEL", 1);
  CHECK_THAT(node.in_pod(node.pod, "ip rule"), !Contains("10.21.0.5"));
  node.rail("DEL", 0);
  CHECK(node.routing() == node.pod_before);
  CHECK(node.world() == node.before);
}

TEST_CASE(
    "With source routing a rail answers ARP for its own addresses alone, unless the network says otherwise") {
  TwoRails node;
  const auto arp = [&](const std::string& name) {
    return node.in_pod(node.pod, "cd /proc/sys/net/ipv4/conf/" + name + "; cat arp_ignore arp_announce");
  };
  const std::string host = "cat /proc/sys/net/ipv4/conf/*/arp_ignore /proc/sys/net/ipv4/conf/*/arp_announce";
  const std::string host_before = shell(host);
  node.rails[1].set("sysctl", *Json::parse(R"({"net.ipv4.conf.IFNAME.arp_ignore":"0"})"));
  // It is about what the network asks for.
  write_tree(node.path("root"), "etc/cni/tuning/allowlist.conf = arp_ignore");
  const Json result = node.rail("ADD", 0);
  node.rail("ADD", 1);
  CHECK(arp("net1") == "1\n2\n");
  CHECK(arp("net2") == "0\n2\n");
  CHECK(arp("eth0") == "0\n0\n");
  // An attachment of a version before it has neither.
  node.in_pod(node.pod, "echo 0 > /proc/sys/net/ipv4/conf/net1/arp_announce");
  node.done("CHECK", with(node.rails[0], R"({"prevResult":)" + result.text() + "}"));
  node.rail("DEL", 1);
  node.rail("DEL", 0);
  CHECK(shell(host) == host_before);
  CHECK(node.world() == node.before);
}

TEST_CASE("Source routing of IPv6 addresses uses the configured table") {
  PodNode node;
  const Json conf = with(node.config(), R"({"sourceRouting":{"table":1000},"ipam":{"type":"static",
      "addresses":[{"address":"fd07::5/64","gateway":"fd07::1"}]}})");
  node.done("ADD", conf);
  CHECK_THAT(node.in_pod(node.pod, "ip -6 rule"), Contains("from fd07::5 lookup 1000"));
  CHECK_THAT(node.in_pod(node.pod, "ip -6 route get fd99::1 from fd07::5"), Contains("via fd07::1 dev net1"));
  CHECK_THAT(node.in_pod(node.pod, "ip -6 route get fe80::9 from fd07::5 oif net1"), !Contains("via"));
  node.done("DEL", conf);
  CHECK_THAT(node.in_pod(node.pod, "ip -6 rule"), !Contains("1000"));
  CHECK(node.world() == node.before);
}

TEST_CASE(
    "A host address (/32) reaches its gateway by the route that IPAM gives for it, or without one on the "
    "link") {
  PodNode node;
  const std::string routes = GENERATE(
      as<std::string>(), R"([{"dst":"0.0.0.0/0","gw":"10.64.0.1"},{"dst":"10.64.0.1/32","scope":253}])",
      R"([{"dst":"0.0.0.0/0","gw":"10.64.0.1"}])");
  node.add_ipam("script-ipam",
                "test $CNI_COMMAND = ADD || exit 0\necho '" +
                    (R"({"cniVersion":"1.1.0","ips":[{"address":"10.64.0.5/32"}],"routes":)" + routes) +
                    "}'");
  const bool own = GENERATE(false, true);
  Json conf = with(node.config("1.1.0"), R"({"ipam":{"type":"script-ipam"}})");
  conf.set("sourceRouting", own);
  const Json result = node.done("ADD", conf);
  CHECK_THAT(node.in_pod(node.pod, "ip route get 10.64.9.9 from 10.64.0.5"),
             Contains("via 10.64.0.1 dev net1"));
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.done("DEL", conf);
  CHECK(node.world() == node.before);
}

TEST_CASE("With source routing two networks of one interface each answer through their own gateway") {
  PodNode node;
  const Json conf = with(node.config(), R"({"sourceRouting":true,"ipam":{"type":"static","addresses":[
      {"address":"10.20.0.5/24","gateway":"10.20.0.1"},{"address":"10.30.0.5/24","gateway":"10.30.0.1"}]}})");
  const Json result = node.done("ADD", conf);
  const auto way = [&](const std::string& from) {
    return node.in_pod(node.pod, "ip route get 8.8.8.8 from " + from);
  };
  CHECK_THAT(way("10.20.0.5"), Contains("via 10.20.0.1 dev net1"));
  CHECK_THAT(way("10.30.0.5"), Contains("via 10.30.0.1 dev net1"));
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.in_pod(node.pod, "ip rule del from 10.30.0.5");
  node.check_fails(conf, result, "the rule from 10.30.0.5 to table 1000100 is missing");
  node.in_pod(node.pod, "ip rule add from 10.30.0.5 table 1000100");
  node.done("DEL", conf);
  CHECK_THAT(node.in_pod(node.pod, "ip rule"), !Contains("10.20.0.5") && !Contains("10.30.0.5"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A table that the pod uses already is refused, and the pod stays unchanged") {
  TwoRails node;
  Call call = node.rail_call("ADD", 0);
  call.config.set("sourceRouting", *Json::parse(R"({"table":100})"));
  const Outcome outcome = node.run(call);
  CHECK(code_of(outcome) == 101);
  CHECK_THAT(message_of(outcome), Contains("table 100"));
  CHECK(node.routing() == node.pod_before);
  CHECK(node.world() == node.before);
}

TEST_CASE("CHECK sees that a route lost its MTU") {
  PodNode node;
  node.add_ipam("script-ipam", R"(test $CNI_COMMAND = ADD || exit 0
    echo '{"cniVersion":"1.1.0","ips":[{"address":"10.8.0.2/24"}],
    "routes":[{"dst":"10.9.0.0/16","gw":"10.8.0.1","mtu":1200,"advmss":70000}]}')");
  const Json conf = with(node.config("1.1.0"), R"({"ipam":{"type":"script-ipam"}})");
  const Json result = node.done("ADD", conf);
  node.done("CHECK", with(conf, R"({"prevResult":)" + result.text() + "}"));
  node.in_pod(node.pod, "ip route change 10.9.0.0/16 via 10.8.0.1 dev net1 mtu 1300");
  node.check_fails(conf, result, "route 10.9.0.0/16 has MTU 1300 and advmss 0, expected 1200 and 70000");
}

}  // namespace vfrail::test
