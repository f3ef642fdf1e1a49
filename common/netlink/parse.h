// Pure functions from the bytes of one netlink message to our values: no socket, no log, no state.
// The unit tests and the fuzz targets call the same functions.
#pragma once

#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstddef>
#include <span>
#include <vector>

namespace vfrail {

using NlBytes = std::span<const std::byte>;

// Each function takes a whole message, header included. A message that is too short, of another type, or
// whose attributes do not fit is Errc::protocol.
Result<Link> parse_link(NlBytes message);  // RTM_NEWLINK
// RTM_NEWLINK of a PF with VF data.
Result<std::vector<VfReport>> parse_vfs(NlBytes message);
// RTM_NEWLINK of a PF with VF data and counters.
Result<std::vector<VfTraffic>> parse_vf_traffic(NlBytes message);
Result<LinkTraffic> parse_link_traffic(NlBytes message);        // RTM_NEWLINK with counters
Result<LinkAddress> parse_address(NlBytes message, int& link);  // RTM_NEWADDR; also gives the link's index
// RTM_NEWROUTE. Appends one Route for each next hop; nothing for routes that are not unicast routes to a link
// (local, broadcast, multicast, blackhole, cached).
Result<> parse_route(NlBytes message, std::vector<Route>& out);
// A next hop object: one link, or a group of others.
struct NextHop {
  uint32_t id = 0;
  int link = 0;  // 0: none, a blackhole
  std::vector<uint32_t> group;
};
Result<NextHop> parse_next_hop(NlBytes message);  // RTM_NEWNEXTHOP
// Routes over next hop objects, with their links: one Route for each. Errc::busy if one is not among them.
Result<std::vector<Route>> over_links(const std::vector<Route>& routes, const std::vector<NextHop>& hops);
// RTM_NEWRULE. Appends the rule; nothing for a family other than IPv4 and IPv6 (multicast routing has rules,
// too).
Result<> parse_rule(NlBytes message, std::vector<RoutingRule>& out);
Result<RdmaDevice> parse_rdma_device(NlBytes message);                   // RDMA_NLDEV_CMD_GET
Result<RdmaNetnsMode> parse_rdma_netns_mode(NlBytes message);            // RDMA_NLDEV_CMD_SYS_GET
Result<std::vector<NamedCounter>> parse_rdma_counters(NlBytes message);  // RDMA_NLDEV_CMD_STAT_GET

}  // namespace vfrail
