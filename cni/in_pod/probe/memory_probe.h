// How much memory is worth locking, and locking it; opening device nodes. What is tried is undone at once.
#pragma once

#include "cni/in_pod/probe/probes.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

// What NCCL registers at its start, about.
inline constexpr uint64_t kProbedBytes = uint64_t{64} << 20;

// memory.max of the pod's cgroup, and what it uses. No value: no limit.
struct MemoryLimit {
  uint64_t bytes = 0;
  uint64_t used = 0;
};
Result<std::optional<MemoryLimit>> read_memory_limit(const SysRoot& sys);

// kProbedBytes, or less under a low limit, where more would have the process killed and not refused.
uint64_t bytes_to_lock(const std::optional<MemoryLimit>& limit);

LockProbe try_to_lock(uint64_t bytes);
std::vector<NodeProbe> open_nodes(const SysRoot& sys, const std::vector<std::string>& names);

}  // namespace vfrail::pod
