// vfrail-cni: by its environment a call of a container runtime (cni/run_cni.h), else one of a person
// (cni/command_line.h).
#include "cni/command_line.h"
#include "cni/run_cni.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <malloc.h>
#include <string_view>

extern char** environ;

namespace vfrail::cni {
namespace {

constexpr int kHeap = 1 << 20;  // more than a verb uses; pages that are not touched cost nothing

Environment read_environment() {
  Environment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

int run(int count, char** arguments) {
  const Environment environment = read_environment();
  if (count > 1 || !environment.contains("CNI_COMMAND"))
    return run_command_line({arguments + 1, arguments + count}, environment);
  // A process of some milliseconds asks for its heap once, and gives nothing back before its end.
  ::mallopt(M_TOP_PAD, kHeap);
  ::mallopt(M_TRIM_THRESHOLD, kHeap);
  std::signal(SIGPIPE, SIG_IGN);
  return run_cni(environment);
}

}  // namespace
}  // namespace vfrail::cni

int main(int count, char** arguments) {
  try {
    return vfrail::cni::run(count, arguments);
  } catch (const std::exception& error) {
    // bad_alloc, in practice: even then the runtime gets its JSON.
    std::printf("{\"cniVersion\": \"1.1.0\", \"code\": 999, \"msg\": \"vfrail: unexpected: %s\"}\n",
                error.what());
    return 1;
  }
}
