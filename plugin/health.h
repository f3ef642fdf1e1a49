// find_fault(): whether a device can do its work, as far as the host can see it without touching it. Pure.
#pragma once

#include "plugin/config.h"
#include "plugin/inventory.h"

#include <string>

namespace vfrail {

// Why the device is unhealthy under that policy; empty if it is healthy. It is about the port behind the
// device, never about its own netdev, which is down while it waits and away while a pod has it.
std::string find_fault(const Function& function, const HealthPolicy& policy);

}  // namespace vfrail
