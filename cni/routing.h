// The routes and routing rules that an assignment makes. Pure.
//
// With source routing, a table of the attachment's own has what its addresses need: the networks that the
// addresses are in, the assigned routes, and the default route. The main table keeps the networks and the
// assigned routes with a prefix, for programs that do not bind an address, but not the default route: the
// pod's is that of its first interface, and several rails would fight over it.
#pragma once

#include "cni/result.h"
#include "common/kernel.h"

#include <optional>
#include <vector>

namespace vfrail {

// In an order in which the kernel takes them. `own_table`: with source routing.
std::vector<Route> routes_of(const Assignment& assignment, int link, std::optional<uint32_t> own_table);

// The part of them that the table has whatever routes were assigned: networks, and a default route for each
// family with a gateway.
std::vector<Route> own_routes(const std::vector<AssignedIp>& ips, int link, uint32_t own_table);

// What is to be routed by the table: packets from these.
std::vector<IpAddress> sources_of(const Assignment& assignment);

}  // namespace vfrail
