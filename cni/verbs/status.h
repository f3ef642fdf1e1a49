// What STATUS checks: whether an ADD of this network would find what it needs, and whether attached pods have
// lost something. Reads only. (CNI specification 1.1, "STATUS".)
#pragma once

#include "cni/conf/net_conf.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vfrail::cni {

// What the state folder's file system lacks, and the remedy; no value if there is room.
Result<std::optional<std::string>> missing_room(const std::string& state_folder);

// The error of the state folder, with a remedy if its errno has one.
Error with_remedy(Error error);

}  // namespace vfrail::cni
