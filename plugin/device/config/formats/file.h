// Reads a configuration file, or stdin. parse_config() reads the text.
#pragma once

#include "plugin/device/config/formats/parse_config.h"

#include <string>

namespace vfrail::plugin {

// What stands for stdin, and what messages call that.
inline constexpr const char* kStdin = "-";
std::string shown_file(const std::string& file);

// The text. Follows symbolic links: a mounted ConfigMap consists of them.
Result<std::string> read_config_file(const std::string& file);
// Reads and parses `options.file`.
Result<Config> load_config(const ConfigOptions& options);

}  // namespace vfrail::plugin
