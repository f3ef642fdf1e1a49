// Runs a command of the report in this process, and keeps what it prints.
#pragma once

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

}  // namespace vfrail::test
