// Runs a command of the report in this process, and keeps what it prints; and what its tests give it.
#pragma once

#include "tests/support/temp_dir.h"

#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>

namespace vfrail::test {

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

inline Run run(const std::function<int()>& command) {
  std::ostringstream out;
  std::ostringstream err;
  std::streambuf* const real_out = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const real_err = std::cerr.rdbuf(err.rdbuf());
  const int code = command();
  std::cout.rdbuf(real_out);
  std::cerr.rdbuf(real_err);
  return {code, out.str(), err.str()};
}

inline std::string write(const TempDir& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.path(name);
  std::ofstream(path) << text;
  return path;
}
inline std::string write(const TempDir& folder, const std::string& config) {
  return write(folder, "config.json", config);
}

// Its comment is an unknown key.
inline constexpr const char* kHostdev =
    R"({"resourceList":[{"resourceName":"hostdev","selectors":{"isRdma":true,"comment":"eth0"}}]})";

}  // namespace vfrail::test
