// `vfrail convert`: reads a file of a plugin that vfrail replaces and the node, and prints what convert()
// makes of them. Writes nothing.
#pragma once

#include "plugin/config/config.h"

#include <string>

namespace vfrail::plugin {

struct ConvertOptions {
  std::string from = {};
  std::string file = {};  // "-": stdin
  std::string root = "/";
  std::string resource_prefix = kPeersPrefix;
};

// Exit code: 0 done, 1 the node cannot be read or stdout is closed, 2 the file is wrong or has nothing of
// that plugin.
int convert(const ConvertOptions& options);

}  // namespace vfrail::plugin
