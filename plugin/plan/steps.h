// What a way takes before pods can use it, with the commands. Pure.
#pragma once

#include "plugin/plan/plan.h"

#include <string_view>
#include <vector>

namespace vfrail {

// The functions of one fabric that can serve pods.
struct Members {
  std::vector<const PciFunction*> cards;  // PFs that are not the host's
  std::vector<const PciFunction*> vfs;
};

std::vector<Step> steps_of(const PlanFacts& facts, const Members& members, Fabric fabric, WayKind kind);

// What a check of `vfrail doctor` found first; null if it did not run.
const CheckResult* find_result(const PlanFacts& facts, std::string_view id);

}  // namespace vfrail
