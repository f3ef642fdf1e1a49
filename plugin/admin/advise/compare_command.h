// `vfrail compare`: reads a configuration of another device plugin and the node, and prints what compare()
// says of them.
#pragma once

#include "plugin/device/config/config.h"

#include <string>

namespace vfrail::plugin {

struct CompareOptions {
  std::string from = {};
  std::string file = {};  // "-": stdin
  std::string root = "/";
  std::string resource_prefix = kPeersPrefix;
};

// Exit code: 0 done, 1 the node cannot be read or stdout is closed, 2 the file is wrong or has nothing of
// that plugin.
int compare(const CompareOptions& options);

}  // namespace vfrail::plugin
