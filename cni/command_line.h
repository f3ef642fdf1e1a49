// The commands of vfrail-cni for an administrator or a timer: install, uninstall, sweep, and those of every
// program (--help, --version, completion, man). Not CNI, which uses the environment.
#pragma once

#include "cni/conf/request.h"
#include "common/command/command_text.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// The reference of all commands.
CommandText command_line_text();

// The exit code: 0 done, 1 failed, 2 usage. Results are printed on stdout, errors on stderr.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment);

}  // namespace vfrail::cni
