// find_fault(): whether a device can do its work, as far as the host can see it without touching the device.
// Pure.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/fault.h"

#include <string>

namespace vfrail::plugin {

// Why the device is unhealthy in that resource, by its health policy; none if it is healthy. It is about the
// port behind the device, never about its own netdev, which is down while unused and in the pod while one has
// it. Only a shared device has to work in the host: its own ports count, whatever their link layer.
Fault find_fault(const DeviceFacts& function, const ResourceConfig& resource);

// The parts of find_fault(), each alone; none: nothing wrong.
Fault carrier_fault(const DeviceFacts& function);
Fault guid_fault(const DeviceFacts& function);
Fault devlink_fault(const DeviceFacts& function);
// A RoCE port is down because its interface is, which is not a fault of the device.
bool is_set_down(const DeviceFacts& function);
// What to do about a port of the device's own RDMA devices that is not ACTIVE.
std::string own_port_remedy(const RdmaPort& port, const DeviceFacts& function);

}  // namespace vfrail::plugin
