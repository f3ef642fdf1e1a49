// Runs commands as a shell does, with the built programs in its PATH.
#pragma once

#include <string>

namespace vfrail::test {

struct ShellOutcome {
  int status = 0;
  std::string output;  // both streams
};

// A line or a script for bash, in an empty folder of its own, with nothing to read. Throws if no shell
// starts.
ShellOutcome run_in_shell(const std::string& commands);

}  // namespace vfrail::test
