// Describes a configuration in words, for `vfrail check-config`. Pure.
#pragma once

#include "plugin/config/config.h"
#include "plugin/documents/network.h"

#include <string>

namespace vfrail::plugin {

std::string describe(const Config& config);
std::string describe(const Network& network);

}  // namespace vfrail::plugin
