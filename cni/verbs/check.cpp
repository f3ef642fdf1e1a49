#include "cni/ipam/ipam.h"
#include "cni/node/device.h"
#include "cni/node/find_link.h"
#include "cni/node/namespaces.h"
#include "cni/plan/plan.h"
#include "cni/plan/routing.h"
#include "cni/steps/gid_step.h"
#include "cni/steps/pod_check.h"
#include "cni/steps/rdma_steps.h"
#include "cni/verbs/child.h"
#include "cni/verbs/verbs.h"
#include "common/errors/error_id.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// Collects every difference, so that one CHECK reports all of them.
class Differences {
 public:
  void add(const std::string& what) { text_ += (text_.empty() ? "" : "; ") + what; }
  void expect(bool holds, const std::string& what) {
    if (!holds) add(what);
  }
  Result<> result() const {
    if (text_.empty()) return {};
    return Error{Errc::system, 0, text_, ErrorId::check_mismatch};
  }

 private:
  std::string text_;
};

// IPoIB's address begins with the number of a queue pair, which differs each time; the rest is its port's.
bool same_address(const MacAddress& a, const MacAddress& b) {
  if (!a.ipoib() || !b.ipoib()) return a == b;
  return std::equal(a.bytes.begin() + 4, a.bytes.end(), b.bytes.begin() + 4);
}

// A later plugin of the chain may have set another address, which is then in the result.
Result<std::optional<MacAddress>> expected_mac(const Json& prev_result, const MacKeys& keys,
                                               const Request& request, Differences& out) {
  const auto previous = interface_of(prev_result, request.ifname, request.netns);
  out.expect(previous.has_value(), "prevResult has no interface " + request.ifname + " in " + request.netns);
  if (!previous || previous->mac.empty()) return wanted_mac(request, keys);
  auto mac = MacAddress::parse(previous->mac);
  out.expect(mac.has_value(), "prevResult: \"" + previous->mac.substr(0, 40) + "\" is not a MAC address");
  return mac;
}

Result<> compare_link(const EntryConf& entry, const LinkConf& wanted, const Request& request,
                      const Link& link, Differences& out) {
  const std::string& name = request.ifname;
  out.expect(link.name == name, "the device is called " + link.name + " in the pod, not " + name);
  out.expect(link.up(), name + " is down");
  if (const auto mac = TRY(expected_mac(*entry.prev_result, wanted.mac, request, out))) {
    out.expect(same_address(link.mac, *mac),
               name + " has the address " + link.mac.text() + ", expected " + mac->text());
  }
  // Tools that set another MTU later do not put it into the result, so it is compared only if configured.
  if (wanted.mtu && !is_mtu_in_vain(wanted.mtu, entry.type, &link)) {
    out.expect(link.mtu == *wanted.mtu,
               name + " has MTU " + std::to_string(link.mtu) + ", expected " + std::to_string(*wanted.mtu));
  }
  return {};
}

// The kernel truncates larger ones (ip_metrics_convert()).
constexpr uint32_t kMaxRouteMtu = 65535 - 15;
constexpr uint32_t kMaxAdvmss = 65535 - 40;

// 0 and absent are the same, for the kernel and for IPAM plugins.
bool has_metric(const std::optional<uint32_t>& wanted, const std::optional<uint32_t>& have, uint32_t max) {
  return wanted.value_or(0) == 0 || std::min(*wanted, max) == have;
}

// The route that the kernel adds for an address (fib_add_ifaddr(), addrconf_prefix_route()). In any table,
// because a VRF has its own, except those that source routing fills.
void compare_network(const IpAddress& address, const Link& link, std::optional<uint32_t> own_table,
                     const std::vector<Route>& routes, Differences& out) {
  if (address.prefix == address.bytes.size() * 8 || !link.up()) return;
  const IpAddress network = network_of(address);
  const bool there = std::any_of(routes.begin(), routes.end(), [&](const Route& one) {
    return one.destination == network && !one.gateway && one.link == link.index &&
           !(own_table && is_own_table(one.table, *own_table));
  });
  out.expect(there, "the route to " + network.cidr() + " that " + address.cidr() + " of " + link.name +
                        " comes with is missing in the pod");
}

// A route assigned without a gateway uses the gateway of an address; if another interface has the route, its
// gateway is not compared.
bool has_gateway(const Route& have, const AssignedRoute& wanted, const Link& link,
                 const std::vector<IpAddress>& gateways) {
  constexpr uint8_t kLinkScope = 253;  // RT_SCOPE_LINK
  if (wanted.gateway) return have.gateway == wanted.gateway;
  if (wanted.scope == kLinkScope || gateways.empty() || have.link != link.index) return true;
  return have.gateway && std::find(gateways.begin(), gateways.end(), *have.gateway) != gateways.end();
}

void compare_route(const AssignedRoute& wanted, const Link& link, const std::vector<IpAddress>& gateways,
                   const std::vector<Route>& routes, Differences& out) {
  const auto same = [&](const Route& one) {
    return one.destination == wanted.destination && has_gateway(one, wanted, link, gateways);
  };
  const std::string name = "route " + wanted.destination.cidr();
  const auto found = std::find_if(routes.begin(), routes.end(), same);
  if (found == routes.end()) return out.add(name + " is missing in the pod");
  const bool metrics = std::any_of(found, routes.end(), [&](const Route& one) {
    return same(one) && has_metric(wanted.mtu, one.mtu, kMaxRouteMtu) &&
           has_metric(wanted.advmss, one.advmss, kMaxAdvmss);
  });
  out.expect(metrics, name + " has MTU " + std::to_string(found->mtu.value_or(0)) + " and advmss " +
                          std::to_string(found->advmss.value_or(0)) + ", expected " +
                          std::to_string(wanted.mtu.value_or(0)) + " and " +
                          std::to_string(wanted.advmss.value_or(0)) + " (0: any)");
}

Result<> compare_addresses(const Assignment& wanted, const Link& link, std::optional<uint32_t> own_table,
                           Kernel& pod, Differences& out) {
  if (wanted.ips.empty() && wanted.routes.empty()) return {};
  const auto have = TRY(pod.addresses(link.index));
  // A route of prevResult may belong to another interface of the chain, so it must exist on some link.
  const auto routes = TRY(pod.routes(0));
  for (const AssignedIp& ip : wanted.ips) {
    const bool there = std::any_of(have.begin(), have.end(),
                                   [&](const LinkAddress& one) { return one.address == ip.address; });
    out.expect(there, "address " + ip.address.cidr() + " is missing on " + link.name);
    if (there) compare_network(ip.address, link, own_table, routes, out);
  }
  for (const AssignedRoute& route : wanted.routes)
    compare_route(route, link, gateways_for(route.destination, wanted.ips), routes, out);
  return {};
}

Result<> compare_vf(const Record& record, const VfSettings& wanted, World& world, Differences& out) {
  // An entry that moved the RDMA device only follows an earlier plugin, which owns the rest.
  const bool ours = record.vf || record.link;
  if (wanted.empty() || !record.device || !ours) return {};
  const auto found = TRY(find_vf_place(world.sys, *record.device, record.port), "find the PF");
  const auto& place = found.place;
  if (!place) {
    out.expect(!record.vf, found.why_not);
    return {};
  }
  const auto have = TRY(world.host.vf_settings(place->pf_link, place->index), place->pf);
  if (!have) {
    out.add(place->pf + " has no VF " + std::to_string(place->index));
    return {};
  }
  for (const VfSettings& one : have->missing(wanted).each()) {
    const std::string has = have->only(one).text();
    out.add("VF " + std::to_string(place->index) + " of " + place->pf + " has " +
            (has.empty() ? "no such setting" : has) + ", expected " + one.text());
  }
  return {};
}

Result<> compare_rdma(const Record& record, Kernel& pod, const World& world, Differences& out) {
  for (const MovedRdma& moved : record.rdma) {
    const auto device = TRY(find_rdma_in_pod(record, moved, pod, world));
    const std::string& name = moved.in_pod;
    out.expect(device.has_value(), "RDMA device " + name + " is not in the pod's namespace");
    if (device) {
      out.expect(device->name == name,
                 "the RDMA device is called " + device->name + " in the pod, not " + name);
    }
  }
  return {};
}

// Programs in the pod were given the index.
Result<> compare_gid(const Record& record, Kernel& pod, const World& world, Differences& out) {
  if (!record.in_pod || !record.in_pod->gid_index) return {};
  const InPod& had = *record.in_pod;
  const auto found = TRY(wait_for_gid(record, had, {}, pod, world));
  // Without a table the device is not in the pod, which is a difference of its own.
  if (!found.has_table || (found.place && found.place->index == *had.gid_index)) return {};
  const std::string now = found.place ? "has index " + std::to_string(found.place->index) : "is gone";
  out.add("the RoCE v2 GID of " + first_for_gid(had.addresses)->text() + " in " + had.rdma + " " + now +
          ", it had index " + std::to_string(*had.gid_index));
  return {};
}

// whereabouts answers every CHECK with this error, so it says nothing about the pod (its cmdCheck()).
bool is_not_implemented(const std::string& ipam_type, const Error& error) {
  return ipam_type == "whereabouts" && error.code == Errc::peer && error.text.ends_with("not implemented");
}

Result<> check_ipam(const Request& request, const std::string& ipam_type, World& world) {
  if (ipam_type.empty()) return {};
  auto answer = run_ipam(request, Command::check, ipam_type, world.ipam_timeout);
  if (answer) return {};
  if (!is_not_implemented(ipam_type, answer.error())) return std::move(answer).error();
  world.log.info("the IPAM plugin cannot check its address, all the rest is as it should be",
                 {{"reason", answer.error().text}});
  return {};
}

}  // namespace

Result<> check(const Request& request, World& world) {
  const NetConf conf = TRY(request.config.conf(), "network configuration");
  if (!conf.entry.prev_result)
    return Error{Errc::invalid, 0, "prevResult: CHECK needs it", ErrorId::prev_result_missing};
  const auto record = TRY(world.store.load({request.container_id, request.ifname}));
  if (!record) {
    return Error{Errc::not_found, 0,
                 "there is no record of an attachment " + request.ifname + " of container " +
                     request.container_id + ": it was never attached, or has been detached; delete the pod",
                 ErrorId::not_attached};
  }
  const auto pod = TRY(world.open_netns(request.netns));
  if (!pod)
    return Error{Errc::wrong_netns, 0,
                 "CNI_NETNS " + request.netns + " is not a network namespace" + kPodHasEnded};
  Differences differences;
  if (record->link || record->child) {
    const auto link = record->child ? TRY(find_child(*record, *pod)) : TRY(find_link_in_pod(*record, *pod));
    if (link) {
      Assignment wanted = TRY(assignment_of(*conf.entry.prev_result, request.ifname, request.netns));
      if (record->link && conf.safety.host_config == HostConfigUse::move)
        complete_host_routes(*record->link, wanted);
      TRY(compare_link(conf.entry, conf.link, request, *link, differences));
      for (const std::string& what : TRY(pod_differences(conf.pod, *link, *pod))) differences.add(what);
      if (record->routing_table) {
        for (const std::string& what : TRY(routing_differences(wanted, *record->routing_table, *link, *pod)))
          differences.add(what);
      }
      TRY(compare_addresses(wanted, *link, record->routing_table, *pod, differences));
    } else {
      differences.add("the interface of " + record->device_key + " is not in the pod's namespace");
    }
  }
  TRY(compare_vf(*record, TRY(wanted_vf_settings(request, conf.link.mac, conf.vf)), world, differences));
  TRY(compare_rdma(*record, *pod, world, differences));
  TRY(compare_gid(*record, *pod, world, differences));
  TRY(differences.result());
  return check_ipam(request, conf.entry.ipam_type, world);
}

}  // namespace vfrail::cni
