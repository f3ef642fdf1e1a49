// How many threads gRPC makes in this process, and whether it can have them: gRPC neither works nor says a
// word where one of its own cannot be started, so that is asked for before it begins.
#pragma once

#include "common/result.h"

namespace vfrail::plugin {

// gRPC 1.51 makes its threads by the number of processors that it believes in, which is two in a process
// that links this, whatever the machine has: it serves kubelet, which makes a call or two at a time.
inline constexpr unsigned kGrpcProcessors = 2;

// As many threads as gRPC and the daemon can come to. An error names the limits that can be the reason.
// Changes nothing.
Result<> check_thread_room();

}  // namespace vfrail::plugin
