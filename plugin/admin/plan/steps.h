// What a way takes before pods can use it, with the commands. Pure.
#pragma once

#include "plugin/admin/plan/plan.h"

#include <string_view>
#include <vector>

namespace vfrail::plugin {

// Pods that share a device use the addresses of its interface, which stays in the host.
bool takes_hosts_address(Transport fabric);

std::vector<Step> steps_of(const PlanFacts& facts, const RailGroup& group, WayKind kind);

// What a check of `vfrail doctor` found first; null if it did not run.
const CheckResult* find_result(const PlanFacts& facts, std::string_view id);

}  // namespace vfrail::plugin
