#include "cni/plan/routing.h"

#include "common/node/gid_table.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

struct Gateways {
  std::optional<IpAddress> v4;
  std::optional<IpAddress> v6;
  const std::optional<IpAddress>& of(const IpAddress& address) const { return address.v6() ? v6 : v4; }
};

// The first of each family, as CNI's plugins have it: of the gateway's family, since whereabouts gives the
// one gateway of a network to each of its addresses.
Gateways gateways_of(const std::vector<AssignedIp>& ips) {
  Gateways out;
  for (const AssignedIp& ip : ips) {
    if (!ip.gateway) continue;
    auto& gateway = ip.gateway->v6() ? out.v6 : out.v4;
    if (!gateway) gateway = ip.gateway;
  }
  return out;
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
  out.source = assigned.source;
  out.onlink = assigned.onlink;
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

bool is_in_network(const IpAddress& network, const IpAddress& address) {
  return network.v6() == address.v6() &&
         network_of({address.bytes, network.prefix}).bytes == network_of(network).bytes;
}

// The addresses that share a table.
struct OwnTable {
  uint32_t number = 0;
  std::vector<AssignedIp> ips;

  // Two gateways of one family cannot both be the default route. Without a gateway the network decides.
  bool suits(const AssignedIp& ip) const {
    return std::all_of(ips.begin(), ips.end(), [&](const AssignedIp& other) {
      const bool comparable = other.gateway && ip.gateway && other.gateway->v6() == ip.gateway->v6();
      if (comparable) return other.gateway == ip.gateway;
      const bool neither = !other.gateway && !ip.gateway;
      return neither || other.address.v6() != ip.address.v6() ||
             network_of(other.address) == network_of(ip.address);
    });
  }
  bool reaches(const IpAddress& gateway) const {
    return std::any_of(ips.begin(), ips.end(),
                       [&](const AssignedIp& ip) { return is_in_network(ip.address, gateway); });
  }
  bool has_family(const IpAddress& address) const {
    return std::any_of(ips.begin(), ips.end(),
                       [&](const AssignedIp& ip) { return ip.address.v6() == address.v6(); });
  }
};

std::vector<OwnTable> tables_of(const std::vector<AssignedIp>& ips, uint32_t own_table) {
  std::vector<OwnTable> out;
  for (const AssignedIp& ip : ips) {
    auto at = std::find_if(out.begin(), out.end(), [&](const OwnTable& table) { return table.suits(ip); });
    if (at == out.end()) {
      out.push_back({own_table + static_cast<uint32_t>(out.size()) * kTableStep, {}});
      at = out.end() - 1;
    }
    at->ips.push_back(ip);
  }
  return out;
}

// The tables that an assigned route is for: those from whose networks its gateway is reached, or that have
// addresses of its family; all, if it fits none.
std::vector<OwnTable> tables_for(const AssignedRoute& route, const std::vector<OwnTable>& tables) {
  std::vector<OwnTable> out;
  std::copy_if(tables.begin(), tables.end(), std::back_inserter(out), [&](const OwnTable& table) {
    return route.gateway ? table.reaches(*route.gateway) : table.has_family(route.destination);
  });
  return out.empty() ? tables : out;
}

std::vector<Route> networks_of(const std::vector<AssignedIp>& ips, int link, uint32_t table) {
  // The default route would send traffic for link-local neighbours to the gateway.
  static const IpAddress kLinkLocal = *IpAddress::parse_cidr("fe80::/64");
  std::vector<Route> out;
  for (const AssignedIp& ip : ips) {
    add_once(out, in_table(network_of(ip.address), std::nullopt, link, table));
    if (ip.address.v6()) add_once(out, in_table(kLinkLocal, std::nullopt, link, table));
  }
  return out;
}

std::vector<Route> routes_in(const OwnTable& table, int link) {
  std::vector<Route> out = networks_of(table.ips, link, table.number);
  const Gateways gateways = gateways_of(table.ips);
  for (const auto& gateway : {gateways.v4, gateways.v6}) {
    // One of the other family is for the addresses of that family, which may be in another table.
    if (!gateway || !table.has_family(*gateway)) continue;
    const IpAddress all{std::vector<uint8_t>(gateway->bytes.size(), 0), 0};
    add_once(out, in_table(all, gateway, link, table.number));
  }
  return out;
}

// An assigned route has its own gateway and metrics, so it replaces ours.
void add_assigned(const AssignedRoute& assigned, int link, const OwnTable& table, std::vector<Route>& out) {
  Route route = route_of(assigned, link, gateways_of(table.ips));
  route.table = table.number;
  out.push_back(std::move(route));
}

bool is_reached(const IpAddress& gateway, const std::vector<AssignedIp>& ips,
                const std::vector<Route>& routes) {
  const auto in_network = [&](const AssignedIp& ip) { return is_in_network(ip.address, gateway); };
  const auto in_route = [&](const Route& route) {
    return !route.gateway && is_in_network(route.destination, gateway);
  };
  return is_link_local(gateway) || std::any_of(ips.begin(), ips.end(), in_network) ||
         std::any_of(routes.begin(), routes.end(), in_route);
}

// The kernel takes a route through a gateway only when it can reach that already, in the route's own table or
// in the main one (fib_check_nh()): so routes on the link come first, whichever table they are for. Clouds
// give a host address (/32), whose gateway is reached by such a route or, without one, is on the link
// all the same. Any other gateway out of reach is a mistake, which the kernel refuses.
void order_by_reach(const std::vector<AssignedIp>& ips, std::vector<Route>& routes) {
  const auto is_alone = [](const AssignedIp& ip) { return ip.address.prefix == ip.address.bytes.size() * 8; };
  for (Route& route : routes) {
    const bool alone = route.gateway && std::any_of(ips.begin(), ips.end(), [&](const AssignedIp& ip) {
                         return is_alone(ip) && ip.address.v6() == route.gateway->v6();
                       });
    route.onlink = route.onlink || (alone && !is_reached(*route.gateway, ips, routes));
  }
  std::stable_partition(routes.begin(), routes.end(), [](const Route& route) { return !route.gateway; });
}

}  // namespace

bool is_own_table(uint32_t table, uint32_t own_table) {
  return table >= own_table && (table - own_table) % kTableStep == 0 &&
         (table - own_table) / kTableStep < kMaxTables;
}

IpAddress network_of(IpAddress address) {
  for (size_t bit = address.prefix; bit < address.bytes.size() * 8; ++bit) {
    address.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
  }
  return address;
}

std::vector<IpAddress> gateways_for(const IpAddress& destination, const std::vector<AssignedIp>& ips) {
  std::vector<IpAddress> out;
  for (const AssignedIp& ip : ips) {
    if (ip.gateway && ip.gateway->v6() == destination.v6()) out.push_back(*ip.gateway);
  }
  return out;
}

std::vector<Route> own_routes(const std::vector<AssignedIp>& ips, int link, uint32_t own_table) {
  std::vector<Route> out;
  for (const OwnTable& table : tables_of(ips, own_table)) {
    for (Route& route : routes_in(table, link)) out.push_back(std::move(route));
  }
  return out;
}

std::vector<Route> routes_of(const Assignment& assignment, int link, std::optional<uint32_t> own_table) {
  const auto tables = own_table ? tables_of(assignment.ips, *own_table) : std::vector<OwnTable>();
  std::vector<Route> out = own_table ? own_routes(assignment.ips, link, *own_table) : std::vector<Route>();
  std::vector<Route> assigned_routes;
  const Gateways gateways = gateways_of(assignment.ips);
  for (const AssignedRoute& assigned : assignment.routes) {
    const bool own = own_table && !assigned.table;
    if (!own || assigned.destination.prefix > 0) {
      assigned_routes.push_back(route_of(assigned, link, gateways));
    }
    if (!own) continue;
    for (const OwnTable& table : tables_for(assigned, tables)) {
      std::erase_if(out, [&](const Route& route) {
        return route.table == table.number && route.destination == assigned.destination;
      });
      add_assigned(assigned, link, table, assigned_routes);
    }
  }
  std::move(assigned_routes.begin(), assigned_routes.end(), std::back_inserter(out));
  order_by_reach(assignment.ips, out);
  return out;
}

std::vector<RoutingRule> rules_of(const std::vector<AssignedIp>& ips, uint32_t own_table) {
  std::vector<RoutingRule> out;
  for (const OwnTable& table : tables_of(ips, own_table)) {
    for (const AssignedIp& ip : table.ips) {
      const auto all_bits = static_cast<uint8_t>(ip.address.bytes.size() * 8);
      out.push_back({.source = {ip.address.bytes, all_bits}, .table = table.number});
    }
  }
  return out;
}

}  // namespace vfrail::cni
