#include "cni/steps/pod_check.h"

#include "cni/plan/routing.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// The kernel separates several numbers by tabs (tcp_rmem).
std::string one_blank_between(const std::string& text) { return joined(split(text, " \t\n"), " "); }

Result<> compare_sysctls(const std::vector<SysctlSetting>& wanted, const std::string& ifname, Kernel& pod,
                         std::vector<std::string>& out) {
  for (const SysctlSetting& sysctl : wanted) {
    const auto have = TRY(pod.read_sysctl(sysctl.path_for(ifname)), "read sysctl " + sysctl.key);
    if (have && one_blank_between(*have) == one_blank_between(sysctl.value)) continue;
    out.push_back("sysctl " + sysctl.key + " is " + (have ? one_blank_between(*have) : "not there") +
                  ", expected " + one_blank_between(sysctl.value));
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> pod_differences(const PodSettings& wanted, const Link& link, Kernel& pod) {
  std::vector<std::string> out = wanted.link.differences(link);
  TRY(compare_sysctls(wanted.sysctls, link.name, pod, out));
  return out;
}

Result<std::vector<std::string>> routing_differences(const Assignment& wanted, uint32_t own_table,
                                                     const Link& link, Kernel& pod) {
  std::vector<std::string> out;
  const auto table = [](uint32_t number) { return "table " + std::to_string(number); };
  const auto rules = TRY(pod.rules());
  for (const RoutingRule& rule : rules_of(wanted.ips, own_table)) {
    const bool there = std::any_of(rules.begin(), rules.end(), [&](const RoutingRule& one) {
      return one.source == rule.source && one.table == rule.table;
    });
    if (!there)
      out.push_back("the rule from " + rule.source.text() + " to " + table(rule.table) +
                    " is missing in the pod");
  }
  const auto routes = TRY(pod.routes(link.index));
  for (const Route& route : own_routes(wanted.ips, link.index, own_table)) {
    const bool there = std::any_of(routes.begin(), routes.end(), [&](const Route& one) {
      return one.destination == route.destination && one.table == route.table;
    });
    if (!there) out.push_back("route " + route.destination.cidr() + " is missing in " + table(route.table));
  }
  return out;
}

}  // namespace vfrail::cni
