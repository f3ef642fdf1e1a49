// common/netlink/parse.h: bytes as the kernel sends them, and bytes that it never would.
#include "common/netlink/parse.h"

#include "common/netlink/routes.h"

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail {
namespace {

// A netlink message put together by hand.
class Bytes {
 public:
  template <class T>
  Bytes& add(const T& value) {
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), data, data + sizeof value);
    return *this;
  }
  Bytes& pad() {
    bytes_.resize((bytes_.size() + 3) & ~size_t{3});
    return *this;
  }
  Bytes& attribute(uint16_t type, const std::vector<std::byte>& payload) {
    add(static_cast<uint16_t>(payload.size() + 4)).add(type);
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    return pad();
  }
  Bytes& text(uint16_t type, const std::string& value) {
    const auto* data = reinterpret_cast<const std::byte*>(value.c_str());
    return attribute(type, {data, data + value.size() + 1});
  }
  Bytes& raw(uint16_t type, const std::vector<uint8_t>& value) {
    const auto* data = reinterpret_cast<const std::byte*>(value.data());
    return attribute(type, {data, data + value.size()});
  }
  template <class T>
  Bytes& number(uint16_t type, T value) {
    return attribute(type, Bytes().add(value).bytes_);
  }
  Bytes& nest(uint16_t type, const Bytes& inner) { return attribute(type, inner.bytes_); }

  // With a netlink header of that type in front, and its length set.
  std::vector<std::byte> message(uint16_t type) const {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<uint32_t>(sizeof header + bytes_.size());
    header.nlmsg_type = type;
    Bytes out;
    out.add(header);
    out.bytes_.insert(out.bytes_.end(), bytes_.begin(), bytes_.end());
    return out.bytes_;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

Bytes link_header(int index = 7) {
  ifinfomsg header{};
  header.ifi_type = 1;
  header.ifi_index = index;
  header.ifi_flags = 0x10001;  // IFF_UP, IFF_LOWER_UP
  return Bytes().add(header);
}

Bytes full_link() {
  Bytes altnames;
  altnames.text(IFLA_ALT_IFNAME, "enp5s0f0v2").text(IFLA_ALT_IFNAME, "a-rather-long-alternative-name");
  Bytes info;
  info.text(IFLA_INFO_KIND, "veth");
  Bytes out = link_header();
  out.text(IFLA_IFNAME, "eth7").raw(IFLA_ADDRESS, {2, 0, 0, 0, 0, 1}).number<uint32_t>(IFLA_MTU, 1500);
  out.raw(IFLA_BROADCAST, {255, 255, 255, 255, 255, 255});
  out.nest(IFLA_PROTO_DOWN_REASON | NLA_F_NESTED, Bytes().number<uint32_t>(IFLA_PROTO_DOWN_REASON_VALUE, 9));
  out.number<uint32_t>(IFLA_MIN_MTU, 68)
      .number<uint32_t>(IFLA_MAX_MTU, 9216)
      .number<uint32_t>(IFLA_TXQLEN, 1000);
  out.number<uint8_t>(IFLA_LINKMODE, 1).number<uint32_t>(IFLA_GROUP, 7).number<uint8_t>(IFLA_PROTO_DOWN, 1);
  out.number<uint32_t>(IFLA_GSO_MAX_SIZE, 30'000).number<uint32_t>(IFLA_GSO_MAX_SEGS, 100);
  // IFLA_GSO_IPV4_MAX_SIZE and IFLA_GRO_IPV4_MAX_SIZE of newer headers.
  out.number<uint32_t>(IFLA_GRO_MAX_SIZE, 20'000).number<uint32_t>(63, 10'000).number<uint32_t>(64, 9'000);
  out.raw(IFLA_PERM_ADDRESS, {2, 0, 0, 0, 0, 9}).number<uint32_t>(IFLA_PROMISCUITY, 1);
  out.text(IFLA_IFALIAS, "an alias").number<int>(IFLA_MASTER, 3).number<int>(IFLA_LINK, 4);
  out.text(IFLA_PARENT_DEV_BUS_NAME, "pci").text(IFLA_PARENT_DEV_NAME, "0000:03:02.1");
  out.text(IFLA_PHYS_PORT_NAME, "pf0vf1").raw(IFLA_PHYS_SWITCH_ID, {0xde, 0xad, 0x01});
  out.nest(IFLA_PROP_LIST | NLA_F_NESTED, altnames).nest(IFLA_LINKINFO, info);
  return out;
}

Bytes address_header(uint8_t family, uint8_t prefix, uint8_t flags = 0) {
  ifaddrmsg header{};
  header.ifa_family = family;
  header.ifa_prefixlen = prefix;
  header.ifa_flags = flags;
  header.ifa_index = 7;
  return Bytes().add(header);
}

Bytes route_header(uint8_t family, uint8_t prefix, uint8_t type = RTN_UNICAST, unsigned flags = 0) {
  rtmsg header{};
  header.rtm_family = family;
  header.rtm_dst_len = prefix;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_type = type;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_flags = flags;
  return Bytes().add(header);
}

Bytes next_hop(int link, const std::vector<uint8_t>& gateway) {
  Bytes attributes;
  if (!gateway.empty()) attributes.raw(RTA_GATEWAY, gateway);
  rtnexthop hop{};
  hop.rtnh_len = static_cast<uint16_t>(sizeof hop + attributes.bytes().size());
  hop.rtnh_ifindex = link;
  Bytes out;
  out.add(hop);
  for (const std::byte byte : attributes.bytes()) out.add(byte);
  return out;
}

Bytes multipath_route() {
  Bytes hops;
  for (const Bytes& hop : {next_hop(3, {10, 0, 0, 1}), next_hop(4, {10, 0, 1, 1}), next_hop(5, {})}) {
    for (const std::byte byte : hop.bytes()) hops.add(byte);
  }
  Bytes metrics;
  metrics.number<uint32_t>(RTAX_MTU, 1400).number<uint32_t>(RTAX_ADVMSS, 1360);
  Bytes out = route_header(AF_INET, 24);
  out.raw(RTA_DST, {10, 9, 8, 0}).number<uint32_t>(RTA_TABLE, 1000).number<uint32_t>(RTA_PRIORITY, 50);
  out.nest(RTA_METRICS, metrics).nest(RTA_MULTIPATH, hops);
  return out;
}

Bytes rdma_device() {
  Bytes out;
  out.number<uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX, 4).text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_4");
  return out.number<uint64_t>(RDMA_NLDEV_ATTR_NODE_GUID, 0x0200000000000001ULL);
}

std::vector<Route> routes_of(const Bytes& bytes) {
  std::vector<Route> out;
  const auto message = bytes.message(RTM_NEWROUTE);
  const auto parsed = parse_route(message, out);
  if (!parsed) FAIL(parsed.error().text);
  return out;
}

// Feeds every shorter version of a message, first as it is and then with the header's length made to fit.
// Each lies in memory of exactly its size, so that the address sanitizer sees a read behind the end.
void feed_every_length(const std::vector<std::byte>& message, const std::function<void(NlBytes)>& parse) {
  for (size_t size = 0; size < message.size(); ++size) {
    for (const bool honest : {false, true}) {
      if (honest && size < sizeof(uint32_t)) continue;
      const std::unique_ptr<std::byte[]> copy(new std::byte[size]);
      std::copy_n(message.begin(), size, copy.get());
      const auto length = static_cast<uint32_t>(size);
      if (honest) std::memcpy(copy.get(), &length, sizeof length);
      parse(NlBytes(copy.get(), size));
    }
  }
}

// The same with each byte, in turn, set to values that lengths and types go wrong with.
void feed_every_damage(const std::vector<std::byte>& message, const std::function<void(NlBytes)>& parse) {
  for (size_t at = 0; at < message.size(); ++at) {
    for (const unsigned value : {0U, 1U, 3U, 0x7fU, 0xffU}) {
      const std::unique_ptr<std::byte[]> copy(new std::byte[message.size()]);
      std::copy(message.begin(), message.end(), copy.get());
      copy[at] = static_cast<std::byte>(value);
      parse(NlBytes(copy.get(), message.size()));
    }
  }
}

}  // namespace

TEST_CASE("Every attribute of a link is read") {
  const auto link = parse_link(full_link().message(RTM_NEWLINK));
  REQUIRE(link);
  Link expected;
  expected.index = 7;
  expected.name = "eth7";
  expected.altnames = {"enp5s0f0v2", "a-rather-long-alternative-name"};
  expected.type = 1;
  expected.mac = *MacAddress::parse("02:00:00:00:00:01");
  expected.broadcast = *MacAddress::parse("ff:ff:ff:ff:ff:ff");
  expected.permanent_mac = *MacAddress::parse("02:00:00:00:00:09");
  expected.mtu = 1500;
  expected.min_mtu = 68;
  expected.max_mtu = 9216;
  expected.tx_queue_len = 1000;
  expected.flags = 0x10001;
  expected.promiscuity = 1;
  expected.alias = "an alias";
  expected.kind = "veth";
  expected.master = 3;
  expected.lower = 4;
  expected.parent_bus = "pci";
  expected.parent_device = "0000:03:02.1";
  expected.phys_port_name = "pf0vf1";
  expected.phys_switch_id = "dead01";
  expected.options = {.flags = 0,
                      .mode = 1,
                      .group = 7,
                      .proto_down_reason = 9,
                      .proto_down = 1,
                      .gso_max_size = 30'000,
                      .gso_max_segs = 100,
                      .gro_max_size = 20'000,
                      .gso_ipv4_max_size = 10'000,
                      .gro_ipv4_max_size = 9'000};
  CHECK(*link == expected);
  CHECK(link->up());
  CHECK(link->carrier());
}

TEST_CASE("The XDP programs of a link have their modes and numbers, one in a single mode its number twice") {
  Bytes one;
  one.number<uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_SKB)
      .number<uint32_t>(IFLA_XDP_SKB_PROG_ID, 17)
      .number<uint32_t>(IFLA_XDP_PROG_ID, 17);
  Bytes two;
  two.number<uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_MULTI)
      .number<uint32_t>(IFLA_XDP_SKB_PROG_ID, 17)
      .number<uint32_t>(IFLA_XDP_HW_PROG_ID, 4000000000);
  Bytes none;
  none.number<uint8_t>(IFLA_XDP_ATTACHED, XDP_ATTACHED_NONE);
  const auto with = [](const Bytes& xdp) {
    auto link = parse_link(full_link().nest(IFLA_XDP | NLA_F_NESTED, xdp).message(RTM_NEWLINK));
    REQUIRE(link);
    return *link;
  };
  CHECK(with(one).xdp_modes == XDP_FLAGS_SKB_MODE);
  CHECK(with(one).xdp_programs == std::vector<uint32_t>{17});
  CHECK(with(two).xdp_modes == (XDP_FLAGS_SKB_MODE | XDP_FLAGS_HW_MODE));
  CHECK(with(two).xdp_programs == std::vector<uint32_t>{17, 4000000000});
  CHECK(with(none).xdp_modes == 0);
  CHECK(with(none).xdp_programs.empty());
}

TEST_CASE("A link without a name is malformed") {
  const auto link = parse_link(link_header().number<uint32_t>(IFLA_MTU, 1500).message(RTM_NEWLINK));
  REQUIRE_FALSE(link);
  CHECK(link.error().code == Errc::protocol);
}

TEST_CASE("A link whose name is not an interface name, or with an address longer than any, is malformed") {
  const std::string name =
      GENERATE(as<std::string>(), "", "..", "../../etc", "a/b", "a b", "1234567890123456");
  CAPTURE(name);
  CHECK_FALSE(parse_link(link_header().text(IFLA_IFNAME, name).message(RTM_NEWLINK)));
  const auto with_address = [](size_t size) {
    return link_header()
        .text(IFLA_IFNAME, "eth0")
        .raw(IFLA_ADDRESS, std::vector<uint8_t>(size))
        .message(RTM_NEWLINK);
  };
  CHECK(parse_link(with_address(32)));
  CHECK_FALSE(parse_link(with_address(33)));
}

TEST_CASE("A name without its terminating zero is read to the end of the attribute") {
  const auto link = parse_link(link_header().raw(IFLA_IFNAME, {'e', 't', 'h', '0'}).message(RTM_NEWLINK));
  REQUIRE(link);
  CHECK(link->name == "eth0");
}

TEST_CASE("A number in an attribute that is too short is read from the bytes that are there") {
  Bytes bytes = link_header();
  bytes.text(IFLA_IFNAME, "eth0").raw(IFLA_MTU, {0xdc, 0x05}).raw(IFLA_TXQLEN, {});
  const auto link = parse_link(bytes.message(RTM_NEWLINK));
  REQUIRE(link);
  CHECK(link->mtu == 1500);
  CHECK(link->tx_queue_len == 0);
}

TEST_CASE("A route over a next hop object has a link for each of its members") {
  const auto hop = [](const Bytes& bytes) {
    nhmsg header{};
    header.nh_family = AF_INET;
    Bytes out;
    out.add(header);
    for (const std::byte byte : bytes.bytes()) out.add(byte);
    const auto parsed = parse_next_hop(out.message(RTM_NEWNEXTHOP));
    if (!parsed) FAIL(parsed.error().text);
    return *parsed;
  };
  const auto on_link = [&](uint32_t id, int link) {
    return hop(Bytes().number<uint32_t>(NHA_ID, id).number<int>(NHA_OIF, link));
  };
  const NextHop group = hop(
      Bytes().number<uint32_t>(NHA_ID, 7).raw(NHA_GROUP, {5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 1, 0, 0, 0}));
  CHECK(group.group == std::vector<uint32_t>{5, 6});
  const auto routes = routes_of(route_header(AF_INET, 0).number<uint32_t>(RTA_NH_ID, 7));
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].next_hop == 7U);
  const auto found = over_links(routes, {on_link(5, 3), on_link(6, 4), group});
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].link == 3);
  CHECK((*found)[1].link == 4);
  CHECK_FALSE((*found)[1].next_hop);
  CHECK(over_links(routes_of(route_header(AF_INET, 0).number<uint32_t>(RTA_NH_ID, 5)), {on_link(5, 3)})
            ->front()
            .link == 3);
  CHECK_FALSE(over_links(routes, {on_link(5, 3), group}));
  CHECK_FALSE(over_links(routes, {}));
  // The kernel says both by default.
  const auto both =
      routes_of(route_header(AF_INET, 0).number<uint32_t>(RTA_NH_ID, 5).number<int>(RTA_OIF, 3));
  CHECK_FALSE(both.at(0).next_hop);
}

TEST_CASE("Of the routes of a router only the default ones are kept where those are asked for") {
  const auto over_object = [](uint8_t prefix) {
    Bytes out = route_header(AF_INET, prefix);
    if (prefix > 0) out.raw(RTA_DST, {10, 0, 0, 0});
    return out.number<uint32_t>(RTA_NH_ID, 5).message(RTM_NEWROUTE);
  };
  const auto over_link = [](int link) {
    return route_header(AF_INET, 0).number<int>(RTA_OIF, link).message(RTM_NEWROUTE);
  };
  ListedRoutes defaults{.default_only = true};
  ListedRoutes of_link{.link = 3};
  for (ListedRoutes* listed : {&defaults, &of_link}) {
    for (int i = 0; i < 1000; ++i) REQUIRE(listed->add(over_object(8)));
    for (const int link : {3, 4}) REQUIRE(listed->add(over_link(link)));
    REQUIRE(listed->add(over_object(0)));
  }
  CHECK(defaults.direct.size() == 2);
  CHECK(defaults.over_objects.size() == 1);  // its link decides nothing before it is known
  CHECK(of_link.direct.size() == 1);
  CHECK(of_link.over_objects.size() == 1001);
  const NextHop object{.id = 5, .link = 3, .group = {}};
  CHECK(defaults.resolve({object})->size() == 3);
  CHECK(of_link.resolve({object})->size() == 1002);
  CHECK(of_link.resolve({{.id = 5, .link = 4, .group = {}}})->size() == 1);
  CHECK_FALSE(defaults.resolve({}));
}

TEST_CASE("A message of another type is malformed") {
  CHECK_FALSE(parse_link(full_link().message(RTM_DELLINK)));
  int of = 0;
  CHECK_FALSE(parse_address(address_header(AF_INET, 24).message(RTM_DELADDR), of));
  std::vector<Route> routes;
  CHECK_FALSE(parse_route(multipath_route().message(RTM_DELROUTE), routes));
  CHECK_FALSE(parse_next_hop(Bytes().add(nhmsg{}).message(RTM_DELNEXTHOP)));
}

TEST_CASE("An IPv4 address is the local one and not the peer's") {
  Bytes bytes = address_header(AF_INET, 24);
  bytes.raw(IFA_ADDRESS, {10, 0, 0, 9}).raw(IFA_LOCAL, {10, 0, 0, 5});
  int of = 0;
  const auto address = parse_address(bytes.message(RTM_NEWADDR), of);
  REQUIRE(address);
  CHECK(of == 7);
  CHECK(address->address.cidr() == "10.0.0.5/24");
  CHECK(address->dad == DadState::done);
}

TEST_CASE("The state of duplicate address detection follows the flags") {
  const std::vector<uint8_t> ip{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  const auto [flags, state] = GENERATE(table<uint32_t, DadState>({
      {IFA_F_PERMANENT, DadState::done},
      {IFA_F_TENTATIVE | IFA_F_PERMANENT, DadState::tentative},
      {IFA_F_TENTATIVE | IFA_F_OPTIMISTIC, DadState::done},
      {IFA_F_DADFAILED | IFA_F_TENTATIVE, DadState::failed},
  }));
  int of = 0;
  // In the header for old kernels, in an attribute of 32 bits for all since 3.14.
  Bytes in_header = address_header(AF_INET6, 64, static_cast<uint8_t>(flags));
  CHECK(parse_address(in_header.raw(IFA_ADDRESS, ip).message(RTM_NEWADDR), of)->dad == state);
  Bytes in_attribute = address_header(AF_INET6, 64);
  in_attribute.raw(IFA_ADDRESS, ip).number<uint32_t>(IFA_FLAGS, flags);
  CHECK(parse_address(in_attribute.message(RTM_NEWADDR), of)->dad == state);
}

TEST_CASE("A temporary address is one of IPv6; of IPv4 the same flag means a secondary one") {
  int of = 0;
  const std::vector<uint8_t> v6{0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  CHECK(parse_address(address_header(AF_INET6, 64, IFA_F_TEMPORARY).raw(IFA_ADDRESS, v6).message(RTM_NEWADDR),
                      of)
            ->temporary);
  CHECK_FALSE(
      parse_address(address_header(AF_INET6, 64).raw(IFA_ADDRESS, v6).message(RTM_NEWADDR), of)->temporary);
  CHECK_FALSE(
      parse_address(
          address_header(AF_INET, 24, IFA_F_SECONDARY).raw(IFA_LOCAL, {10, 0, 0, 1}).message(RTM_NEWADDR), of)
          ->temporary);
}

TEST_CASE("An address without an address, or of a wrong size, is malformed") {
  int of = 0;
  CHECK_FALSE(parse_address(address_header(AF_INET, 24).message(RTM_NEWADDR), of));
  CHECK_FALSE(parse_address(address_header(AF_INET, 24).raw(IFA_LOCAL, {10, 0, 0}).message(RTM_NEWADDR), of));
}

TEST_CASE("A prefix longer than the address is malformed") {
  int of = 0;
  CHECK_FALSE(
      parse_address(address_header(AF_INET, 33).raw(IFA_LOCAL, {10, 0, 0, 1}).message(RTM_NEWADDR), of));
  std::vector<Route> out;
  CHECK_FALSE(parse_route(route_header(AF_INET, 33).raw(RTA_DST, {10, 0, 0, 0}).message(RTM_NEWROUTE), out));
  CHECK_FALSE(parse_route(route_header(AF_INET6, 129).message(RTM_NEWROUTE), out));
}

TEST_CASE("A route has its destination, gateway, table, priority and scope") {
  Bytes bytes = route_header(AF_INET, 16);
  bytes.raw(RTA_DST, {10, 1, 0, 0}).raw(RTA_GATEWAY, {10, 0, 0, 1}).number<int>(RTA_OIF, 7);
  const auto routes = routes_of(bytes);
  REQUIRE(routes.size() == 1);
  CHECK(routes[0].destination.cidr() == "10.1.0.0/16");
  CHECK(routes[0].gateway->text() == "10.0.0.1");
  CHECK(routes[0].link == 7);
  CHECK(routes[0].table == RT_TABLE_MAIN);
  CHECK_FALSE(routes[0].priority.has_value());
}

TEST_CASE("A route has what add_route() makes it again with") {
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 16;
  header.rtm_tos = 16;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_type = RTN_UNICAST;
  header.rtm_flags = RTNH_F_ONLINK;
  Bytes metrics;
  metrics.number<uint32_t>(RTAX_INITCWND, 20).number<uint32_t>(RTAX_MTU, 1400);
  Bytes bytes = Bytes().add(header);
  // struct rtvia: the gateway is of the other family.
  Bytes via;
  via.add<uint16_t>(AF_INET6);
  for (const uint8_t byte : std::initializer_list<uint8_t>{0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1})
    via.add(byte);
  bytes.raw(RTA_DST, {10, 1, 0, 0}).attribute(RTA_VIA, via.bytes()).number<int>(RTA_OIF, 7);
  bytes.raw(RTA_PREFSRC, {10, 0, 0, 2}).nest(RTA_METRICS, metrics).number<uint8_t>(RTA_PREF, 1);
  const auto routes = routes_of(bytes);
  REQUIRE(routes.size() == 1);
  const Route& route = routes[0];
  CHECK(route.gateway->text() == "fd09::1");
  CHECK(route.source->text() == "10.0.0.2");
  CHECK(route.protocol == RTPROT_STATIC);
  CHECK(route.tos == 16);
  CHECK(route.onlink);
  CHECK(route.mtu == 1400);
  CHECK(route.metrics == std::map<uint16_t, uint32_t>{{RTAX_INITCWND, 20}});
  CHECK(route.preference == 1);
  CHECK_FALSE(route.is_compound);
  CHECK(route.text() == "10.1.0.0/16 via fd09::1 src 10.0.0.2");
}

TEST_CASE("A route with several next hops, a next hop object or an encapsulation is compound") {
  CHECK(routes_of(multipath_route()).at(0).is_compound);
  for (const uint16_t attribute : {RTA_NH_ID, RTA_ENCAP}) {
    Bytes bytes = route_header(AF_INET, 16);
    bytes.raw(RTA_DST, {10, 1, 0, 0}).number<int>(RTA_OIF, 7).number<uint32_t>(attribute, 4);
    CHECK(routes_of(bytes).at(0).is_compound);
  }
}

TEST_CASE("An address has what add_address() makes it again with") {
  Bytes bytes = address_header(AF_INET, 24);
  bytes.raw(IFA_ADDRESS, {10, 0, 0, 9}).raw(IFA_LOCAL, {10, 0, 0, 5}).raw(IFA_BROADCAST, {10, 0, 0, 255});
  bytes.text(IFA_LABEL, "eth7:0").number<uint32_t>(IFA_RT_PRIORITY, 50);
  bytes.number<uint32_t>(IFA_FLAGS, IFA_F_PERMANENT | IFA_F_NOPREFIXROUTE);
  int of = 0;
  const auto address = parse_address(bytes.message(RTM_NEWADDR), of);
  REQUIRE(address);
  const AddressSettings expected{.broadcast = *IpAddress::parse("10.0.0.255"),
                                 .peer = *IpAddress::parse("10.0.0.9"),
                                 .priority = 50,
                                 .no_prefix_route = true,
                                 .label = "eth7:0"};
  CHECK(address->settings == expected);
  CHECK_FALSE(parse_address(address_header(AF_INET, 24)
                                .raw(IFA_LOCAL, {10, 0, 0, 5})
                                .raw(IFA_BROADCAST, {10, 0})
                                .message(RTM_NEWADDR),
                            of));
}

TEST_CASE("A default route has no destination in the message, and prefix 0") {
  const auto v4 = routes_of(route_header(AF_INET, 0).number<int>(RTA_OIF, 7));
  CHECK(v4.at(0).destination.cidr() == "0.0.0.0/0");
  const auto v6 = routes_of(route_header(AF_INET6, 0).number<int>(RTA_OIF, 7));
  CHECK(v6.at(0).destination.cidr() == "::/0");
}

TEST_CASE("A multipath route becomes one route for each of its links") {
  const auto routes = routes_of(multipath_route());
  REQUIRE(routes.size() == 3);
  CHECK(routes[0].link == 3);
  CHECK(routes[0].gateway->text() == "10.0.0.1");
  CHECK(routes[1].link == 4);
  CHECK(routes[1].gateway->text() == "10.0.1.1");
  CHECK(routes[2].link == 5);
  CHECK_FALSE(routes[2].gateway.has_value());
  for (const Route& route : routes) {
    CHECK(route.destination.cidr() == "10.9.8.0/24");
    CHECK(route.table == 1000);
    CHECK(route.priority == 50U);
    CHECK(route.mtu == 1400U);
    CHECK(route.advmss == 1360U);
  }
}

TEST_CASE("Routes that are not unicast routes of a table are left out") {
  CHECK(routes_of(route_header(AF_INET, 32, RTN_LOCAL).raw(RTA_DST, {10, 0, 0, 5})).empty());
  CHECK(routes_of(route_header(AF_INET, 32, RTN_BROADCAST)).empty());
  CHECK(routes_of(route_header(AF_INET6, 8, RTN_MULTICAST)).empty());
  CHECK(routes_of(route_header(AF_INET, 0, RTN_BLACKHOLE)).empty());
  CHECK(routes_of(route_header(AF_INET, 32, RTN_UNICAST, RTM_F_CLONED)).empty());
}

TEST_CASE("A route whose addresses are of the other family's size is malformed") {
  std::vector<Route> out;
  CHECK_FALSE(parse_route(
      route_header(AF_INET, 64).raw(RTA_DST, std::vector<uint8_t>(16)).message(RTM_NEWROUTE), out));
  CHECK_FALSE(
      parse_route(route_header(AF_INET6, 0).raw(RTA_GATEWAY, {1, 2, 3, 4}).message(RTM_NEWROUTE), out));
  CHECK(out.empty());
}

Bytes vf_info(uint32_t vf, uint32_t spoof_check) {
  ifla_vf_mac mac{};
  mac.vf = vf;
  for (uint8_t i = 0; i < 6; ++i) mac.mac[i] = static_cast<uint8_t>(2 * i);
  ifla_vf_vlan_info vlan{};
  vlan.vf = vf;
  vlan.vlan = 100;
  vlan.qos = 3;
  vlan.vlan_proto = 0xa888;  // 802.1ad in network order
  Bytes vlans;
  vlans.number(IFLA_VF_VLAN_INFO, vlan);
  Bytes out;
  out.number(IFLA_VF_MAC, mac).nest(IFLA_VF_VLAN_LIST, vlans).number(IFLA_VF_RATE, ifla_vf_rate{vf, 5, 10});
  out.number(IFLA_VF_SPOOFCHK, ifla_vf_spoofchk{vf, spoof_check}).number(IFLA_VF_TRUST, ifla_vf_trust{vf, 1});
  out.number(IFLA_VF_LINK_STATE, ifla_vf_link_state{vf, IFLA_VF_LINK_STATE_DISABLE});
  return out.number(IFLA_VF_IB_PORT_GUID, ifla_vf_guid{vf, 0x11});
}

TEST_CASE("The settings of each VF are found in what its PF reports") {
  Bytes list;
  list.nest(IFLA_VF_INFO, vf_info(0, 1)).nest(IFLA_VF_INFO, vf_info(3, UINT32_MAX));
  Bytes header = link_header();
  const auto message = header.nest(IFLA_VFINFO_LIST, list).message(RTM_NEWLINK);
  const auto found = parse_vfs(message);
  REQUIRE(found);
  REQUIRE(found->size() == 2);
  CHECK(found->at(0).vf == 0);
  CHECK(found->at(0).settings.spoof_check == true);
  CHECK(found->at(1).vf == 3);
  CHECK(found->at(1).settings.text() ==
        "mac 00:02:04:06:08:0a, vlan 100 qos 3 802.1ad, min_tx_rate 5 max_tx_rate 10, trust on, link_state "
        "disable, "
        "port GUID 00:00:00:00:00:00:00:11");
  Bytes nothing = link_header();
  const auto none = parse_vfs(nothing.message(RTM_NEWLINK));
  REQUIRE(none);
  CHECK(none->empty());
  CHECK_FALSE(parse_vfs(Bytes().message(RTM_NEWLINK)));
}

TEST_CASE("An invalid next hop makes the whole route malformed") {
  const auto route_over = [](const Bytes& second) {
    Bytes hops;
    for (const Bytes& hop : {next_hop(3, {10, 0, 0, 1}), second}) {
      for (const std::byte byte : hop.bytes()) hops.add(byte);
    }
    return route_header(AF_INET, 24)
        .raw(RTA_DST, {10, 9, 8, 0})
        .nest(RTA_MULTIPATH, hops)
        .message(RTM_NEWROUTE);
  };
  rtnexthop too_long{};
  too_long.rtnh_len = 100;
  std::vector<Route> out;
  CHECK(parse_route(route_over(next_hop(4, {10, 0, 0, 2})), out));
  out.clear();
  CHECK_FALSE(parse_route(route_over(next_hop(4, {10, 0, 0})), out));
  CHECK_FALSE(parse_route(route_over(next_hop(4, std::vector<uint8_t>(16))), out));
  CHECK_FALSE(parse_route(route_over(Bytes().add(too_long)), out));
  CHECK(out.empty());
}

Bytes rule_header(uint8_t family, uint8_t source_prefix, uint8_t table = RT_TABLE_COMPAT) {
  fib_rule_hdr header{};
  header.family = family;
  header.src_len = source_prefix;
  header.table = table;
  header.action = FR_ACT_TO_TBL;
  return Bytes().add(header);
}

TEST_CASE("A routing rule has its source, its table of 32 bits and its priority") {
  std::vector<RoutingRule> rules;
  const Bytes from_one = rule_header(AF_INET, 32)
                             .raw(FRA_SRC, {10, 0, 0, 5})
                             .number<uint32_t>(FRA_TABLE, 1000)
                             .number<uint32_t>(FRA_PRIORITY, 32765);
  REQUIRE(parse_rule(from_one.message(RTM_NEWRULE), rules));
  REQUIRE(parse_rule(rule_header(AF_INET6, 0, RT_TABLE_MAIN).message(RTM_NEWRULE), rules));
  REQUIRE(rules.size() == 2);
  CHECK(rules[0] == RoutingRule{*IpAddress::parse("10.0.0.5"), 1000, 32765});
  CHECK(rules[1] == RoutingRule{*IpAddress::parse_cidr("::/0"), 254, 0});
}

TEST_CASE(
    "A routing rule of another family is left out, and one with a source of another size is malformed") {
  std::vector<RoutingRule> rules;
  const uint8_t multicast = 128;  // RTNL_FAMILY_IPMR
  CHECK(parse_rule(rule_header(multicast, 0).message(RTM_NEWRULE), rules));
  CHECK_FALSE(parse_rule(rule_header(AF_INET6, 32).raw(FRA_SRC, {10, 0, 0, 5}).message(RTM_NEWRULE), rules));
  CHECK_FALSE(parse_rule(rule_header(AF_INET, 33).message(RTM_NEWRULE), rules));
  CHECK_FALSE(parse_rule(rule_header(AF_INET, 0).message(RTM_DELRULE), rules));
  CHECK(rules.empty());
}

TEST_CASE("An RDMA device has index, name and node GUID") {
  const auto device = parse_rdma_device(rdma_device().message(0x1401));
  REQUIRE(device);
  CHECK(*device == RdmaDevice{4, "mlx5_4", 0x0200000000000001ULL});
}

TEST_CASE("An RDMA device without index or name is malformed") {
  CHECK_FALSE(parse_rdma_device(Bytes().text(RDMA_NLDEV_ATTR_DEV_NAME, "mlx5_0").message(0x1401)));
  CHECK_FALSE(parse_rdma_device(Bytes().number<uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX, 0).message(0x1401)));
}

TEST_CASE("An RDMA device with a name that is no file's is a device, and its name is not sound") {
  for (const char* name : {"a/b", "..", ".", "../x"}) {
    CAPTURE(name);
    Bytes named = Bytes().number<uint32_t>(RDMA_NLDEV_ATTR_DEV_INDEX, 4);
    const auto device = parse_rdma_device(named.text(RDMA_NLDEV_ATTR_DEV_NAME, name).message(0x1401));
    REQUIRE(device);
    CHECK(*device == RdmaDevice{4, RdmaName(std::string(name)), 0});
    CHECK_FALSE(device->has_sound_name());
  }
  CHECK(RdmaDevice{4, "mlx5_4..", 0}.has_sound_name());
}

TEST_CASE("The RDMA namespace mode is exclusive for 0 and shared for 1") {
  const auto mode = [](uint8_t value) {
    return parse_rdma_netns_mode(Bytes().number(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, value).message(0x1406));
  };
  CHECK(*mode(0) == RdmaNetnsMode::exclusive);
  CHECK(*mode(1) == RdmaNetnsMode::shared);
  CHECK_FALSE(parse_rdma_netns_mode(Bytes().message(0x1406)));
}

TEST_CASE("A message that is truncated or damaged at any byte is never read beyond its end") {
  struct Case {
    std::vector<std::byte> message;
    std::function<void(NlBytes)> parse;
  };
  const std::vector<Case> cases{
      {full_link().message(RTM_NEWLINK), [](NlBytes bytes) { static_cast<void>(parse_link(bytes)); }},
      {address_header(AF_INET, 24)
           .raw(IFA_LOCAL, {10, 0, 0, 5})
           .number<uint32_t>(IFA_FLAGS, 0)
           .message(RTM_NEWADDR),
       [](NlBytes bytes) {
         int of = 0;
         static_cast<void>(parse_address(bytes, of));
       }},
      {multipath_route().message(RTM_NEWROUTE),
       [](NlBytes bytes) {
         std::vector<Route> out;
         static_cast<void>(parse_route(bytes, out));
         CHECK(out.size() < 100);
       }},
      {rule_header(AF_INET, 32).raw(FRA_SRC, {10, 0, 0, 5}).message(RTM_NEWRULE),
       [](NlBytes bytes) {
         std::vector<RoutingRule> out;
         static_cast<void>(parse_rule(bytes, out));
       }},
      {Bytes().add(nhmsg{}).raw(NHA_GROUP, {5, 0, 0, 0, 0, 0, 0, 0}).message(RTM_NEWNEXTHOP),
       [](NlBytes bytes) { static_cast<void>(parse_next_hop(bytes)); }},
      {rdma_device().message(0x1401), [](NlBytes bytes) { static_cast<void>(parse_rdma_device(bytes)); }},
      {Bytes().number<uint8_t>(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 1).message(0x1406),
       [](NlBytes bytes) { static_cast<void>(parse_rdma_netns_mode(bytes)); }},
  };
  for (const Case& one : cases) {
    feed_every_length(one.message, one.parse);
    feed_every_damage(one.message, one.parse);
  }
}

TEST_CASE("A message that claims to be longer than it is, or is shorter than its header, is malformed") {
  auto message = full_link().message(RTM_NEWLINK);
  const auto longer = static_cast<uint32_t>(message.size() + 4);
  std::memcpy(message.data(), &longer, sizeof longer);
  CHECK(parse_link(message).error().code == Errc::protocol);
  for (const size_t size : {size_t{0}, size_t{15}, size_t{16}, size_t{31}}) {
    CHECK(parse_link(NlBytes(message.data(), size)).error().code == Errc::protocol);
  }
}

}  // namespace vfrail
