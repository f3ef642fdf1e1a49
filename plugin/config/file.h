// Reads a configuration file. The text is parse_config()'s business.
#pragma once

#include "plugin/config/config.h"

#include <string>

namespace vfrail {

// The text. Follows symbolic links: a mounted ConfigMap consists of them.
Result<std::string> read_config_file(const std::string& file);
// Reads and parses `options.file`.
Result<Config> load_config(const ConfigOptions& options);

}  // namespace vfrail
