// The routes and routing rules that an assignment makes. Pure.
//
// With source routing, tables of the attachment's own have what its addresses need: the networks that the
// addresses are in, the assigned routes, and the default route. Addresses with one gateway (of each family)
// share a table; each further gateway has one of its own, as sbr gives one to each address. The main table
// keeps the networks and the assigned routes with a prefix, for programs that do not bind an address, but not
// the default route: the pod's is that of its first interface, and several rails would fight over it.
#pragma once

#include "cni/conf/result.h"
#include "common/kernel/kernel.h"

#include <optional>
#include <vector>

namespace vfrail::cni {

// Whether the table is one of the attachment whose first table is `own_table` (cni/conf/net_conf.h).
bool is_own_table(uint32_t table, uint32_t own_table);

// The routes of an assignment, in an order in which the kernel takes them. `own_table`: with source routing.
std::vector<Route> routes_of(const Assignment& assignment, int link, std::optional<uint32_t> own_table);

// What the own tables have in addition to assigned routes: networks, and a default route for each family with
// a gateway.
std::vector<Route> own_routes(const std::vector<AssignedIp>& ips, int link, uint32_t own_table);

// Which packets are to be routed by which of the own tables.
std::vector<RoutingRule> rules_of(const std::vector<AssignedIp>& ips, uint32_t own_table);

// The network that an address is in.
IpAddress network_of(IpAddress address);

// The gateways of the addresses' family; a route that is assigned without one goes through the first.
std::vector<IpAddress> gateways_for(const IpAddress& destination, const std::vector<AssignedIp>& ips);

}  // namespace vfrail::cni
