// A network namespace of its own, and an /etc that only this process and its children see.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>
#include <sched.h>
#include <sys/mount.h>

#include <catch2/catch.hpp>

int main(int count, char** arguments) {
  const bool own = ::unshare(CLONE_NEWNS | CLONE_NEWNET) == 0 &&
                   ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                   ::mount("none", "/etc", "tmpfs", 0, nullptr) == 0;
  if (!own || std::getenv("VFRAIL_NCCL") == nullptr) {
    std::fputs("nccl_tests: it needs root, and VFRAIL_NCCL, the folder of tests/nccl/run\n", stderr);
    return 1;
  }
  return Catch::Session().run(count, arguments);
}
