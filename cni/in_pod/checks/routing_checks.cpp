// Several rails: by which one packets leave, and which one answers.
#include "cni/in_pod/checks/pod_check.h"
#include "common/text.h"

#include <algorithm>
#include <set>

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

bool answers_for_others(const PodLink& link) {
  return conf(link, "arp_ignore") < 1 || conf(link, "arp_announce") < 2;
}

constexpr const char* kArpRemedy =
    "\"sourceRouting\": true in the networks of all rails, which sets net.ipv4.conf.IFNAME.arp_ignore=1 and "
    "arp_announce=2, or these two by \"sysctl\"";

// Of two in one subnet.
CheckResults check_pair(const RailAddress& one, const RailAddress& other, const PodNetwork& network) {
  const std::string both = one.link->name + " (" + one.address.cidr() + ") and " + other.link->name + " (" +
                           other.address.cidr() + ") are in one subnet";
  if (!routed_by_source(one.address, network) || !routed_by_source(other.address, network)) {
    const bool strict = conf(*one.link, "rp_filter") == kStrict || conf(*other.link, "rp_filter") == kStrict;
    return {{strict ? Finding::fault : Finding::advice,
             both + ", and no rule routes by source: what is sent from either leaves by one of them" +
                 (strict ? ", and rp_filter drops what arrives at the other" : ""),
             "\"sourceRouting\": true in both networks, or a subnet for each rail"}};
  }
  for (const PodLink* link : {one.link, other.link}) {
    if (answers_for_others(*link))
      return {{Finding::advice, both + ", and " + link->name + " answers ARP for the other's address",
               kArpRemedy}};
  }
  return {};
}

// ARP goes by the switch and not by the subnet. One result for all of these rails, however many.
CheckResults check_other_subnets(const std::set<std::string>& answering) {
  if (answering.empty()) return {};
  return {{Finding::advice,
           first_few({answering.begin(), answering.end()}) +
               (answering.size() == 1 ? " answers" : " answer") +
               " ARP for the addresses of the other rails: where they are on one switch, also in different "
               "subnets, packets for one arrive at another, and RoCE drops them",
           kArpRemedy}};
}

Result<CheckResults> check_rail_routes(const CheckedPod& pod) {
  const auto network = TRY(pod.network);
  const auto addresses = rail_addresses(pod, network);
  CheckResults out;
  std::set<std::string> answering;  // rails that have others in other subnets
  std::set<std::string> reported;
  for (size_t i = 0; i < addresses.size(); ++i) {
    for (size_t k = i + 1; k < addresses.size(); ++k) {
      if (addresses[i].link == addresses[k].link) continue;
      if (share_subnet(addresses[i].address, addresses[k].address)) {
        for (CheckResult& one : check_pair(addresses[i], addresses[k], network)) {
          out.push_back(std::move(one));
          reported.insert({addresses[i].link->name, addresses[k].link->name});
        }
        continue;
      }
      for (const PodLink* link : {addresses[i].link, addresses[k].link})
        if (answers_for_others(*link)) answering.insert(link->name);
    }
  }
  for (const std::string& name : reported) answering.erase(name);  // the remedy is the same
  for (CheckResult& one : check_other_subnets(answering)) out.push_back(std::move(one));
  return out;
}

}  // namespace

const PodChecks& routing_checks() {
  static const PodChecks kChecks = {
      {"VF-P16", "rail-routes",
       "what is sent from a rail leaves by it, and it answers ARP for its own addresses alone",
       check_rail_routes, lacks_rails},
  };
  return kChecks;
}

}  // namespace vfrail::pod
