// provision_round(): one run of provision: reads the configuration and the node, plans, and does it. At most
// one runs on a node at a time.
#pragma once

#include "plugin/admin/provision/provision.h"
#include "plugin/provision/plan.h"
#include "plugin/provision/run.h"

#include <vector>

namespace vfrail::plugin {

struct ProvisionRound {
  ProvisionPlan plan;
  std::vector<PfResult> results;  // in the order of plan.pfs; empty: with dry_run
};

// Errc::invalid: the configuration is wrong.
Result<ProvisionRound> provision_round(const ProvisionOptions& options, const AskKubelet& ask);

}  // namespace vfrail::plugin
