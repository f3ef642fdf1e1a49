// Program: `vfrail serve` itself, started for one test.
#pragma once

#include "common/unique_fd.h"
#include "tests/service/support.h"
#include "tests/support/places.h"

#include <chrono>
#include <string>
#include <sys/types.h>
#include <vector>

namespace vfrail::test {
using namespace plugin;

class Program {
 public:
  // Its log is the file `name` of the node.
  Program(const IgbNode& node, const std::vector<std::string>& more, const std::string& name = "serve.log",
          const std::vector<std::string>& command = {program_path("vfrail"), "serve"});
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program();  // kills it

  void signal(int number) const;
  // -1 if it has not ended by then, or was killed.
  int wait(std::chrono::milliseconds at_most);
  std::string log() const { return read_text(log_); }
  pid_t pid() const { return pid_; }

 private:
  const std::string log_;
  pid_t pid_ = 0;
  UniqueFd fd_;
};

// True as soon as its log has `text`, false if it does not before the deadline.
inline bool logs(const Program& program, const std::string& text) {
  return eventually([&] { return program.log().find(text) != std::string::npos; });
}

}  // namespace vfrail::test
