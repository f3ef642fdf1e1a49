// Facts about this process, from /proc/self.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vfrail::plugin {

struct ProcessFacts {
  double cpu_seconds = 0;
  double start_seconds = 0;  // since 1970
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t threads = 0;
  uint64_t open_fds = 0;
};

// What cannot be read stays 0.
ProcessFacts read_process_facts();

}  // namespace vfrail::plugin
