// The warnings of a configuration that are errors for `vfrail check-config`.
#pragma once

#include "plugin/device/config/config.h"

#include <string>
#include <vector>

namespace vfrail::test {

inline std::vector<std::string> mistakes_of(const plugin::Config& config) {
  std::vector<std::string> out;
  for (const Warning& warning : config.warnings) {
    if (warning.id == ErrorId::config_mistake) out.push_back(warning.line());
  }
  return out;
}

}  // namespace vfrail::test
