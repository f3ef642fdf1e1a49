#include "cni/steps/rule_steps.h"

#include "cni/plan/routing.h"

#include <cerrno>

namespace vfrail::cni {

Result<> add_rules(Kernel& pod, const Link& link, const Assignment& assignment, uint32_t own_table) {
  for (const RoutingRule& rule : rules_of(assignment.ips, own_table)) {
    TRY(pod.add_rule(rule.source, rule.table), "source routing of " + link.name);
  }
  return {};
}

// The tables belong to the attachment alone, so every rule that leads to one does, too. Their routes were
// removed with the link.
Result<> remove_rules(const Record& record, Kernel& pod) {
  if (!record.routing_table) return {};
  for (const RoutingRule& rule : TRY(pod.rules())) {
    if (!is_own_table(rule.table, *record.routing_table)) continue;
    const auto removed = pod.remove_rule(rule);
    if (removed || removed.error().sys == ENOENT) continue;
    return Error(removed.error()).in("source routing of " + record.attachment.ifname);
  }
  return {};
}

Result<std::vector<uint32_t>> tables_in_use(Kernel& pod) {
  std::vector<uint32_t> out;
  for (const RoutingRule& rule : TRY(pod.rules())) out.push_back(rule.table);
  for (const Route& route : TRY(pod.routes(0))) out.push_back(route.table);
  return out;
}

}  // namespace vfrail::cni
