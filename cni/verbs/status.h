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

// What is missing and the remedy; no value if there is room.
Result<std::optional<std::string>> missing_room(const std::string& state_folder);

// The remedy for an error of the state folder.
Error with_remedy(Error error);

}  // namespace vfrail::cni
