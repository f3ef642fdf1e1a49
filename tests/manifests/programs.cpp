#include "tests/manifests/programs.h"

#include "tests/support/temp_dir.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <sys/wait.h>

#include <catch2/catch.hpp>

namespace vfrail::test {

Outcome run(const std::string& command) {
  const TempDir folder;
  const std::string script = folder.path("script");
  std::ofstream(script) << "PATH=" VFRAIL_BINARY_DIR ":$PATH\ncd " << folder.path() << "\n"
                        << command << "\n";
  FILE* pipe = ::popen(("bash " + script + " < /dev/null 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome out;
  std::array<char, 4096> buffer{};
  while (const size_t size = ::fread(buffer.data(), 1, buffer.size(), pipe))
    out.output.append(buffer.data(), size);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

}  // namespace vfrail::test
