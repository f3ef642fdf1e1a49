// Whether this process can have the threads that it needs. gRPC neither works nor says a word where one of
// its own cannot be started, so that is asked for before it begins. Changes nothing.
#pragma once

#include "common/result.h"

namespace vfrail::plugin {

// As many as gRPC 1.51 starts on this machine and the daemon itself: 12 on 2 cores, 40 on 32 and more. An
// error names the limits that can be the reason.
Result<> check_thread_room();

}  // namespace vfrail::plugin
