// find_fault(): whether a device can do its work, as far as the host can see it without touching it. Pure.
#pragma once

#include "plugin/config/config.h"
#include "plugin/inventory/inventory.h"
#include "plugin/match/fault.h"

namespace vfrail {

// Why the device is unhealthy in that resource, by its health policy; none if it is healthy. It is about the
// port behind the device, never about its own netdev, which is down while it waits and away while a pod has
// it. Only a shared device has to work where it is: its own ports count, of whatever link layer.
Fault find_fault(const PciFunction& function, const ResourceConfig& resource);

}  // namespace vfrail
