// `vfrail plan`: reads the nodes and the configuration, and prints the plan. Decides nothing (plan.h,
// cluster.h).
#pragma once

#include "plugin/device/config/config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

enum class PlanOutput : uint8_t { text, json, config };

struct PlanOptions {
  std::vector<std::string> roots = {};  // a node each; none: this one
  std::string config_file = {};         // empty: none to compare with
  std::string resource_prefix = kPeersPrefix;
  PlanOutput output = PlanOutput::text;
  std::string name = {};  // of the resources; empty: by fabric and speed
};

// Exit code: 0 done, 1 a node cannot be read, or has nothing for a configuration that is asked for, 2 the
// configuration or the name is wrong.
int plan(const PlanOptions& options);

}  // namespace vfrail::plugin
