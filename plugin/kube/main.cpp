// vfrail-kube: what needs the Kubernetes API. The controller of network-operator's networks, DRA's objects of
// a node, and, as kubectl's plugin, the whole cluster in one view.
#include "common/unique_fd.h"
#include "plugin/kube/command_line.h"

#include <cstdio>
#include <exception>
#include <string>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace {

// Its memory has a token: nobody of the same user reads it, and no core file has it.
void keep_token_to_itself() {
  ::prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

int main(int count, char** arguments) {
  try {
    keep_token_to_itself();
    return vfrail::kube::run_kube_command_line(base_name(arguments[0]), {arguments + 1, arguments + count});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "vfrail-kube: %s\n", failure.what());
    return 1;
  }
}
