#include "plugin/device/inventory/host_use.h"

#include "plugin/device/inventory/host_network.h"
#include "tests/plugin/tree.h"
#include "tests/support/fake_kernel.h"
#include "tests/support/host_use_cases.h"

#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::function;
using test::Tree;
using Kind = HostUseFact::Kind;

namespace {

std::vector<std::string> facts(const Inventory& inventory, const std::string& address, Kind kind) {
  std::vector<std::string> out;
  for (const HostUseFact& fact : function(inventory, address).host_use) {
    if (fact.kind == kind) out.push_back(fact.what);
  }
  return out;
}

HostNetwork read_network(const SysRoot& sys, Kernel* host) {
  auto out = read_host_network(sys, host);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

// What sysfs shows of a row: it does not name the kind of a team.
std::vector<HostUseFact> uses_in_sysfs(const test::HostUseCase& row) {
  std::vector<HostUseFact> out = row.uses;
  for (HostUseFact& fact : out) {
    const std::string team = " (a team)";
    if (fact.what.ends_with(team)) fact.what.erase(fact.what.size() - team.size());
  }
  return out;
}

std::vector<HostUseFact> use_by_plugin(const test::HostUseNode& node, Kernel* host) {
  const SysRoot sys(node.dir.path());
  Netdev netdev;
  netdev.name = *IfName::parse("vf0");
  const auto out = read_host_use(sys, {netdev}, read_network(sys, host));
  if (!out) FAIL(out.error().text);
  return *out;
}

}  // namespace

TEST_CASE("the device plugin reads from sysfs what the host uses, by the table for both programs") {
  for (const test::HostUseCase& row : test::host_use_cases()) {
    INFO(row.name);
    test::HostUseNode node(row);
    const auto host = node.world.open(test::FakeWorld::kHost);
    CHECK(use_by_plugin(node, host.get()) == uses_in_sysfs(row));
  }
}

TEST_CASE("without netlink the device plugin reads the same from the main table's file") {
  int rows = 0;
  for (const test::HostUseCase& row : test::host_use_cases()) {
    INFO(row.name);
    const test::HostUseNode node(row);
    if (!row.addresses.empty() || !node.write_routes(row)) continue;
    ++rows;
    CHECK(use_by_plugin(node, nullptr) == uses_in_sysfs(row));
  }
  CHECK(rows > 15);
}

TEST_CASE("a bond's member is in use by the bond's IPv4 default route over a VLAN") {
  const Inventory inventory = Tree("management").scan();
  for (const char* address : {"0000:01:00.0", "0000:01:00.1"}) {
    const auto all = facts(inventory, address, Kind::default_route);
    REQUIRE(all.size() == 1);
    CHECK(all.front().find("part of bond0 (a bond), on which bond0.100 carries the IPv4 default route (table "
                           "main) and has ") == 0);
    CHECK(facts(inventory, address, Kind::member).empty());
    CHECK(function(inventory, address).host_use.front().kind == Kind::default_route);
  }
}

TEST_CASE("an IPv6 default route over a VLAN counts for the interface below") {
  const Inventory inventory = Tree("management").scan();
  CHECK(facts(inventory, "0000:02:00.0", Kind::default_route) ==
        std::vector<std::string>{"eno3.7, above eno3, carries an IPv6 default route"});
  CHECK(facts(inventory, "0000:02:00.0", Kind::member).empty());
}

TEST_CASE("an interface with addresses is in use, but not for link-local ones") {
  const Inventory inventory = Tree("management").scan();
  CHECK(
      facts(inventory, "0000:02:00.1", Kind::address) ==
      std::vector<std::string>{"eno4 has the connected network 192.168.2.0/24, address 2001:db8:0:7::1/64"});
  CHECK(function(inventory, "0000:02:00.1").host_use.size() == 1);
  CHECK(function(inventory, "0000:05:00.0").host_use.empty());
}

TEST_CASE("a VRF does not own its interfaces") {
  CHECK(function(Tree("management").scan(), "0000:04:00.0").host_use.empty());
}

TEST_CASE("an interface whose VLAN is a bridge's port is a member") {
  const Inventory inventory = Tree("management").scan();
  CHECK(facts(inventory, "0000:04:00.1", Kind::member) ==
        std::vector<std::string>{"ens6.5, above ens6, is part of br0 (a bridge)"});
}

TEST_CASE("an interface's own default route counts") {
  CHECK(facts(Tree("management").scan(), "0000:00:05.0", Kind::default_route) ==
        std::vector<std::string>{"eth9 carries the IPv4 default route (table main)"});
}

TEST_CASE("a port of Open vSwitch is a member") {
  const Inventory inventory = Tree("mlx5_switchdev").scan();
  CHECK(facts(inventory, "0000:03:00.0", Kind::member).at(0) == "part of ovs-system (Open vSwitch)");
  CHECK(function(inventory, "0000:03:00.2").host_use.empty());
}

TEST_CASE("a default route in another table is a warning when only files can be read") {
  const Inventory inventory = Tree("management").scan();
  REQUIRE(inventory.warnings.size() == 1);
  CHECK(inventory.warnings[0].text.find("table 200 has an IPv4 default route") == 0);
  CHECK(inventory.warnings[0].line().ends_with(" [VF-HOST-ROUTES-UNKNOWN]"));
}

TEST_CASE("routes that cannot be read are a warning, not silence") {
  const Inventory inventory = Tree("igb_node").scan();
  REQUIRE(inventory.warnings.size() == 1);
  CHECK(inventory.warnings[0].text.find("the host's IPv4 default routes are not known") == 0);
}

TEST_CASE("without proc/1 the files of proc/net are read") {
  Tree tree("igb_node");
  tree.add("proc/net/route | eth3\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0");
  CHECK(facts(tree.scan(), "0000:21:10.2", Kind::default_route).size() == 1);
}

TEST_CASE("unreachable routes and the loopback interface are no default routes") {
  HostNetwork network;
  parse_proc_route("*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0\n", network);
  parse_proc_ipv6_route(
      "00000000000000000000000000000000 00 00000000000000000000000000000000 00 "
      "00000000000000000000000000000000 "
      "ffffffff 00000001 00000000 00200200       lo\n",
      network);
  CHECK(network.default_routes.empty());
}

TEST_CASE("files of the host that cannot be read are an error, and the reader's own are not taken for them") {
  Tree tree("");
  tree.add("proc/net/route | eth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0");
  CHECK(read_network(tree.sys(), nullptr).default_routes.size() == 1);  // a captured tree without proc/1
  SECTION("route is a folder, whose read is EISDIR") { tree.add("proc/1/net/route/"); }
  SECTION("proc/1 is a link that leads to itself, ELOOP") { tree.add("proc/1 -> 1"); }
  SECTION("procfs hides proc/1") { tree.add("proc/self/status = Name: x"); }
  const auto network = read_host_network(tree.sys(), nullptr);
  REQUIRE_FALSE(network);
  CHECK(network.error().text.find("read the host's routes and addresses: ") == 0);
}

TEST_CASE("a file that the host's own folder lacks is not read elsewhere") {
  Tree tree("");
  tree.add("proc/net/route | eth0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\nproc/1/net/");
  const HostNetwork network = read_network(tree.sys(), nullptr);
  CHECK(network.default_routes.empty());
  CHECK(network.warnings.at(0).text.find("the host's IPv4 default routes are not known") == 0);
}

TEST_CASE("a router's routes are read line by line, and without what is slow in the kernel") {
  Tree tree("");
  tree.add(
      "proc/1/net/route = none\nproc/1/net/fib_trie = none\nproc/1/net/rt6_stats = "
      "none\nproc/1/net/ipv6_route = none");
  const auto write = [&](const std::string& name, const std::string& text) {
    std::ofstream(tree.root() + "/proc/1/net/" + name) << text;
  };
  std::string routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
  for (int i = 0; i < 20'000; ++i)
    routes += "eth1\t" + std::string("00AB10C0\t0100000A\t0003\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
  write("route", routes + "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
  const std::string table = "Id 100:\n  +-- 0.0.0.0/0 2 0 2\n     |-- 0.0.0.0\n        /0 universe UNICAST\n";
  const std::string ipv6 = std::string(32, '0') + " 00 " + std::string(32, '0') + " 00 " +
                           std::string(32, '0') + " 00000400 00000001 00000000 00000003 eth0\n";
  write("fib_trie", table + "Main:\nId 300:\n     |-- 0.0.0.0\n        /0 universe UNICAST\n");
  write("rt6_stats", "0004 0005 0010 0007 0000 0006 0000\n");
  write("ipv6_route", ipv6);
  HostNetwork network = read_network(tree.sys(), nullptr);
  CHECK(network.default_routes.at("eth0").size() == 2);
  REQUIRE(network.warnings.size() == 1);  // what follows the main table is not read
  CHECK(network.warnings[0].text.find("table 100 has an IPv4 default route") == 0);

  std::string longer = "Id 90:\n";
  while (longer.size() < 300'000) longer += "     |-- 10.0.0.0\n        /24 universe UNICAST\n";
  write("fib_trie", longer + table);
  write("rt6_stats", "0004 0005 0010 7536 0000 0006 0000\n");
  network = read_network(tree.sys(), nullptr);
  CHECK(network.default_routes.at("eth0").size() == 1);
  REQUIRE(network.warnings.size() == 2);
  CHECK(network.warnings[0].text.find("a routing table beside main is too long to be read") == 0);
  CHECK(network.warnings[1].text.find("the host has too many IPv6 routes to be read in ") == 0);
  for (const Warning& warning : network.warnings)
    CHECK(warning.line().ends_with(" [VF-HOST-ROUTES-UNKNOWN]"));

  // One more route is no other warning, which would be another line of the log at each scan.
  write("rt6_stats", "0004 0005 0010 7537 0000 0006 0000\n");
  CHECK(read_network(tree.sys(), nullptr).warnings == network.warnings);
}

TEST_CASE("a temporary IPv6 address, which is another one tomorrow, is no fact about the host") {
  HostNetwork network;
  parse_proc_if_inet6(
      "20010db8000000070000000000000005 05 40 00 00     eno4\n"
      "20010db800000007a1b2c3d4e5f60718 05 40 00 01     eno4\n"
      "20010db800000007000000000000ff01 05 40 00 21     eno4\n",
      network);
  CHECK(network.addresses.at("eno4") == std::vector<std::string>{"address 2001:db8:0:7::5/64"});
}

TEST_CASE("lines that cannot be parsed are skipped") {
  HostNetwork network;
  for (const char* text :
       {"", "\n", "eth0", "eth0\tzz\tzz\tzz\t0\t0\t0\tzz\t0", "eth0 1 2 3 4 5 6 7 8 9 10 11"}) {
    parse_proc_route(text, network);
    parse_proc_ipv6_route(text, network);
    parse_proc_if_inet6(text, network);
    parse_proc_fib_trie(text, network);
  }
  CHECK(network.default_routes.empty());
  CHECK(network.warnings.empty());
}

TEST_CASE(
    "netlink reports default routes of every table and the addresses, neither link-local nor temporary "
    "ones") {
  const test::TempDir folder;
  test::FakeWorld world(folder.path());
  world.add_vf("0000:21:10.0", "vf0");
  world.link("vf0").flags |= 1U;
  const int index = world.link("vf0").index;
  const auto host = world.open(test::FakeWorld::kHost);
  for (const char* address : {"10.1.2.3/24", "fe80::1/64", "2001:db8::5/64"}) {
    REQUIRE(host->add_address(index, *IpAddress::parse_cidr(address)));
  }
  LinkAddress temporary{.address = *IpAddress::parse_cidr("2001:db8::a1b2/64"), .temporary = true};
  world.fake_link(test::FakeWorld::kHost, "vf0").addresses.push_back(temporary);
  Route route;
  route.destination = *IpAddress::parse_cidr("0.0.0.0/0");
  route.gateway = IpAddress::parse("10.1.2.1");
  route.link = index;
  route.table = 200;
  REQUIRE(host->add_route(route));
  Tree tree("");
  tree.add("sys/class/net/vf0/ifindex = " + std::to_string(index));

  const HostNetwork network = read_network(tree.sys(), host.get());
  CHECK(network.default_routes.at("vf0") == std::vector<std::string>{"the IPv4 default route (table 200)"});
  CHECK(network.addresses.at("vf0") ==
        std::vector<std::string>{"address 10.1.2.3/24", "address 2001:db8::5/64"});
  CHECK(network.warnings.empty());
}

TEST_CASE("when netlink fails the files are read, and a warning says so") {
  const test::TempDir folder;
  test::FakeWorld world(folder.path());
  const auto host = world.open(test::FakeWorld::kHost);
  world.fail_call(1, EPERM, test::FakeWorld::When::before);
  const HostNetwork network = read_network(Tree("management").sys(), host.get());
  CHECK(network.default_routes.count("bond0.100") == 1);
  CHECK(network.warnings.back().text.find("EPERM (Operation not permitted); files are read instead") !=
        std::string::npos);
}

TEST_CASE(
    "addresses that cannot be read are as routes that cannot; an interface that has just gone has none") {
  const test::TempDir folder;
  test::FakeWorld world(folder.path());
  world.add_vf("0000:21:10.0", "vf0");
  const auto host = world.open(test::FakeWorld::kHost);
  Tree tree("");
  tree.add("sys/class/net/vf0/ifindex = " + std::to_string(world.link("vf0").index));
  const int error = GENERATE(ENODEV, ENOMEM, EIO);
  CAPTURE(error);
  world.fail_call(2, error, test::FakeWorld::When::before);
  const HostNetwork network = read_network(tree.sys(), host.get());
  REQUIRE(world.calls() == 2);
  CHECK(network.warnings.empty() == (error == ENODEV));
  if (error != ENODEV) CHECK(network.warnings.back().text.find("read the addresses of vf0: ") == 0);
}
