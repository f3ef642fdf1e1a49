// Which devices the claims of a pod have, by the records that vfrail serve has written at their prepare. The
// pod is the one that the runtime names (CNI_ARGS).
#pragma once

#include "cni/conf/request.h"
#include "cni/node/world.h"
#include "cni/plan/claim_rails.h"
#include "common/result.h"

#include <vector>

namespace vfrail::cni {

// Adds the interface and its addresses to the metadata of the claims that the record's device is of, for the
// pod's containers. A failure is logged: they have the device without it.
void describe_to_claims(const Request& request, const Record& record, World& world);

// In the order of the claims' names, then of their requests. Not the devices that pods share: those stay in
// the host. Empty: the pod has no claim of ours, or is not one of Kubernetes.
Result<std::vector<ClaimedDevice>> read_claimed(const Request& request, const World& world);

}  // namespace vfrail::cni
