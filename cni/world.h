// The World of this process, as the environment says (cni/verbs.h).
#pragma once

#include "cni/verbs.h"

namespace vfrail {

// VFRAIL_STATE_DIR, or /var/lib/cni/vfrail.
std::string state_folder(const Environment& environment);

World make_world(const Environment& environment, Kernel& host, RecordStore store, Log& log);

// The variable's text; `fallback` if it is not set or empty.
std::string variable(const Environment& environment, const char* name, const char* fallback);

}  // namespace vfrail
