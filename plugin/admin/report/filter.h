// Which devices of a report are requested. Pure.
#pragma once

#include "common/result.h"
#include "plugin/admin/report/node_report.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct DeviceFilter {
  std::vector<std::string> devices;    // of any of these names; none: all
  std::vector<std::string> resources;  // "nvidia.com/hostdev" or "hostdev"; none: all
  std::vector<std::string> pfs;        // PFs with what belongs to them; none: all
  bool unhealthy = false;

  bool empty() const { return devices.empty() && resources.empty() && pfs.empty() && !unhealthy; }
};

// Whether `name` is one of the names that an administrator knows: the id, without the PCI domain if that is
// 0, the name of its netdev or of a bond that has it, or of its RDMA device.
bool is_called(const DeviceFacts& function, const std::string& name, const Inventory& inventory);
// The error for a name that no function has.
Error unknown_device(const std::string& name);

// Devices that one of the conditions excludes are not `shown`. Errc::not_found for a name that matches
// nothing on this node.
Result<> apply(const DeviceFilter& filter, NodeReport& report);

}  // namespace vfrail::plugin
