#include "tests/support/shell.h"

#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <sys/wait.h>

namespace vfrail::test {

ShellOutcome run_in_shell(const std::string& commands) {
  const TempDir folder;
  const std::string script = folder.path("script");
  std::ofstream(script) << "PATH=" << program_path() << ":$PATH\ncd " << folder.path() << "\n"
                        << commands << "\n";
  FILE* pipe = ::popen(("bash " + script + " < /dev/null 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + commands);
  ShellOutcome out;
  std::array<char, 4096> buffer{};
  while (const size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe))
    out.output.append(buffer.data(), size);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

}  // namespace vfrail::test
