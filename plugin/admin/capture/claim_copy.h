// copy_claims(): what inspect, top and doctor read of the node's ResourceClaims, for capture(): the records
// of claims, what is offered, which CDI specs a claim has, and whether kubelet has the driver's sockets and
// the pods. The names of pods and claims stay, as those of interfaces do; the node's name, the values of
// environments, mounts and arguments do not.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/admin/capture/anonymous.h"

#include <string>

namespace vfrail::plugin {

Result<> copy_claims(const SysRoot& sys, const std::string& folder, Anonymous& anonymous);

}  // namespace vfrail::plugin
