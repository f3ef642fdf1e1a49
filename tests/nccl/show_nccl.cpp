// show_nccl LIBRARY: has the real NCCL read its settings, and prints what they are now: NCCL puts those of
// its files into the environment of the process. Its log, with the interface that it takes, is NCCL's own.
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

extern char** environ;

int main(int count, char** arguments) {
  void* library = count == 2 ? ::dlopen(arguments[1], RTLD_NOW) : nullptr;
  void* symbol = library == nullptr ? nullptr : ::dlsym(library, "ncclGetUniqueId");
  if (symbol == nullptr) {
    std::fprintf(stderr, "show_nccl: %s\n", count == 2 ? ::dlerror() : "usage: show_nccl LIBRARY");
    return 2;
  }
  using GetUniqueId = int (*)(void*);
  char id[128];  // ncclUniqueId
  const int failed = reinterpret_cast<GetUniqueId>(symbol)(id);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "NCCL_", 5) == 0) std::printf("%s\n", *entry);
  }
  return failed == 0 ? 0 : 1;
}
