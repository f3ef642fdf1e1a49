// Describes a configuration in words, for `vfrail check-config`. Pure.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/documents/network.h"

#include <string>

namespace vfrail::plugin {

std::string config_in_words(const Config& config);
std::string network_in_words(const Network& network);

}  // namespace vfrail::plugin
