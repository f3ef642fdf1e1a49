// What the pod's namespace gets with the interface: sysctls, addresses, routes, and the rules of source
// routing. The inverse is the link's: when it leaves the pod (restore_link()), the kernel drops its
// addresses, its routes and its sysctls, and other sysctls end with the namespace. The rules stay, and have
// an inverse of their own (cni/steps/rule_steps.h).
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/result.h"
#include "cni/node/world.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>
#include <optional>

namespace vfrail::cni {

// Sets sysctls, addresses, routes, and rules if there is `own_table`, the first table of the attachment with
// source routing. IPv4 addresses come first, in the order of IPAM within each family, because GIDs are in the
// order of the addresses.
Result<> configure_pod(Kernel& pod, const Link& link, const Assignment& assignment,
                       const PodSettings& settings, std::optional<uint32_t> own_table);

}  // namespace vfrail::cni
