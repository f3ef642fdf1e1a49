// Says a configuration in words, for `vfrail check-config`. Pure.
#pragma once

#include "plugin/config/config.h"

#include <string>

namespace vfrail {

std::string describe(const Config& config);

}  // namespace vfrail
