// What libibverbs says of the RDMA devices of this pod: with the drivers of all vendors linked in, so that an
// image without any answers, too. Registers memory and releases it.
#pragma once

#include "cni/in_pod/probe/probes.h"

namespace vfrail::pod {

// Of devices that libibverbs lists: those whose nodes are in /dev/infiniband. `bytes` are registered; 0:
// none.
std::vector<VerbsProbe> probe_verbs(uint64_t bytes);

}  // namespace vfrail::pod
