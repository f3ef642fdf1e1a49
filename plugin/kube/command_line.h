// The command line of vfrail-kube, and of the same program as kubectl's plugin, `kubectl vfrail`.
#pragma once

#include "common/command/command_text.h"

#include <string>
#include <vector>

namespace vfrail::kube {

// `name` is the program's, as it was called: "vfrail-kube", or "kubectl-vfrail".
CommandText kube_command_line(const std::string& name);

// Exit code: 0 done; 1 failed, or a fault was found; 2 wrong usage.
int run_kube_command_line(const std::string& name, const std::vector<std::string>& arguments);

}  // namespace vfrail::kube
