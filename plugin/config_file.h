// Reads a configuration file. The text is parse_config()'s business.
#pragma once

#include "plugin/config.h"

namespace vfrail {

// Reads and parses `options.file`. Follows symbolic links: a mounted ConfigMap consists of them.
Result<Config> load_config(const ConfigOptions& options);

}  // namespace vfrail
