// PodNetwork: the interfaces, addresses, routes and rules of a pod, as far as the checks need them.
#pragma once

#include "common/ip_address.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfrail::pod {

struct PodLink {
  int index = 0;
  std::string name;
  uint32_t mtu = 0;
  bool up = false;
  std::vector<IpAddress> addresses;
  // Of net/ipv4/conf: rp_filter, arp_ignore, arp_announce; the larger of the link's and that of "all", which
  // counts.
  std::map<std::string, int64_t> ipv4_conf;
};

struct PodNetwork {
  std::vector<PodLink> links;  // by index
  std::vector<Route> routes;   // of the main table
  std::vector<RoutingRule> rules;
  const PodLink* find(const std::string& name) const;
  const PodLink* find(int index) const;
};

Result<PodNetwork> read_pod_network(Kernel& kernel);

// Whether both have a network in common, and so would the packets that leave by either.
bool share_subnet(const IpAddress& one, const IpAddress& other);

}  // namespace vfrail::pod
