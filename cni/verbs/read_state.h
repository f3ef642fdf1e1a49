// State: the facts that ADD decides on, read from sysfs, the host's namespace and the pod's. Changes nothing.
#pragma once

#include "cni/plan/plan.h"
#include "cni/verbs/chained.h"
#include "cni/verbs/verbs.h"

namespace vfrail {

// The device with all its parts in the host. A driver takes some 100 ms to make its netdev, a namespace that
// ends up to seconds to send a device home. What still is missing afterwards plan_attach() tells.
Result<Device> wait_for_parts(Device device, const NetConf& conf, Chained chained, World& world);

// Each question to the kernel only if the configuration needs its answer.
Result<State> read_state(Device device, const NetConf& conf, Chained chained, const Request& request,
                         Kernel& pod, World& world);

}  // namespace vfrail
