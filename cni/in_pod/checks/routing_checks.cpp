// Several rails: by which one packets leave, and which one answers.
#include "cni/in_pod/checks/pod_check.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail::pod {

namespace {

constexpr uint32_t kMain = 254;
constexpr int64_t kStrict = 1;  // rp_filter

struct RailAddress {
  const PodLink* link = nullptr;
  IpAddress address;
};

std::vector<RailAddress> rail_addresses(const CheckedPod& pod, const PodNetwork& network) {
  std::vector<RailAddress> out;
  for (const Rail& rail : pod.own_rails()) {
    for (const std::string& name : rail.netdevs) {
      const PodLink* link = network.find(name);
      if (link == nullptr) continue;
      for (const IpAddress& address : link->addresses) {
        if (!address.v6()) out.push_back({link, address});
      }
    }
  }
  return out;
}

bool routed_by_source(const IpAddress& address, const PodNetwork& network) {
  return std::any_of(network.rules.begin(), network.rules.end(), [&](const RoutingRule& rule) {
    return rule.source.prefix > 0 && rule.table != kMain &&
           share_subnet({address.bytes, rule.source.prefix}, rule.source);
  });
}

int64_t conf(const PodLink& link, const char* key) {
  const auto at = link.ipv4_conf.find(key);
  return at == link.ipv4_conf.end() ? 0 : at->second;
}

void check_pair(const RailAddress& one, const RailAddress& other, const PodNetwork& network,
                CheckResults& out) {
  const std::string both = one.link->name + " (" + one.address.cidr() + ") and " + other.link->name + " (" +
                           other.address.cidr() + ") are in one subnet";
  if (!routed_by_source(one.address, network) || !routed_by_source(other.address, network)) {
    const bool strict = conf(*one.link, "rp_filter") == kStrict || conf(*other.link, "rp_filter") == kStrict;
    out.push_back({strict ? Finding::fault : Finding::advice,
                   both + ", and no rule routes by source: what is sent from either leaves by one of them" +
                       (strict ? ", and rp_filter drops what arrives at the other" : ""),
                   "\"sourceRouting\": true in both networks, or a subnet for each rail"});
    return;
  }
  for (const PodLink* link : {one.link, other.link}) {
    if (conf(*link, "arp_ignore") < 1 || conf(*link, "arp_announce") < 2) {
      out.push_back({Finding::advice, both + ", and " + link->name + " answers ARP for the other's address",
                     "net.ipv4.conf.IFNAME.arp_ignore=1 and arp_announce=2 by \"sysctl\" of both networks"});
      return;
    }
  }
}

Result<CheckResults> check_rail_routes(const CheckedPod& pod) {
  const auto network = TRY(pod.network);
  const auto addresses = rail_addresses(pod, network);
  CheckResults out;
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (size_t k = i + 1; k < addresses.size(); ++k) {
      const bool same = addresses[i].link == addresses[k].link;
      if (!same && share_subnet(addresses[i].address, addresses[k].address))
        check_pair(addresses[i], addresses[k], network, out);
    }
  }
  return out;
}

}  // namespace

const PodChecks& routing_checks() {
  static const PodChecks kChecks = {
      {"VF-P16", "rail-routes", "what is sent from a rail leaves by it", check_rail_routes},
  };
  return kChecks;
}

}  // namespace vfrail::pod
