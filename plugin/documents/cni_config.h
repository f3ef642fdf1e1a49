// A CNI network configuration as far as every plugin has it. A plugin's own keys are checked by that plugin:
// vfrail-cni's in cni/conf. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct CniConfig {
  std::vector<std::string> types;  // of the plugins, in their order
  bool needs_allocation = false;   // a plugin that moves a device, and no key that names one
};

// Reads the configuration of one plugin, or of a list of plugins ("plugins"). Errors name key and line.
Result<CniConfig> read_cni_config(const Json& value);
// The value of "ipam": an object with the type of its plugin, or empty.
Result<> check_ipam(const Json& value, const std::string& place);
// The name of an executable.
Result<> check_plugin_type(ObjectReader& plugin);

}  // namespace vfrail::plugin
