// What an admin or a timer says to vfrail-cni: install, sweep, version. Not CNI, which speaks through the
// environment.
#pragma once

#include "cni/conf/request.h"

#include <string>
#include <vector>

namespace vfrail {

// The exit code: 0 done, 1 failed, 2 usage. Results go to stdout, complaints to stderr.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace vfrail
