#include "cni/steps/address_steps.h"

#include "cni/plan/routing.h"
#include "cni/steps/rule_steps.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace vfrail::cni {

namespace {

// Twice the time of duplicate address detection with the kernel's defaults (one probe, one second, random
// delay of up to one second: addrconf_dad_kick()), and the timeout of the CNI plugins.
constexpr std::chrono::milliseconds kDadTimeout{5000};

// Without IPv6 on the interface RTM_NEWADDR would fail (EACCES), so a pod default of "disabled" is lifted for
// it, and for lo, so that a pod reaches its own addresses (as CNI's plugins do, ConfigureIface()). Its
// addresses also survive the interface going down, as IPv4's do.
Result<> enable_ipv6(Kernel& pod, const std::string& ifname) {
  for (const std::string& link : {std::string("lo"), ifname}) {
    const std::string name = "ipv6/conf/" + link + "/disable_ipv6";
    const auto disabled = TRY(pod.read_sysctl(name));
    if (!disabled)
      return Error{Errc::unsupported, 0,
                   ifname +
                       " was assigned an IPv6 address, but this kernel has no IPv6; boot it with IPv6, or "
                       "assign IPv4 addresses alone",
                   ErrorId::no_ipv6};
    if (*disabled != "0") TRY(pod.write_sysctl(name, "0"), "enable IPv6 on " + link);
  }
  return pod.write_sysctl("ipv6/conf/" + ifname + "/keep_addr_on_down", "1");
}

Result<> wait_for_addresses(Kernel& pod, const Link& link) {
  const auto deadline = std::chrono::steady_clock::now() + kDadTimeout;
  for (const LinkAddress& address :
       TRY(pod.wait_for_dad(link.index, deadline), "wait for duplicate address detection")) {
    if (address.dad == DadState::failed) {
      return Error{Errc::exists, 0,
                   "address " + address.address.cidr() + " of " + link.name +
                       " is in use by another host (duplicate address detection failed)",
                   ErrorId::address_in_use};
    }
  }
  // Still tentative: without a carrier the kernel does not start the detection, which is not a reason to fail
  // a pod.
  return {};
}

Result<> write_sysctls(Kernel& pod, const std::string& ifname, const std::vector<SysctlSetting>& sysctls) {
  for (const SysctlSetting& sysctl : sysctls) {
    auto written = pod.write_sysctl(sysctl.path_for(ifname), sysctl.value);
    if (written) continue;
    Error error = std::move(written).error();
    if (error.code == Errc::not_found) {
      error.specific = ErrorId::sysctl_unknown;
      error.text += "; the pod has no such setting: compare it with sysctl -a -r '^net' in a pod";
    }
    return std::move(error).in("set sysctl " + sysctl.key + " to " + sysctl.value);
  }
  return {};
}

// Of IPv4 alone. The kernel answers ARP for every address of the pod on every interface, so where rails are
// on one switch, whatever their subnets, packets for one arrive at another, and RoCE, whose GID is the
// other's, drops them. The kernel's own settings of the interface, which end with its stay in the pod.
Result<> keep_own_arp(Kernel& pod, const std::string& ifname) {
  for (const auto& [key, value] : {std::pair("arp_ignore", "1"), std::pair("arp_announce", "2")})
    TRY(pod.write_sysctl("ipv4/conf/" + ifname + "/" + key, value),
        std::string("set ") + key + " of " + ifname + " to " + value);
  return {};
}

// An answer of an IPAM plugin can have a route twice, or one without a gateway and one with the network's.
// The first of each counts, as in CNI's plugins; the kernel refuses the second (EEXIST).
bool is_same_route(const Route& a, const Route& b) {
  return a.destination == b.destination && a.gateway == b.gateway && a.link == b.link && a.table == b.table &&
         a.priority == b.priority;
}

std::vector<Route> each_once(std::vector<Route> routes) {
  std::vector<Route> out;
  for (Route& route : routes) {
    const auto same = [&](const Route& one) { return is_same_route(one, route); };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(route));
  }
  return out;
}

bool has_ipv4(const Assignment& assignment) {
  return std::any_of(assignment.ips.begin(), assignment.ips.end(),
                     [](const AssignedIp& ip) { return !ip.address.v6(); });
}

bool has_ipv6(const Assignment& assignment) {
  return std::any_of(assignment.ips.begin(), assignment.ips.end(),
                     [](const AssignedIp& ip) { return ip.address.v6(); });
}

// Whether a route needs an address that duplicate address detection has done with: one through a gateway over
// a tentative source address would be refused or lost, and one that names such a source is refused.
bool needs_dad(const Assignment& assignment) {
  const auto has_gateway6 = [](const AssignedIp& ip) { return ip.gateway && ip.gateway->v6(); };
  const auto has_source6 = [](const AssignedRoute& route) { return route.source && route.source->v6(); };
  return std::any_of(assignment.ips.begin(), assignment.ips.end(), has_gateway6) ||
         std::any_of(assignment.routes.begin(), assignment.routes.end(), has_source6);
}

}  // namespace

Result<> configure_pod(Kernel& pod, const Link& link, const Assignment& assignment,
                       const PodSettings& settings, std::optional<uint32_t> own_table) {
  if (has_ipv6(assignment)) TRY(enable_ipv6(pod, link.name));
  // The kernel then sends an unsolicited neighbour advertisement for each address once duplicate address
  // detection is done (addrconf_dad_completed(), since 4.19), so nothing waits for it and none is sent too
  // early. Kernels without it are not a reason to fail.
  if (has_ipv6(assignment) || settings.notifies) {
    static_cast<void>(pod.write_sysctl("ipv6/conf/" + link.name + "/ndisc_notify", "1"));
  }
  if (settings.notifies) static_cast<void>(pod.write_sysctl("ipv4/conf/" + link.name + "/arp_notify", "1"));
  if (settings.keeps_own_arp && has_ipv4(assignment)) TRY(keep_own_arp(pod, link.name));
  // Before the addresses, which some are about (accept_dad), and after our own, so that they win.
  TRY(write_sysctls(pod, link.name, settings.sysctls));
  for (const bool v6 : {false, true}) {
    for (const AssignedIp& ip : assignment.ips) {
      if (ip.address.v6() != v6) continue;
      TRY(pod.add_address(link.index, ip.address), link.name + " in the pod");
    }
  }
  if (needs_dad(assignment)) TRY(wait_for_addresses(pod, link));
  for (const Route& route : each_once(routes_of(assignment, link.index, own_table))) {
    TRY(pod.add_route(route), link.name + " in the pod");
  }
  return own_table ? add_rules(pod, link, assignment, *own_table) : Result<>();
}

}  // namespace vfrail::cni
