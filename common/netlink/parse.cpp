#include "common/netlink/parse.h"

#include "common/netlink/attributes.h"
#include "common/netlink/link_option_messages.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>

#include <linux/fib_rules.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <rdma/rdma_netlink.h>

namespace vfrail {

namespace {

std::string hex_of(const nlattr* attribute) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const uint8_t byte : bytes_of(attribute)) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

void read_altnames(const nlattr* list, Link& link) {
  for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* value) {
    if (type == IFLA_ALT_IFNAME) link.altnames.push_back(text_of(value));
  });
}

// IFLA_XDP_ATTACHED has one mode, or reports several: then each has the number of its program, and one alone
// has it a second time (rtnl_xdp_report_one()).
void read_xdp(const nlattr* list, Link& link) {
  for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* value) {
    const auto attached = type == IFLA_XDP_ATTACHED ? number_of<uint8_t>(value) : uint8_t{XDP_ATTACHED_NONE};
    if (attached == XDP_ATTACHED_SKB || type == IFLA_XDP_SKB_PROG_ID) link.xdp_modes |= XDP_FLAGS_SKB_MODE;
    if (attached == XDP_ATTACHED_DRV || type == IFLA_XDP_DRV_PROG_ID) link.xdp_modes |= XDP_FLAGS_DRV_MODE;
    if (attached == XDP_ATTACHED_HW || type == IFLA_XDP_HW_PROG_ID) link.xdp_modes |= XDP_FLAGS_HW_MODE;
    if (type < IFLA_XDP_PROG_ID || type > IFLA_XDP_HW_PROG_ID) return;
    const auto program = number_of<uint32_t>(value);
    auto& known = link.xdp_programs;
    if (program != 0 && std::find(known.begin(), known.end(), program) == known.end())
      known.push_back(program);
  });
}

void read_link_attribute(int type, const nlattr* value, Link& link) {
  switch (type) {
    case IFLA_IFNAME:
      link.name = IfName::parse(text_of(value)).value_or(IfName());
      break;
    case IFLA_ADDRESS:
      link.mac.bytes = bytes_of(value);
      break;
    case IFLA_BROADCAST:
      link.broadcast.bytes = bytes_of(value);
      break;
    case IFLA_PERM_ADDRESS:
      link.permanent_mac.bytes = bytes_of(value);
      break;
    case IFLA_MTU:
      link.mtu = number_of<uint32_t>(value);
      break;
    case IFLA_MIN_MTU:
      link.min_mtu = number_of<uint32_t>(value);
      break;
    case IFLA_MAX_MTU:
      link.max_mtu = number_of<uint32_t>(value);
      break;
    case IFLA_TXQLEN:
      link.tx_queue_len = number_of<uint32_t>(value);
      break;
    case IFLA_PROMISCUITY:
      link.promiscuity = number_of<uint32_t>(value);
      break;
    case IFLA_ALLMULTI:
      link.allmulti = number_of<uint32_t>(value);
      break;
    case IFLA_IFALIAS:
      link.alias = text_of(value);
      break;
    case IFLA_MASTER:
      link.master = number_of<int>(value);
      break;
    case IFLA_LINK:
      link.lower = number_of<int>(value);
      break;
    case IFLA_LINK_NETNSID:
      link.lower_nsid = number_of<int>(value);
      break;
    case IFLA_XDP:
      read_xdp(value, link);
      break;
    case IFLA_PARENT_DEV_BUS_NAME:
      link.parent_bus = text_of(value);
      break;
    case IFLA_PARENT_DEV_NAME:
      link.parent_device = text_of(value);
      break;
    case IFLA_PHYS_PORT_NAME:
      link.phys_port_name = text_of(value);
      break;
    case IFLA_PHYS_SWITCH_ID:
      link.phys_switch_id = hex_of(value);
      break;
    case IFLA_PROP_LIST:
      read_altnames(value, link);
      break;
    case IFLA_LINKINFO:
      for_each_attribute(nla_data(value), static_cast<size_t>(nla_len(value)),
                         [&](int inner, const nlattr* info) {
                           if (inner == IFLA_INFO_KIND) link.kind = text_of(info);
                         });
      break;
    default:
      read_link_option(type, value, link.options);
      break;
  }
}

constexpr size_t kMaxLinkAddress = 32;  // MAX_ADDR_LEN of linux/netdevice.h

// Names become paths below /sys/class/net and keys of records, whoever gave them.
bool is_sound(const Link& link) {
  return !link.name.empty() && link.mac.bytes.size() <= kMaxLinkAddress &&
         link.broadcast.bytes.size() <= kMaxLinkAddress && link.permanent_mac.bytes.size() <= kMaxLinkAddress;
}

bool is_sound(const IpAddress& address) {
  const size_t width = address.bytes.size();
  return (width == 4 || width == 16) && address.prefix <= width * 8;
}

bool is_sound(const Route& route) {
  const size_t width = route.destination.bytes.size();
  const auto fits = [](const std::optional<IpAddress>& one) {
    return !one || one->bytes.size() == 4 || one->bytes.size() == 16;
  };
  return is_sound(route.destination) && fits(route.gateway) &&
         (!route.source || route.source->bytes.size() == width);
}

void read_metrics(const nlattr* list, Route& route) {
  for_each_attribute(nla_data(list), static_cast<size_t>(nla_len(list)), [&](int type, const nlattr* value) {
    if (type == RTAX_MTU) route.mtu = number_of<uint32_t>(value);
    if (type == RTAX_ADVMSS) route.advmss = number_of<uint32_t>(value);
    const bool other = type != RTAX_MTU && type != RTAX_ADVMSS && type != RTAX_CC_ALGO;
    if (other) route.metrics[static_cast<uint16_t>(type)] = number_of<uint32_t>(value);
  });
}

// A gateway of the other family (RTA_VIA, struct rtvia).
void read_via(const nlattr* value, Route& route) {
  const std::vector<uint8_t> bytes = bytes_of(value);
  constexpr size_t kFamily = sizeof(uint16_t);
  if (bytes.size() <= kFamily) return;
  const size_t width = bytes.size() - kFamily;
  route.gateway = IpAddress{{bytes.begin() + kFamily, bytes.end()}, static_cast<uint8_t>(width * 8)};
}

// RTA_GATEWAY has one of the route's own family. Of another size it is empty, which is not sound.
IpAddress gateway_of(const nlattr* value, size_t width) {
  IpAddress out{bytes_of(value), static_cast<uint8_t>(width * 8)};
  if (out.bytes.size() != width) out.bytes.clear();
  return out;
}

void read_route_attribute(int type, const nlattr* value, size_t width, Route& route) {
  const auto whole = static_cast<uint8_t>(width * 8);
  if (type == RTA_DST) route.destination.bytes = bytes_of(value);
  if (type == RTA_GATEWAY) route.gateway = gateway_of(value, width);
  if (type == RTA_VIA) read_via(value, route);
  if (type == RTA_PREFSRC) route.source = IpAddress{bytes_of(value), whole};
  if (type == RTA_OIF) route.link = number_of<int>(value);
  if (type == RTA_TABLE) route.table = number_of<uint32_t>(value);
  if (type == RTA_PRIORITY) route.priority = number_of<uint32_t>(value);
  if (type == RTA_METRICS) read_metrics(value, route);
  if (type == RTA_PREF) route.preference = number_of<uint8_t>(value);
  if (type == RTA_NH_ID) route.next_hop = number_of<uint32_t>(value);
  if (type == RTA_MULTIPATH || type == RTA_NH_ID || type == RTA_ENCAP) route.is_compound = true;
}

// A multipath route (RTA_MULTIPATH, struct rtnexthop) becomes a route for each of its links. False if one of
// them does not fit.
bool append_hops(const nlattr* list, const Route& common, std::vector<Route>& out) {
  const auto* at = static_cast<const std::byte*>(nla_data(list));
  auto left = static_cast<size_t>(nla_len(list));
  while (left >= sizeof(rtnexthop)) {
    rtnexthop hop{};
    std::memcpy(&hop, at, sizeof hop);
    if (hop.rtnh_len < sizeof hop || hop.rtnh_len > left) return false;
    Route route = common;
    route.link = hop.rtnh_ifindex;
    for_each_attribute(at + sizeof hop, hop.rtnh_len - sizeof hop, [&](int type, const nlattr* value) {
      if (type == RTA_GATEWAY) route.gateway = gateway_of(value, common.destination.bytes.size());
    });
    if (!is_sound(route)) return false;
    out.push_back(std::move(route));
    const size_t step = std::min<size_t>(RTNH_ALIGN(hop.rtnh_len), left);
    at += step;
    left -= step;
  }
  return true;
}

}  // namespace

Result<Link> parse_link(NlBytes message) {
  const auto parts = TRY(split<ifinfomsg>(message));
  if (parts.type != RTM_NEWLINK) return malformed("no link");
  Link link;
  link.index = parts.header.ifi_index;
  link.type = parts.header.ifi_type;
  link.flags = parts.header.ifi_flags;
  link.options.flags = link.flags & LinkOptions::kFlags;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    read_link_attribute(type, value, link);
  });
  if (!fits || !is_sound(link)) return malformed("attributes of a link");
  return link;
}

Result<LinkAddress> parse_address(NlBytes message, int& link) {
  const auto parts = TRY(split<ifaddrmsg>(message));
  if (parts.type != RTM_NEWADDR) return malformed("no address");
  LinkAddress out;
  link = static_cast<int>(parts.header.ifa_index);
  out.address.prefix = parts.header.ifa_prefixlen;
  uint32_t flags = parts.header.ifa_flags;
  std::vector<uint8_t> peer;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == IFA_LOCAL) out.address.bytes = bytes_of(value);
    if (type == IFA_ADDRESS) peer = bytes_of(value);
    if (type == IFA_FLAGS) flags = number_of<uint32_t>(value);
    if (type == IFA_BROADCAST) out.settings.broadcast = IpAddress{bytes_of(value), 32};
    if (type == IFA_LABEL) out.settings.label = text_of(value);
    if (type == IFA_RT_PRIORITY) out.settings.priority = number_of<uint32_t>(value);
  });
  // IPv6 has only IFA_ADDRESS; IPv4 has both, and IFA_ADDRESS is the peer's.
  if (out.address.bytes.empty()) out.address.bytes = peer;
  if (peer.size() == out.address.bytes.size() && peer != out.address.bytes)
    out.settings.peer = IpAddress{peer, static_cast<uint8_t>(peer.size() * 8)};
  const auto& broadcast = out.settings.broadcast;
  if (broadcast && broadcast->bytes.size() != 4) return malformed("broadcast address of an address");
  if (!fits || !is_sound(out.address)) return malformed("attributes of an address");
  // IFA_F_SECONDARY of an IPv4 address has the same value.
  out.temporary = out.address.v6() && (flags & IFA_F_TEMPORARY) != 0;
  out.permanent = (flags & IFA_F_PERMANENT) != 0;
  out.settings.no_prefix_route = (flags & IFA_F_NOPREFIXROUTE) != 0;
  out.settings.no_dad = out.address.v6() && (flags & IFA_F_NODAD) != 0;
  if (!out.address.v6()) out.settings.scope = parts.header.ifa_scope;
  if ((flags & IFA_F_DADFAILED) != 0) {
    out.dad = DadState::failed;
  } else if ((flags & IFA_F_TENTATIVE) != 0 && (flags & IFA_F_OPTIMISTIC) == 0) {
    out.dad = DadState::tentative;
  }
  return out;
}

Result<> parse_route(NlBytes message, std::vector<Route>& out) {
  const auto parts = TRY(split<rtmsg>(message));
  if (parts.type != RTM_NEWROUTE) return malformed("no route");
  if (parts.header.rtm_type != RTN_UNICAST || (parts.header.rtm_flags & RTM_F_CLONED) != 0) return {};
  const size_t width = parts.header.rtm_family == AF_INET ? 4 : 16;
  Route route;
  route.destination.bytes.assign(width, 0);
  route.destination.prefix = parts.header.rtm_dst_len;
  route.table = parts.header.rtm_table;
  route.scope = parts.header.rtm_scope;
  route.protocol = parts.header.rtm_protocol;
  route.tos = parts.header.rtm_tos;
  route.onlink = (parts.header.rtm_flags & RTNH_F_ONLINK) != 0;
  const nlattr* multipath = nullptr;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    read_route_attribute(type, value, width, route);
    if (type == RTA_MULTIPATH) multipath = value;
  });
  if (!fits || route.destination.bytes.size() != width || !is_sound(route))
    return malformed("attributes of a route");
  if (route.link != 0 || multipath != nullptr) route.next_hop.reset();
  std::vector<Route> routes;
  if (multipath == nullptr) {
    routes.push_back(std::move(route));
  } else if (!append_hops(multipath, route, routes)) {
    return malformed("next hops of a route");
  }
  std::move(routes.begin(), routes.end(), std::back_inserter(out));
  return {};
}

Result<NextHop> parse_next_hop(NlBytes message) {
  const auto parts = TRY(split<nhmsg>(message));
  if (parts.type != RTM_NEWNEXTHOP) return malformed("no next hop");
  NextHop out;
  std::vector<uint8_t> members;
  const bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == NHA_ID) out.id = number_of<uint32_t>(value);
    if (type == NHA_OIF) out.link = number_of<int>(value);
    if (type == NHA_GROUP) members = bytes_of(value);
  });
  if (!fits || members.size() % sizeof(nexthop_grp) != 0) return malformed("attributes of a next hop");
  for (size_t at = 0; at < members.size(); at += sizeof(nexthop_grp)) {
    nexthop_grp member{};
    std::memcpy(&member, members.data() + at, sizeof member);
    out.group.push_back(member.id);
  }
  return out;
}

Result<std::vector<Route>> over_links(const std::vector<Route>& routes, const std::vector<NextHop>& hops) {
  std::map<uint32_t, const NextHop*> by_id;
  for (const NextHop& hop : hops) by_id.emplace(hop.id, &hop);
  const auto find = [&](uint32_t id) -> Result<const NextHop*> {
    const auto at = by_id.find(id);
    if (at == by_id.end())
      return Error{Errc::busy, 0, "next hop " + std::to_string(id) + " of a route is not listed"};
    return at->second;
  };
  std::vector<Route> out;
  for (const Route& route : routes) {
    const NextHop* hop = TRY(find(route.next_hop.value_or(0)));
    // A group has no groups in it (valid_group_nh() in net/ipv4/nexthop.c).
    for (const uint32_t id : hop->group.empty() ? std::vector{hop->id} : hop->group) {
      out.push_back(route);
      out.back().next_hop.reset();
      out.back().link = TRY(find(id))->link;
    }
  }
  return out;
}

Result<> parse_rule(NlBytes message, std::vector<RoutingRule>& out) {
  const auto parts = TRY(split<fib_rule_hdr>(message));
  if (parts.type != RTM_NEWRULE) return malformed("no routing rule");
  if (parts.header.family != AF_INET && parts.header.family != AF_INET6) return {};
  const size_t width = parts.header.family == AF_INET ? 4 : 16;
  RoutingRule rule;
  rule.source.bytes.assign(width, 0);
  rule.source.prefix = parts.header.src_len;
  rule.table = parts.header.table;
  bool fits = for_each_attribute(parts.attributes, parts.size, [&](int type, const nlattr* value) {
    if (type == FRA_SRC) rule.source.bytes = bytes_of(value);
    if (type == FRA_TABLE) rule.table = number_of<uint32_t>(value);
    if (type == FRA_PRIORITY) rule.priority = number_of<uint32_t>(value);
  });
  fits = fits && rule.source.bytes.size() == width && rule.source.prefix <= width * 8;
  if (!fits) return malformed("attributes of a routing rule");
  out.push_back(std::move(rule));
  return {};
}

Result<RdmaDevice> parse_rdma_device(NlBytes message) {
  const NlBytes attributes = TRY(rdma_attributes(message));
  RdmaDevice out;
  bool has_index = false;
  const bool fits =
      for_each_attribute(attributes.data(), attributes.size(), [&](int type, const nlattr* value) {
        if (type == RDMA_NLDEV_ATTR_DEV_INDEX) out.index = number_of<uint32_t>(value);
        if (type == RDMA_NLDEV_ATTR_DEV_INDEX) has_index = true;
        if (type == RDMA_NLDEV_ATTR_DEV_NAME) out.name = RdmaName(text_of(value));
        if (type == RDMA_NLDEV_ATTR_NODE_GUID) out.node_guid = number_of<uint64_t>(value);
      });
  // Whatever the name is: one that a pod has chosen must not hide the devices of others.
  if (!fits || !has_index || out.name.empty()) return malformed("attributes of an RDMA device");
  return out;
}

Result<RdmaNetnsMode> parse_rdma_netns_mode(NlBytes message) {
  const NlBytes attributes = TRY(rdma_attributes(message));
  std::optional<uint8_t> mode;
  const bool fits =
      for_each_attribute(attributes.data(), attributes.size(), [&](int type, const nlattr* value) {
        if (type == RDMA_NLDEV_SYS_ATTR_NETNS_MODE) mode = number_of<uint8_t>(value);
      });
  if (!fits || !mode) return malformed("RDMA namespace mode");
  return *mode == 0 ? RdmaNetnsMode::exclusive : RdmaNetnsMode::shared;
}

}  // namespace vfrail
