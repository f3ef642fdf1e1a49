// `vfrail check-config`: configurations and networks in files, without a node. Stricter than `serve`: what
// makes a selection wider than it was written, or empty for ever, is an error here.
#pragma once

#include "plugin/device/config/formats/parse_config.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct CheckConfigOptions {
  std::vector<std::string> files;  // "-": stdin
  std::string resource_prefix = kPeersPrefix;
  bool strict = false;
};

// Exit code: 0 good (warnings may be on stderr), 1 strict and there are warnings, 2 wrong, be it one entry.
int check_config(const CheckConfigOptions& options);

}  // namespace vfrail::plugin
