// A call of a container runtime, by the CNI protocol: stdin and environment in, one verb, JSON on stdout.
// What it is answered is decided in cni/protocol.h.
#pragma once

#include "cni/conf/request.h"

namespace vfrail::cni {

// The exit code.
int run_cni(const Environment& environment);

}  // namespace vfrail::cni
