// What the host would lose if a device went into a pod. Reads only; common/node/host_use decides.
#pragma once

#include "cni/node/device.h"
#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// The interfaces of the host that stand on one of the host's: VLANs, macvlans, its bond, ... One listing of
// sysfs, and a message for each.
Result<std::vector<Link>> find_uppers(const SysRoot& sys, Kernel& host, const std::string& netdev);

// Why the host needs the netdev, which is in its namespace: "part of bond0 (a bond)". Empty: it
// does not. `uppers` are those of find_uppers(). The first reason that is found suffices, in the order of
// what it costs to read: memberships, VFs, default routes. A link that is down carries nothing, so only a
// link that is up is queried: two messages, which the kernel answers for this link alone.
Result<std::string> read_host_use(const SysRoot& sys, Kernel& host, const Device& device, const Link& link,
                                  const std::vector<Link>& uppers);

// Why the netdev can have no carrier in the pod: its PF is down. Empty: it is up, or unknown.
std::string find_downed_pf(const SysRoot& sys, const DeviceId& id);

}  // namespace vfrail::cni
