// The device nodes in the CDI spec of a container. Has no inverse: a runtime creates no container from the
// spec before the next ADD has corrected it, or Allocate has written it again.
#pragma once

#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "common/result.h"

namespace vfrail::cni {

// Corrects the device's nodes in its CDI spec, if its container gets them that way: the move of its RDMA
// device has renumbered them.
Result<> correct_cdi_spec(const Record& record, const AttachPlan& plan, World& world);

}  // namespace vfrail::cni
