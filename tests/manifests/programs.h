// Runs the built programs, as a shell finds them.
#pragma once

#include <string>

namespace vfrail::test {

struct Outcome {
  int status = 0;
  std::string output;  // both streams
};

// A line for bash, with vfrail and vfrail-cni in its PATH and nothing to read.
Outcome run(const std::string& command);

}  // namespace vfrail::test
