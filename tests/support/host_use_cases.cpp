#include "tests/support/host_use_cases.h"

#include "common/ip_address.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace vfrail::test {

namespace {

using Kind = HostUseFact::Kind;

// Each kind of master that owns its members: the interface itself is one, or a VLAN on it.
void add_members(std::vector<HostUseCase>& out) {
  struct Master {
    std::string name;
    std::string kind;
    std::string words;
  };
  for (const auto& [master, kind, words] :
       {Master{"bond0", "bond", "bond0 (a bond)"}, Master{"br0", "bridge", "br0 (a bridge)"},
        Master{"team0", "team", "team0 (a team)"},
        Master{"ovs-system", "openvswitch", "ovs-system (Open vSwitch)"}}) {
    out.push_back({"a member of a " + kind,
                   {{"vf0", "", "", master}, {master, kind}},
                   {},
                   {},
                   {{Kind::member, "part of " + words}}});
    out.push_back({"a VLAN on it is a member of a " + kind,
                   {{"vf0"}, {"vf0.5", "vlan", "vf0", master}, {master, kind}},
                   {},
                   {},
                   {{Kind::member, "vf0.5, above vf0, is part of " + words}}});
  }
}

void add_vrfs(std::vector<HostUseCase>& out) {
  out.push_back({"in a VRF", {{"vf0", "", "", "blue"}, {"blue", "vrf"}}, {}, {}, {}});
  out.push_back({"a macvlan on it is in a VRF",
                 {{"vf0"}, {"mv0", "macvlan", "vf0", "blue"}, {"blue", "vrf"}},
                 {},
                 {},
                 {}});
  out.push_back({"what owns a VRF does not own what is in it",
                 {{"vf0", "", "", "blue"}, {"blue", "vrf", "", "br0"}, {"br0", "bridge"}},
                 {},
                 {},
                 {}});
  out.push_back({"a default route over its VRF",
                 {{"vf0", "", "", "blue"}, {"blue", "vrf"}},
                 {{"blue"}},
                 {},
                 {{Kind::default_route, "blue, above vf0, carries the IPv4 default route (table main)"}}});
  out.push_back(
      {"in a VRF, and a VLAN on it in a bridge",
       {{"vf0", "", "", "blue"}, {"blue", "vrf"}, {"vf0.5", "vlan", "vf0", "br0"}, {"br0", "bridge"}},
       {},
       {},
       {{Kind::member, "vf0.5, above vf0, is part of br0 (a bridge)"}}});
}

void add_routes(std::vector<HostUseCase>& out) {
  out.push_back({"other routes are no use", {{"vf0"}}, {{"vf0", "10.8.0.0/16"}}, {}, {}});
  out.push_back({"a default route of its own",
                 {{"vf0"}},
                 {{"vf0"}},
                 {},
                 {{Kind::default_route, "vf0 carries the IPv4 default route (table main)"}}});
  out.push_back({"a default route with two metrics is named once",
                 {{"vf0"}},
                 {{"vf0"}, {"vf0"}},
                 {},
                 {{Kind::default_route, "vf0 carries the IPv4 default route (table main)"}}});
  out.push_back({"default routes of both families, and of another table",
                 {{"vf0"}},
                 {{"vf0", "0.0.0.0/0", 77}, {"vf0", "::/0"}},
                 {},
                 {{Kind::default_route,
                   "vf0 carries the IPv4 default route (table 77), the IPv6 default route (table main)"}}});
  out.push_back({"a default route over a macvlan on it",
                 {{"vf0"}, {"mv0", "macvlan", "vf0"}},
                 {{"mv0"}},
                 {},
                 {{Kind::default_route, "mv0, above vf0, carries the IPv4 default route (table main)"}}});
  out.push_back(
      {"a default route over its bond",
       {{"vf0", "", "", "bond0"}, {"bond0", "bond"}},
       {{"bond0"}},
       {},
       {{Kind::default_route, "part of bond0 (a bond), which carries the IPv4 default route (table main)"}}});
  out.push_back(
      {"a default route over a VLAN of its bond",
       {{"vf0", "", "", "bond0"}, {"bond0", "bond"}, {"bond0.100", "vlan", "bond0"}},
       {{"bond0.100"}},
       {},
       {{Kind::default_route,
         "part of bond0 (a bond), on which bond0.100 carries the IPv4 default route (table main)"}}});
  out.push_back({"a default route of somebody else's",
                 {{"vf0"}, {"eth9", "veth"}, {"br0", "bridge"}},
                 {{"eth9"}, {"br0"}},
                 {},
                 {}});
}

void add_addresses(std::vector<HostUseCase>& out) {
  out.push_back({"addresses, link-local ones apart",
                 {{"vf0"}, {"vf0.5", "vlan", "vf0"}},
                 {},
                 {{"vf0", "10.9.0.2/24"},
                  {"vf0", "fe80::1/64"},
                  {"vf0", "2001:db8::5/64"},
                  {"vf0.5", "169.254.0.1/16"}},
                 {{Kind::address, "vf0 has address 10.9.0.2/24, address 2001:db8::5/64"}}});
  out.push_back({"the address of the bridge of its bond",
                 {{"vf0", "", "", "bond0"}, {"bond0", "bond", "", "br0"}, {"br0", "bridge"}},
                 {},
                 {{"br0", "10.9.0.2/24"}},
                 {{Kind::member, "part of bond0 (a bond), on which br0 has address 10.9.0.2/24"}}});
  out.push_back(
      {"the route and the address of its bond",
       {{"vf0", "", "", "bond0"}, {"bond0", "bond"}},
       {{"bond0"}},
       {{"bond0", "10.9.0.2/24"}},
       {{Kind::default_route,
         "part of bond0 (a bond), which carries the IPv4 default route (table main) and has address "
         "10.9.0.2/24"}}});
}

bool is_link_local(const std::string& address) {
  return address.starts_with("fe80:") || address.starts_with("169.254.");
}

std::vector<std::string> masters_and_uppers(const HostUseCase& row, const HostUseCase::Interface& below) {
  std::vector<std::string> out;
  for (const auto& one : row.interfaces) {
    if (one.on == below.name || one.name == below.master) out.push_back(one.name);
  }
  return out;
}

std::string sysfs_of(const HostUseCase& row, const HostUseCase::Interface& one, int index) {
  const std::string folder = "sys/class/net/" + one.name;
  std::string out = folder + "/ifindex = " + std::to_string(index) + "\n";
  out += folder + "/flags = " + (one.kind == "vrf" ? "0x4c1" : "0x1003") + "\n";
  if (one.kind == "bond") out += folder + "/bonding/mode = 802.3ad 4\n";
  if (one.kind == "bridge") out += folder + "/bridge/stp_state = 0\n";
  if (!one.master.empty()) out += folder + "/master -> ../" + one.master + "\n";
  for (const std::string& upper : masters_and_uppers(row, one))
    out += folder + "/upper_" + upper + " -> ../" + upper + "\n";
  return out;
}

template <class T>
T need(std::optional<T> value) {
  if (!value) throw std::runtime_error("a row of host_use_cases.cpp cannot be parsed");
  return *std::move(value);
}

void need(const Result<>& done) {
  if (!done) throw std::runtime_error("host_use_cases.cpp: " + done.error().text);
}

}  // namespace

const std::vector<HostUseCase>& host_use_cases() {
  static const std::vector<HostUseCase> rows = [] {
    std::vector<HostUseCase> out{{"a device alone", {{"vf0"}}, {}, {}, {}}};
    add_members(out);
    add_vrfs(out);
    add_routes(out);
    add_addresses(out);
    return out;
  }();
  return rows;
}

HostLinks links_of(const HostUseCase& row) {
  HostLinks out;
  for (const auto& one : row.interfaces)
    out[one.name] = {.kind = one.kind, .master = one.master, .uppers = masters_and_uppers(row, one)};
  for (const auto& [interface, destination, table] : row.routes) {
    const IpAddress to = need(IpAddress::parse_cidr(destination));
    auto& routes = out.at(interface).default_routes;
    const std::string name = name_default_route(to.v6(), table);
    if (to.prefix == 0 && std::find(routes.begin(), routes.end(), name) == routes.end())
      routes.push_back(name);
  }
  for (const auto& [interface, address] : row.addresses) {
    if (!is_link_local(address)) out.at(interface).addresses.push_back("address " + address);
  }
  return out;
}

HostUseNode::HostUseNode(const HostUseCase& row) : world(dir.path()) {
  world.add_vf(kDevice, "vf0");
  for (const auto& one : row.interfaces) {
    if (one.name == "vf0") continue;
    if (one.on.empty())
      world.add_veth(FakeWorld::kHost, one.name);
    else
      world.stack(FakeWorld::kHost, one.on, one.name);
    world.link(one.name).kind = one.kind;
  }
  for (const auto& one : row.interfaces) {
    Link& link = world.link(one.name);
    link.flags |= 1U;
    if (!one.master.empty()) link.master = world.link(one.master).index;
    write_tree(dir.path(), sysfs_of(row, one, link.index));
  }
  const auto host = world.open(FakeWorld::kHost);
  uint32_t metric = 0;
  for (const auto& [interface, destination, table] : row.routes) {
    Route route;
    route.priority = ++metric;  // two to the same network differ in it
    route.destination = need(IpAddress::parse_cidr(destination));
    route.link = world.link(interface).index;
    route.table = table;
    need(host->add_route(route));
  }
  for (const auto& [interface, address] : row.addresses)
    need(host->add_address(world.link(interface).index, need(IpAddress::parse_cidr(address))));
}

bool HostUseNode::write_routes(const HostUseCase& row) const {
  std::string text = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
  for (const auto& [interface, destination, table] : row.routes) {
    if (table != 254 || destination.find(':') != std::string::npos) return false;
    const bool is_default = destination == "0.0.0.0/0";
    const std::string to = is_default ? "00000000" : "0000080A";
    const std::string mask = is_default ? "00000000" : "0000FFFF";
    text += interface + "\t" + to + "\t0100000A\t0003\t0\t0\t0\t" + mask + "\t0\t0\t0\n";
  }
  std::filesystem::create_directories(dir.path("proc/1/net"));
  std::ofstream(dir.path("proc/1/net/route")) << text;
  return true;
}

}  // namespace vfrail::test
