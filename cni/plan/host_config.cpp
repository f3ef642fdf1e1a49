#include "cni/plan/host_config.h"

#include "cni/plan/routing.h"
#include "common/node/gid_table.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// RTPROT_* of linux/rtnetlink.h.
constexpr uint8_t kRedirect = 1;
constexpr uint8_t kKernel = 2;
constexpr uint8_t kRouterAdvertisement = 9;
constexpr uint8_t kDhcp = 16;

constexpr uint8_t kOnLink = 253;  // RT_SCOPE_LINK

// With noprefixroute somebody else has made the route to the network of an address, often in the kernel's
// name (NetworkManager).
bool is_network_of(const Route& route, const std::vector<HostAddress>& addresses) {
  return std::any_of(addresses.begin(), addresses.end(), [&](const HostAddress& one) {
    return one.settings.no_prefix_route && network_of(one.address) == route.destination;
  });
}

bool is_leased(const IpAddress& source, const std::vector<LinkAddress>& all) {
  return std::any_of(all.begin(), all.end(), [&](const LinkAddress& one) {
    return one.address.bytes == source.bytes && !is_own(one);
  });
}

bool is_own_route(const Route& route, const std::vector<HostAddress>& own,
                  const std::vector<LinkAddress>& all) {
  const uint8_t protocol = route.protocol.value_or(0);
  if (protocol == kRedirect || protocol == kRouterAdvertisement || protocol == kDhcp) return false;
  if (protocol == kKernel && !is_network_of(route, own)) return false;
  return !route.source || !is_leased(*route.source, all);
}

// A gateway has to be reached by a route that is there already. The kernel lists them by table and prefix.
bool comes_first(const Route& a, const Route& b) { return !a.gateway && b.gateway; }

}  // namespace

bool is_own(const LinkAddress& address) {
  return address.permanent && !address.temporary && !is_link_local(address.address);
}

HostConfig host_config_of(const Link& link, const std::vector<LinkAddress>& addresses,
                          const std::vector<Route>& routes) {
  HostConfig out;
  for (const LinkAddress& one : addresses) {
    if (!is_own(one)) continue;
    if (out.addresses.size() == kMostHostAddresses) {
      out.lost.push_back(one.address.cidr());
      continue;
    }
    out.addresses.push_back({one.address, one.settings});
    std::string& label = out.addresses.back().settings.label;
    if (label == link.name) label.clear();
  }
  if (out.addresses.empty()) return out;
  for (const Route& route : routes) {
    if (!is_own_route(route, out.addresses, addresses)) continue;
    if (route.is_compound || out.routes.size() == kMostHostRoutes) {
      out.lost.push_back(route.text());
    } else {
      out.routes.push_back(route);
      out.routes.back().link = 0;  // a record has none: the interface can come back with another index
    }
  }
  std::stable_sort(out.routes.begin(), out.routes.end(), comes_first);
  return out;
}

void add_host_config(const LinkBefore& before, Assignment& assignment) {
  for (const HostAddress& one : before.addresses) {
    const auto same = [&](const AssignedIp& ip) { return ip.address == one.address; };
    if (std::none_of(assignment.ips.begin(), assignment.ips.end(), same))
      assignment.ips.push_back({one.address, std::nullopt});
  }
  for (const Route& one : before.routes) {
    // A network of an address is the kernel's to add in the pod.
    if (one.destination.prefix == 0 || one.protocol == kKernel) continue;
    AssignedRoute route{.destination = one.destination,
                        .gateway = one.gateway,
                        .mtu = one.mtu,
                        .advmss = one.advmss,
                        .priority = one.priority,
                        .table = one.table,
                        .scope = one.scope,
                        .source = one.source,
                        .onlink = one.onlink};
    // The pod does not have the address of another interface of the host.
    const auto is_source = [&](const HostAddress& own) { return own.address.bytes == one.source->bytes; };
    if (one.source && std::none_of(before.addresses.begin(), before.addresses.end(), is_source))
      route.source.reset();
    // Else a gateway that was assigned would become its own.
    if (!one.gateway) route.scope = kOnLink;
    assignment.routes.push_back(std::move(route));
  }
}

void complete_host_routes(const LinkBefore& before, Assignment& of_result) {
  for (AssignedRoute& route : of_result.routes) {
    const auto is_it = [&](const Route& one) { return one.destination == route.destination && !one.gateway; };
    const bool on_link = std::any_of(before.routes.begin(), before.routes.end(), is_it);
    if (!route.gateway && on_link) route.scope = kOnLink;
  }
}

}  // namespace vfrail::cni
