#include "plugin/device/inventory/kernel_log.h"

#include "common/text.h"
#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <deque>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

namespace vfrail::plugin {

namespace {

// A record has at most 8 KiB (CONSOLE_EXT_LOG_MAX and PRINTK_MESSAGE_MAX of the kernel), and a shorter buffer
// is EINVAL.
constexpr size_t kRecordBytes = 16 << 10;
// Of one reading: log_buf_len is 1 MiB or less as a rule, and a kernel that logs all the time never ends.
constexpr size_t kMaxBytes = 32 << 20;
constexpr size_t kMaxReads = 400'000;

// A message with both words is of the topic.
struct Pattern {
  LogTopic topic;
  std::string_view word;
  std::string_view other;
};

// health.c of mlx5_core, pcie/aer.c and pcie/err.c, ib_core's cache.c, the IOMMU drivers' handlers of faults.
// With a blank before "fault", which "default" has not.
constexpr Pattern kPatterns[] = {
    {LogTopic::device_health, "mlx5_core", "health compromised"},
    {LogTopic::device_health, "mlx5_core", "Health issue observed"},
    {LogTopic::device_health, "mlx5_core", "Fatal error"},
    {LogTopic::device_health, "mlx5_core", "health recovery failed"},
    {LogTopic::pcie_error, "PCIe Bus Error", ""},
    {LogTopic::pcie_error, "AER:", " error"},
    {LogTopic::pcie_error, "AER:", "recovery failed"},
    {LogTopic::gid, "GID add failed", ""},
    {LogTopic::gid, "unable to add gid", ""},
    {LogTopic::iommu_fault, "DMAR:", " fault"},
    {LogTopic::iommu_fault, "IO_PAGE_FAULT", ""},
    {LogTopic::iommu_fault, "arm-smmu", " fault"},
};

uint64_t leading_decimal(std::string_view text) {
  uint64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// Collects what read_kernel_log() returns, line by line.
class LogReader {
 public:
  // "6,339,5140900,-;NET: Registered protocol family 10"; a line with a blank in front continues a record.
  void add(std::string_view line) {
    const size_t semicolon = line.find(';');
    if (semicolon == std::string_view::npos || line.front() == ' ') return;
    const auto header = split(line.substr(0, semicolon), ",");
    if (header.size() < 3) return;
    if (!any_ && leading_decimal(header[1]) != 0) out_.complete = false;
    any_ = true;
    // Above the level is the facility: 0 is the kernel itself, all others write to /dev/kmsg.
    if (leading_decimal(header[0]) >> 3 != 0) return;
    const std::string_view text = line.substr(semicolon + 1);
    const auto topic = topic_of(text);
    if (!topic) return;
    if (lines_.size() == kMaxLogLines) lines_.pop_front();
    lines_.push_back({*topic, leading_decimal(header[2]), std::string(text.substr(0, kMaxLogText))});
  }
  void lose() { out_.complete = false; }
  bool any() const { return any_; }
  KernelLog take() {
    out_.lines.assign(lines_.begin(), lines_.end());
    return std::move(out_);
  }

 private:
  KernelLog out_;
  std::deque<LogLine> lines_;
  bool any_ = false;
};

// Reads until there is no more for now.
Result<> read_records(int fd, const std::string& path, LogReader& reader) {
  std::string buffer(kRecordBytes, '\0');
  std::string rest;
  size_t bytes = 0;
  for (size_t reads = 0; reads < kMaxReads && bytes < kMaxBytes; ++reads) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0 && errno == EPIPE) {  // overwritten before it was read; the next read has what follows
      reader.lose();
      continue;
    }
    if (got < 0) return Error::from_errno(errno, "read " + path);
    if (got == 0) return {};
    bytes += static_cast<size_t>(got);
    rest.append(buffer, 0, static_cast<size_t>(got));
    size_t begin = 0;
    for (size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      if (end > begin) reader.add(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
    if (rest.size() > kRecordBytes)
      return Error{Errc::protocol, 0, path + " has a record of more than 16 KiB"};
  }
  reader.lose();
  return {};
}

// The character device 1:11, or the file of a captured tree. Some containers have a link to a terminal there,
// which is always empty.
bool is_kernel_log(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  return S_ISREG(info.st_mode) || (S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 11));
}

}  // namespace

std::optional<LogTopic> topic_of(std::string_view message) {
  const auto* const found = std::find_if(std::begin(kPatterns), std::end(kPatterns), [&](const Pattern& one) {
    return message.find(one.word) != std::string_view::npos &&
           message.find(one.other) != std::string_view::npos;
  });
  return found == std::end(kPatterns) ? std::nullopt : std::optional(found->topic);
}

Result<std::optional<KernelLog>> read_kernel_log(const SysRoot& sys) {
  const std::string path = sys.path(kKernelLog);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::optional<KernelLog>();
  if (!fd.valid()) return Error::from_errno(errno, "open " + path);
  if (!is_kernel_log(fd.get())) return Error{Errc::unsupported, 0, path + " is not the kernel's log here"};
  LogReader reader;
  TRY(read_records(fd.get(), path, reader));
  if (!reader.any()) return Error{Errc::protocol, 0, path + " has no message"};
  return std::optional(reader.take());
}

std::string format_kernel_log(const KernelLog& log) {
  std::string out = log.complete ? "6,0,0,-;\n" : "6,1,0,-;\n";
  for (size_t at = 0; at < log.lines.size(); ++at) {
    out += "4," + std::to_string(at + 2) + "," + std::to_string(log.lines[at].microseconds) + ",-;" +
           log.lines[at].text + "\n";
  }
  return out;
}

}  // namespace vfrail::plugin
