// What an administrator or a timer starts vfrail-cni for: install, uninstall, sweep, and what every program
// answers
// (--help, --version, completion, man). Not CNI, which speaks through the environment.
#pragma once

#include "cni/conf/request.h"
#include "common/command_text.h"

#include <string>
#include <vector>

namespace vfrail {

// All of it in words.
CommandText command_line_text();

// The exit code: 0 done, 1 failed, 2 usage. Results go to stdout, complaints to stderr.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace vfrail
