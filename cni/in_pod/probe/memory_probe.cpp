#include "cni/in_pod/probe/memory_probe.h"

#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace vfrail::pod {

namespace {

// In a container its own group is the root of what it sees; the second is of version 1, with a number near
// 2^63 for no limit.
constexpr const char* kLimits[][2] = {
    {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory.current"},
    {"sys/fs/cgroup/memory/memory.limit_in_bytes", "sys/fs/cgroup/memory/memory.usage_in_bytes"}};
constexpr int64_t kNoLimit = int64_t{1} << 60;

}  // namespace

Result<std::optional<MemoryLimit>> read_memory_limit(const SysRoot& sys) {
  for (const auto& [limit, used] : kLimits) {
    // "max" is not a number.
    const auto bytes = TRY(sys.number(limit));
    if (!bytes || *bytes >= kNoLimit) continue;
    const auto now = TRY(sys.number(used));
    return std::optional(MemoryLimit{static_cast<uint64_t>(*bytes), static_cast<uint64_t>(now.value_or(0))});
  }
  return std::optional<MemoryLimit>();
}

uint64_t bytes_to_lock(const std::optional<MemoryLimit>& limit) {
  if (!limit) return kProbedBytes;
  const uint64_t left = limit->bytes > limit->used ? limit->bytes - limit->used : 0;
  return std::min(kProbedBytes, left / 2);
}

LockProbe try_to_lock(uint64_t bytes) {
  LockProbe out{bytes, 0};
  if (bytes == 0) return out;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    out.error = errno;
    return out;
  }
  out.error = ::mlock(memory, bytes) == 0 ? 0 : errno;
  ::munmap(memory, bytes);
  return out;
}

std::vector<NodeProbe> open_nodes(const SysRoot& sys, const std::vector<std::string>& names) {
  std::vector<NodeProbe> out;
  for (const std::string& name : names) {
    const std::string path = sys.path("dev/infiniband/" + name);
    NodeProbe probe{name, {}, 0};
    struct stat file {};
    if (::stat(path.c_str(), &file) == 0)
      probe.number = std::to_string(major(file.st_rdev)) + ":" + std::to_string(minor(file.st_rdev));
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!fd.valid()) probe.error = errno;
    out.push_back(std::move(probe));
  }
  return out;
}

}  // namespace vfrail::pod
