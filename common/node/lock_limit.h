// LockLimit: how much memory a process may lock (RLIMIT_MEMLOCK), as its file `limits` in procfs has it.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfrail {

struct LockLimit {
  bool unlimited = false;
  uint64_t bytes = 0;  // the soft limit, which counts
  bool allows(uint64_t wanted) const { return unlimited || bytes >= wanted; }
  bool operator==(const LockLimit&) const = default;
};

// No value if the text has none.
std::optional<LockLimit> parse_lock_limit(std::string_view limits);

}  // namespace vfrail
