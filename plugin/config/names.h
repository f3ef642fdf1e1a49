// Resource names: which ones kubelet accepts, and the names made from them (declared in config.h).
#pragma once

#include "common/result.h"

#include <string_view>

namespace vfrail {

// Letters, digits, '_' and '-', a letter or digit at both ends, at most 63 characters.
Result<> check_resource_name(std::string_view name);
// A DNS subdomain in lower case.
Result<> check_resource_prefix(std::string_view prefix);

}  // namespace vfrail
