// The routes and routing rules of NetlinkKernel.
#include "common/netlink/routes.h"

#include "common/netlink/netlink_kernel.h"
#include "common/netlink/parse.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <linux/fib_rules.h>
#include <linux/netlink.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

namespace vfrail {

namespace {

NlMessage rule_message(uint16_t type, uint16_t flags, const IpAddress& source, uint32_t table) {
  NlMessage message(type, flags);
  fib_rule_hdr header{};
  header.family = source.v6() ? AF_INET6 : AF_INET;
  header.src_len = source.prefix;
  header.action = FR_ACT_TO_TBL;
  message.put_header(header);
  if (source.prefix > 0) message.put_bytes(FRA_SRC, source.bytes);
  message.put_u32(FRA_TABLE, table);
  return message;
}

std::string rule_text(const IpAddress& source, uint32_t table) {
  return "from " + source.cidr() + " to table " + std::to_string(table);
}

std::string route_text(const Route& route) {
  std::string out = route.destination.cidr();
  if (route.gateway) out += " via " + route.gateway->text();
  out += " on link " + std::to_string(route.link);
  return route.table == RT_TABLE_MAIN ? out : out + " in table " + std::to_string(route.table);
}

}  // namespace

namespace {

// struct rtvia: the family, and the address.
void put_via(NlMessage& message, const IpAddress& gateway) {
  const uint16_t family = gateway.v6() ? AF_INET6 : AF_INET;
  std::vector<uint8_t> bytes(sizeof family);
  std::memcpy(bytes.data(), &family, sizeof family);
  bytes.insert(bytes.end(), gateway.bytes.begin(), gateway.bytes.end());
  message.put_bytes(RTA_VIA, bytes);
}

void put_metrics(NlMessage& message, const Route& route) {
  if (!route.mtu && !route.advmss && route.metrics.empty()) return;
  message.nest(RTA_METRICS, [&] {
    if (route.mtu) message.put_u32(RTAX_MTU, *route.mtu);
    if (route.advmss) message.put_u32(RTAX_ADVMSS, *route.advmss);
    for (const auto& [type, value] : route.metrics) message.put_u32(type, value);
  });
}

}  // namespace

Result<> NetlinkKernel::add_route(const Route& route) {
  NlMessage message(RTM_NEWROUTE, NLM_F_CREATE);
  rtmsg header{};
  header.rtm_family = route.destination.v6() ? AF_INET6 : AF_INET;
  header.rtm_dst_len = route.destination.prefix;
  header.rtm_tos = route.tos;
  header.rtm_table = route.table < 256 ? static_cast<uint8_t>(route.table) : uint8_t{RT_TABLE_UNSPEC};
  header.rtm_protocol = route.protocol.value_or(uint8_t{RTPROT_BOOT});
  header.rtm_type = RTN_UNICAST;
  const uint8_t usual_scope = !route.gateway && !route.destination.v6() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  header.rtm_flags = route.onlink ? RTNH_F_ONLINK : 0U;
  header.rtm_scope = route.scope.value_or(usual_scope);
  message.put_header(header);
  if (route.table >= 256) message.put_u32(RTA_TABLE, route.table);
  if (route.destination.prefix > 0) message.put_bytes(RTA_DST, route.destination.bytes);
  const bool other_family = route.gateway && route.gateway->v6() != route.destination.v6();
  if (other_family) put_via(message, *route.gateway);
  if (route.gateway && !other_family) message.put_bytes(RTA_GATEWAY, route.gateway->bytes);
  if (route.source) message.put_bytes(RTA_PREFSRC, route.source->bytes);
  message.put_u32(RTA_OIF, static_cast<uint32_t>(route.link));
  if (route.priority) message.put_u32(RTA_PRIORITY, *route.priority);
  if (route.preference) message.put_u8(RTA_PREF, *route.preference);
  put_metrics(message, route);
  TRY(route_.request(message), "add route " + route_text(route));
  return {};
}

Result<> ListedRoutes::add(NlBytes message) {
  std::vector<Route> hops;
  TRY(parse_route(message, hops));
  for (Route& route : hops) {
    if (default_only && route.destination.prefix != 0) continue;
    if (route.next_hop)
      over_objects.push_back(std::move(route));
    else if (link == 0 || route.link == link)
      direct.push_back(std::move(route));
  }
  return {};
}

Result<std::vector<Route>> ListedRoutes::resolve(const std::vector<NextHop>& objects) const {
  std::vector<Route> out = direct;
  const auto found = TRY(over_links(over_objects, objects), "list routes");
  std::copy_if(found.begin(), found.end(), std::back_inserter(out),
               [this](const Route& route) { return link == 0 || route.link == link; });
  return out;
}

Result<std::vector<Route>> NetlinkKernel::routes(int link) { return list_routes({.link = link}); }

Result<std::vector<Route>> NetlinkKernel::default_routes() { return list_routes({.default_only = true}); }

Result<std::vector<Route>> NetlinkKernel::list_routes(ListedRoutes listed) {
  for (const unsigned char family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
    NlMessage message(RTM_GETROUTE, NLM_F_DUMP);
    rtmsg header{};
    header.rtm_family = family;
    message.put_header(header);
    // Since 4.20 the kernel itself leaves out routes of other links (ip_valid_fib_dump_req()).
    if (listed.link != 0) message.put_u32(RTA_OIF, static_cast<uint32_t>(listed.link));
    const size_t direct = listed.direct.size();
    const size_t over_objects = listed.over_objects.size();
    auto done = route_.dump(
        message, [&](NlBytes reply) { return listed.add(reply); },
        [&] {
          listed.direct.resize(direct);
          listed.over_objects.resize(over_objects);
        });
    if (!done && listed.link != 0 && done.error().sys == ENODEV) return std::vector<Route>();
    TRY(std::move(done), "list routes");
  }
  if (listed.over_objects.empty()) return std::move(listed.direct);
  NlMessage message(RTM_GETNEXTHOP, NLM_F_DUMP);
  message.put_header(nhmsg{});
  return listed.resolve(TRY(list<NextHop>(route_, message, parse_next_hop), "list next hops"));
}

Result<> NetlinkKernel::add_rule(const IpAddress& source, uint32_t table) {
  TRY(route_.request(rule_message(RTM_NEWRULE, NLM_F_CREATE, source, table)),
      "add rule " + rule_text(source, table));
  return {};
}

Result<std::vector<RoutingRule>> NetlinkKernel::rules() {
  std::vector<RoutingRule> out;
  NlMessage message(RTM_GETRULE, NLM_F_DUMP);
  message.put_header(fib_rule_hdr{});  // AF_UNSPEC: every family that the kernel has
  TRY(route_.dump(
          message, [&](NlBytes reply) { return parse_rule(reply, out); }, [&] { out.clear(); }),
      "list routing rules");
  return out;
}

Result<> NetlinkKernel::remove_rule(const RoutingRule& rule) {
  NlMessage message = rule_message(RTM_DELRULE, 0, rule.source, rule.table);
  message.put_u32(FRA_PRIORITY, rule.priority);
  TRY(route_.request(message), "remove rule " + rule_text(rule.source, rule.table));
  return {};
}

}  // namespace vfrail
