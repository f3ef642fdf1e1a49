// The hook of the OCI runtime specification that raises how much memory a container may lock
// (RLIMIT_MEMLOCK): what RDMA programs register counts, and the container runtime's own limit is often 64 KiB
// or 8 MiB. It runs as createRuntime, once for each device of the container, before its process starts. It
// raises, and never lowers, and of no process outside of the container that the runtime names.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace vfrail::cni {

inline constexpr size_t kMaxBundleConfig = size_t{4} << 20;

// What the runtime writes to the hook's stdin.
struct OciState {
  std::string id;
  std::string status;  // "creating", "created"
  pid_t pid = 0;       // of the container's process, in the runtime's namespace
  std::string bundle;  // the folder of config.json
};
Result<OciState> parse_oci_state(std::string_view text);

struct LockedMemory {
  bool unlimited = false;
  uint64_t bytes = 0;
  std::string text() const;
};
// Reads an amount of memory: "67108864" or "unlimited".
Result<LockedMemory> parse_locked_memory(const std::string& text);

// linux.resources.memory.limit of a bundle's config.json. No value: the container has no limit.
Result<std::optional<LockedMemory>> parse_memory_limit(std::string_view config);

// `wanted` empty: the container's memory limit, which its locked memory counts towards. Returns a sentence
// about what was done.
Result<std::string> raise_lock_limit(const OciState& state, const std::optional<LockedMemory>& wanted);

}  // namespace vfrail::cni
