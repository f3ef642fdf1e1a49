// cni/conf/pod_conf.cpp: the keys of the tuning and sbr plugins, and what is refused before anything changes.
#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

Result<NetConf> parse(const std::string& keys) {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","ipam":{"type":"static"},)" +
                        keys + "}");
}

PodSettings settings(const std::string& keys) {
  auto conf = parse(keys);
  if (!conf) FAIL(conf.error().text);
  return std::move(conf->pod);
}

Error refusal(const std::string& keys) {
  auto conf = parse(keys);
  REQUIRE_FALSE(conf);
  CHECK(conf.error().code == Errc::invalid);
  return std::move(conf.error());
}

}  // namespace

TEST_CASE("Without a key of tuning or sbr nothing is set") {
  const PodSettings pod = settings(R"("mtu":9000)");
  CHECK_FALSE(pod.need_link());
}

TEST_CASE("Flags and queue length are read, and false is not the same as nothing") {
  const PodSettings pod = settings(R"("promisc":true,"AllMulti":false,"txQLen":0)");
  CHECK(pod.link.get("promisc") == 1U);
  CHECK(pod.link.get("allmulti") == 0U);
  CHECK(pod.link.get("txQLen") == 0U);
}

TEST_CASE("Every setting of a link is read by its key and range-checked") {
  for (const LinkSetting& row : kLinkSettings) {
    const std::string key = row.key;
    CAPTURE(key);
    const std::string most = row.flag ? "true" : std::to_string(row.most);
    CHECK(settings("\"" + key + "\":" + most).link.get(key) == row.most);
    const std::string beyond = row.flag ? "2" : std::to_string(row.most + 1ULL);
    CHECK_THAT(refusal("\"" + key + "\":" + beyond).text, Contains(key));
  }
}

TEST_CASE("A flag or queue length of the wrong type is refused with the key and the value") {
  CHECK_THAT(refusal(R"("promisc":"on")").text, Contains("promisc") && Contains("\"on\""));
  CHECK_THAT(refusal(R"("allmulti":1)").text, Contains("allmulti") && Contains("1"));
  CHECK_THAT(refusal(R"("txQLen":-1)").text, Contains("txQLen") && Contains("-1"));
  CHECK_THAT(refusal(R"("txQLen":1000001)").text, Contains("txQLen") && Contains("1000000"));
  CHECK_THAT(refusal(R"("txQLen":"500")").text, Contains("txQLen") && Contains("a string"));
}

TEST_CASE("Source routing is off, on, or on with a table that is not one of the kernel's") {
  CHECK_FALSE(settings(R"("sourceRouting":false)").source_routing.has_value());
  CHECK_FALSE(settings(R"("sourceRouting":true)").source_routing->table.has_value());
  CHECK_FALSE(settings(R"("sourceRouting":{})").source_routing->table.has_value());
  CHECK(settings(R"("sourceRouting":{"Table":3270967295})").source_routing->table == 3270967295U);
  CHECK_THAT(refusal(R"("sourceRouting":"yes")").text, Contains("sourceRouting") && Contains("\"yes\""));
  CHECK_THAT(refusal(R"("sourceRouting":{"table":0})").text, Contains("sourceRouting.table"));
  CHECK_THAT(refusal(R"("sourceRouting":{"table":254})").text, Contains("254 main"));
  CHECK_THAT(refusal(R"("sourceRouting":{"tabel":5})").text, Contains("sourceRouting.tabel"));
  CHECK_THAT(refusal(R"("ipam":{},"sourceRouting":true)").text, Contains("an ipam section"));
}

TEST_CASE("A sysctl is read in both notations, and the interface name is inserted last") {
  const auto path = [](const std::string& key, std::string_view ifname) {
    const auto pod = settings(R"("sysctl":{")" + key + R"(":"1"})");
    REQUIRE(pod.sysctls.size() == 1);
    CHECK(pod.sysctls[0].key == key);
    CHECK(pod.sysctls[0].value == "1");
    return pod.sysctls[0].path_for(ifname);
  };
  CHECK(path("net.ipv4.conf.IFNAME.arp_notify", "net1") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net/ipv4/conf/IFNAME/arp_notify", "net1") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net.ipv4.conf.IFNAME.arp_notify", "net1.100") == "ipv4/conf/net1.100/arp_notify");
  CHECK(path("net.ipv4.conf.eth0/100.arp_notify", "net1") == "ipv4/conf/eth0.100/arp_notify");
  CHECK(path("net/ipv4/conf/eth0.100/arp_notify", "net1") == "ipv4/conf/eth0.100/arp_notify");
  CHECK(path("net.core.somaxconn", "net1") == "core/somaxconn");
  CHECK(path("net.ipv4.conf.IFNAME.IFNAME", "IFNAME") == "ipv4/conf/IFNAME/IFNAME");
}

TEST_CASE("A sysctl outside of net is refused with its key") {
  const auto key =
      GENERATE(as<std::string>(), "kernel.msgmax", "net", "net.", "net/", "net/../kernel/msgmax",
               "net/ipv4/../../kernel/msgmax", "net//kernel", "net..kernel", "/net/core/x", "net/./core",
               "./net/core", "NET.core.somaxconn", "net.core.a b", "", "network.x", "net/core/x/..");
  CAPTURE(key);
  CHECK_THAT(refusal(R"("sysctl":{")" + key + R"(":"1"})").text,
             Contains("sysctl." + key) && Contains("below net"));
}

TEST_CASE("A sysctl's value is one line of text") {
  const auto value = GENERATE(as<std::string>(), R"("1\n2")", R"("a\u0000b")", "null", "1", "true",
                              "\"" + std::string(4097, 'x') + "\"");
  CAPTURE(value);
  CHECK_THAT(refusal(R"("sysctl":{"net.core.somaxconn":)" + value + "}").text,
             Contains("sysctl.net.core.somaxconn") && Contains("must be"));
  CHECK(settings(R"("sysctl":{"net.core.x":")" + std::string(4096, 'x') + R"("})").sysctls.size() == 1);
}

TEST_CASE("Two keys for the same sysctl are refused, whatever their notation") {
  CHECK_THAT(refusal(R"("sysctl":{"net.core.somaxconn":"1","net/core/somaxconn":"2"})").text,
             Contains("net/core/somaxconn") && Contains("net.core.somaxconn"));
  CHECK_THAT(refusal(R"("sysctl":["net.core.somaxconn"])").text, Contains("must be an object"));
}

TEST_CASE("A repeated sysctl is refused within the network or args.cni, but may be in both") {
  const auto repeated = [](const std::string& keys) {
    const auto conf = parse_net_conf(R"({"name":"x",)" + keys + "}");
    return conf ? std::string() : conf.error().text;
  };
  const std::string twice = R"("sysctl":{"net.ipv4.ip_forward":"1" , "net.ipv4.ip_forward" : "0"})";
  CHECK_THAT(repeated(twice), Contains("net.ipv4.ip_forward is there twice (duplicated)"));
  CHECK_THAT(repeated(R"("args":{"cni":{)" + twice + "}}"), Contains("duplicated"));
  CHECK(repeated(
            R"("sysctl":{"net.ipv4.ip_forward":"1"},"args":{"cni":{"sysctl":{"net.ipv4.ip_forward":"0"}}})")
            .empty());
  CHECK(repeated(R"("dns":{"domain":"a\\\"{"},"x":[{"sysctl":{"a":1,"a":1}}],"sysctl":{"net.a":"net.a"})")
            .empty());
}

TEST_CASE("A sysctl may have both separators, and an empty value sets nothing, as with tuning") {
  const auto path = [](const std::string& key) {
    const auto pod = settings(R"("sysctl":{")" + key + R"(":"1"})");
    REQUIRE(pod.sysctls.size() == 1);
    return pod.sysctls[0].path_for("net1");
  };
  CHECK(path("net/ipv4.conf.IFNAME.arp_notify") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net.ipv4/conf/IFNAME/arp_notify") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net/ipv4/conf.IFNAME.arp_notify") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net/ipv4/conf/IFNAME.arp_notify") == "ipv4/conf/net1/arp_notify");
  CHECK(path("net/ipv4.conf/eth0.100/arp_notify") == "ipv4/conf/eth0.100/arp_notify");
  CHECK(path("net/ipv4/neigh/eth0.100/gc_stale_time") == "ipv4/neigh/eth0.100/gc_stale_time");
  CHECK_THAT(refusal(R"("sysctl":{"net/ipv4/conf/../x":"1"})").text, Contains("below net"));
  CHECK(settings(R"("sysctl":{"net.core.somaxconn":""})").sysctls.empty());
}

TEST_CASE("A wrong key in args.cni is a warning under the name of a plugin that does not read it") {
  const auto conf_of = [](const std::string& type) {
    return parse_net_conf(R"({"name":"x","type":")" + type + R"(","args":{"cni":{"mtu":"1400"}}})");
  };
  CHECK_FALSE(conf_of("vfrail"));
  for (const char* type : {"host-device", "sriov", "ib-sriov", "rdma"}) {
    const auto conf = conf_of(type);
    REQUIRE(conf);
    CHECK_FALSE(conf->link.mtu.has_value());
    REQUIRE(conf->warnings.size() == 1);
    CHECK_THAT(conf->warnings[0], Catch::StartsWith("args.cni.mtu: ") && Contains(type));
  }
}

}  // namespace vfrail
