// What `vfrail provision` prints: a plan, and what became of it. Pure.
#pragma once

#include "common/json.h"
#include "plugin/provision/plan.h"
#include "plugin/provision/run.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct ProvisionReport {
  const ProvisionPlan& plan;
  std::vector<PfResult> results = {};  // in the order of plan.pfs; empty: with --dry-run
  bool dry_run = false;
};

// Of one PF: the worst of its obstacles and failures, else whether it is changed.
PfOutcome outcome_of(const ProvisionReport& report, size_t pf);
// Of all: failed, needs_reboot, refused, changed, unchanged, the first of these that there is.
PfOutcome outcome_of(const ProvisionReport& report);
const char* outcome_name(PfOutcome outcome);  // "unchanged", "changed", "refused", "needs-reboot", "failed"

std::string provision_text(const ProvisionReport& report);
Json provision_json(const ProvisionReport& report);

}  // namespace vfrail::plugin
