// The World of this process, from the environment (cni/node/world.h).
#pragma once

#include "cni/conf/request.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/log.h"
#include "common/result.h"

#include <string>

namespace vfrail::cni {

// Opens the records in VFRAIL_STATE_DIR, or /var/lib/cni/vfrail, with the locks below VFRAIL_RUN_DIR, or
// /run/vfrail.
Result<RecordStore> open_store(const Environment& environment);
RecordStore open_store_read_only(const Environment& environment);

// The World with the folders of the environment: VFRAIL_DEVINFO_DIR and VFRAIL_CDI_DIR each name one folder
// instead of those of World.
World make_world(const Environment& environment, Kernel& host, RecordStore store, Log& log);

// The variable's text; `fallback` if it is not set or empty.
std::string variable(const Environment& environment, const char* name, const char* fallback);

}  // namespace vfrail::cni
