// A CNI network configuration as far as every plugin has it. A plugin's own keys are checked by that plugin:
// vfrail-cni's in cni/conf. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/documents/documents.h"

#include <cstdint>
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
// What a text of JSON in an operator's network is.
enum class JsonText : uint8_t {
  ipam,          // an object, as check_ipam() wants it
  plugins,       // the inside of a list: objects with commas between them
  capabilities,  // an object
};
// The text of such a key, checked; empty if there is none.
Result<std::string> read_json_text(ObjectReader& spec, const Document& document, const char* key,
                                   JsonText form);
// The name of an executable.
Result<> check_plugin_type(ObjectReader& plugin);

}  // namespace vfrail::plugin
