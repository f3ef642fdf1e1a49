// The kernel's messages since boot that say something about devices for pods: health of mlx5, errors of PCIe,
// GIDs, the IOMMU. Reads /dev/kmsg (Documentation/ABI/testing/dev-kmsg), or in a captured tree a file of its
// form. Keeps nothing of the other messages.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

inline constexpr const char* kKernelLog = "dev/kmsg";

enum class LogTopic : uint8_t { device_health, pcie_error, gid, iommu_fault };
inline constexpr std::array kLogTopics{LogTopic::device_health, LogTopic::pcie_error, LogTopic::gid,
                                       LogTopic::iommu_fault};

struct LogLine {
  LogTopic topic = LogTopic::device_health;
  uint64_t microseconds = 0;  // since boot
  std::string text;           // as the kernel escapes it; at most kMaxLogText bytes
};
inline constexpr size_t kMaxLogText = 300;

struct KernelLog {
  std::vector<LogLine> lines;  // the latest, at most kMaxLogLines
  // False: the first messages have been overwritten by later ones, or it was too long to be read.
  bool complete = true;
};
inline constexpr size_t kMaxLogLines = 1000;

// No value: there is none here. Errc::denied without CAP_SYSLOG, if kernel.dmesg_restrict is 1.
Result<std::optional<KernelLog>> read_kernel_log(const SysRoot& sys);

// The topic of a message; no value: none of LogTopic. Pure.
std::optional<LogTopic> topic_of(std::string_view message);
// A file from which read_kernel_log() reads the same.
std::string format_kernel_log(const KernelLog& log);

}  // namespace vfrail::plugin
