// `vfrail plan`: reads the node and the configuration, and prints the plan. Decides nothing (plan.h).
#pragma once

#include "plugin/device/config/config.h"

#include <string>

namespace vfrail::plugin {

struct PlanOptions {
  std::string root = "/";
  std::string config_file = {};  // empty: none to compare with
  std::string resource_prefix = kPeersPrefix;
  bool json = false;
};

// Exit code: 0 done, 1 the node cannot be read, 2 the configuration is wrong.
int plan(const PlanOptions& options);

}  // namespace vfrail::plugin
