// Needs root: says so and fails, because a test that did not run must not seem to have passed.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

#include <catch2/catch.hpp>

int main(int count, char** arguments) {
  Catch::Session session;
  if (const int wrong = session.applyCommandLine(count, arguments); wrong != 0) return wrong;
  const auto& config = session.configData();
  const bool runs = !config.listTests && !config.listTestNamesOnly && !config.listTags &&
                    !config.listReporters && !config.showHelp && !config.libIdentify;
  if (runs && ::geteuid() != 0) {
    const char* skip = std::getenv("VFRAIL_SKIP_NETNS");
    const bool skipped = skip != nullptr && std::string_view(skip) == "1";
    std::fprintf(stderr, "netns_tests: network namespaces need root; %s\n",
                 skipped ? "skipped, because VFRAIL_SKIP_NETNS=1"
                         : "run as root, or set VFRAIL_SKIP_NETNS=1 to skip them");
    return skipped ? 77 : 1;
  }
  return session.run();
}
