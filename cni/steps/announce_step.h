// The announcement of the pod's IPv4 addresses, so that neighbours replace a MAC they have cached. (The
// kernel announces IPv6 addresses itself: configure_pod().) It changes nothing on the node, so it has no
// inverse.
#pragma once

#include "cni/conf/result.h"
#include "common/kernel/kernel.h"
#include "common/log.h"

namespace vfrail::cni {

// Announces the link's IPv4 addresses to the neighbours. Errors are logged.
void announce(Kernel& pod, const Link& link, const Assignment& assignment, Log& log);

}  // namespace vfrail::cni
