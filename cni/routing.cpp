#include "cni/routing.h"

#include <algorithm>

namespace vfrail {

namespace {

struct Gateways {
  std::optional<IpAddress> v4;
  std::optional<IpAddress> v6;
  const std::optional<IpAddress>& of(const IpAddress& address) const { return address.v6() ? v6 : v4; }
};

// The first of each family, as CNI's plugins have it.
Gateways gateways_of(const std::vector<AssignedIp>& ips) {
  Gateways out;
  for (const AssignedIp& ip : ips) {
    auto& gateway = ip.address.v6() ? out.v6 : out.v4;
    if (!gateway) gateway = ip.gateway;
  }
  return out;
}

IpAddress network_of(IpAddress address) {
  for (size_t bit = address.prefix; bit < address.bytes.size() * 8; ++bit) {
    address.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
  }
  return address;
}

Route route_of(const AssignedRoute& assigned, int link, const Gateways& gateways) {
  constexpr uint8_t kLinkScope = 253;  // RT_SCOPE_LINK: on the link, so not through a gateway
  Route out;
  out.destination = assigned.destination;
  const bool on_link = assigned.gateway || assigned.scope == kLinkScope;
  out.gateway = on_link ? assigned.gateway : gateways.of(assigned.destination);
  out.link = link;
  out.table = assigned.table.value_or(out.table);
  out.priority = assigned.priority;
  out.scope = assigned.scope;
  out.mtu = assigned.mtu;
  out.advmss = assigned.advmss;
  return out;
}

Route in_table(const IpAddress& destination, const std::optional<IpAddress>& gateway, int link,
               uint32_t table) {
  Route out;
  out.destination = destination;
  out.gateway = gateway;
  out.link = link;
  out.table = table;
  return out;
}

void add_once(std::vector<Route>& routes, Route route) {
  const auto same = [&](const Route& one) { return one.destination == route.destination; };
  if (std::none_of(routes.begin(), routes.end(), same)) routes.push_back(std::move(route));
}

std::vector<Route> networks_of(const std::vector<AssignedIp>& ips, int link, uint32_t table) {
  // Link-local neighbours are no business of the gateway, to which the default route would send them.
  static const IpAddress kLinkLocal = *IpAddress::parse_cidr("fe80::/64");
  std::vector<Route> out;
  for (const AssignedIp& ip : ips) {
    add_once(out, in_table(network_of(ip.address), std::nullopt, link, table));
    if (ip.address.v6()) add_once(out, in_table(kLinkLocal, std::nullopt, link, table));
  }
  return out;
}

bool is_assigned(const IpAddress& destination, const std::vector<AssignedRoute>& routes) {
  return std::any_of(routes.begin(), routes.end(), [&](const AssignedRoute& route) {
    return route.destination == destination && !route.table;
  });
}

}  // namespace

std::vector<Route> own_routes(const std::vector<AssignedIp>& ips, int link, uint32_t own_table) {
  std::vector<Route> out = networks_of(ips, link, own_table);
  const Gateways gateways = gateways_of(ips);
  for (const auto& gateway : {gateways.v4, gateways.v6}) {
    if (!gateway) continue;
    const IpAddress all{std::vector<uint8_t>(gateway->bytes.size(), 0), 0};
    add_once(out, in_table(all, gateway, link, own_table));
  }
  return out;
}

std::vector<Route> routes_of(const Assignment& assignment, int link, std::optional<uint32_t> own_table) {
  std::vector<Route> out;
  if (own_table) {
    out = own_routes(assignment.ips, link, *own_table);
    // What is assigned has its own gateway and metrics.
    std::erase_if(out, [&](const Route& route) { return is_assigned(route.destination, assignment.routes); });
  }
  const Gateways gateways = gateways_of(assignment.ips);
  for (const AssignedRoute& assigned : assignment.routes) {
    Route route = route_of(assigned, link, gateways);
    const bool own = own_table && !assigned.table;
    if (!own || assigned.destination.prefix > 0) out.push_back(route);
    if (own) {
      route.table = *own_table;
      out.push_back(std::move(route));
    }
  }
  return out;
}

std::vector<IpAddress> sources_of(const Assignment& assignment) {
  std::vector<IpAddress> out;
  for (const AssignedIp& ip : assignment.ips) {
    out.push_back({ip.address.bytes, static_cast<uint8_t>(ip.address.bytes.size() * 8)});
  }
  return out;
}

}  // namespace vfrail
