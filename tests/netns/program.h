// Program: a child process with its input, output and environment, for tests that run real executables.
#pragma once

#include "tests/support/temp_dir.h"

#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace vfrail::test {

struct Outcome {
  int status = -1;  // exit status; 128 and the signal's number when it was killed
  std::string out;
  std::string err;
};

class Program {
 public:
  // Starts it; `environment` is all that it gets beside PATH.
  Program(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment,
          const std::string& input);
  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();  // kills it if nobody waited

  pid_t pid() const { return pid_; }
  std::string err() const;  // what it has written there so far
  Outcome wait();

 private:
  std::unique_ptr<TempDir> folder_;
  pid_t pid_ = -1;
};

// A shell command of the test itself; throws with its words if it fails.
std::string shell(const std::string& command);

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace vfrail::test
