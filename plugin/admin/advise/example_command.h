// `vfrail example`: reads the configuration and a node, and prints a pod or job that works with it
// (example.h).
#pragma once

#include "plugin/admin/advise/example.h"

#include <string>

namespace vfrail::plugin {

struct ExampleOptions {
  std::string config_file = {};
  std::string resource_prefix = kPeersPrefix;
  std::string root = {};  // of a node that the pod can run on
  ExampleRequest request;
};

// Exit code: 0 done, 1 the node cannot be read or stdout is closed, 2 the configuration or the request is
// wrong.
int example(const ExampleOptions& options);

}  // namespace vfrail::plugin
