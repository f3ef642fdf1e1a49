#include "plugin/observe/metrics/process_facts.h"

#include "common/node/sys_root.h"
#include "common/text.h"

#include <charconv>
#include <string>
#include <unistd.h>
#include <vector>

namespace vfrail::plugin {

namespace {

// Positions in /proc/self/stat (proc(5)), counted behind the name in brackets, which may hold blanks.
constexpr size_t kUserTicks = 11;
constexpr size_t kSystemTicks = 12;
constexpr size_t kThreads = 17;
constexpr size_t kStartTicks = 19;
constexpr size_t kVirtualBytes = 20;
constexpr size_t kResidentPages = 21;

uint64_t number(const std::vector<std::string>& words, size_t position) {
  uint64_t out = 0;
  if (position < words.size()) {
    const std::string& word = words[position];
    std::from_chars(word.data(), word.data() + word.size(), out);
  }
  return out;
}

double boot_seconds(const SysRoot& self) {
  for (const std::string& line : split(self.text("proc/stat").or_none().value_or(""), "\n")) {
    if (line.starts_with("btime ")) return static_cast<double>(number(split(line, " "), 1));
  }
  return 0;
}

}  // namespace

ProcessFacts read_process_facts() {
  const SysRoot self("/");
  const std::string stat = self.text("proc/self/stat").or_none().value_or("");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  const auto words = split(stat.substr(name_end + 1), " ");
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return {.cpu_seconds = static_cast<double>(number(words, kUserTicks) + number(words, kSystemTicks)) / ticks,
          .start_seconds = boot_seconds(self) + static_cast<double>(number(words, kStartTicks)) / ticks,
          .resident_bytes = number(words, kResidentPages) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)),
          .virtual_bytes = number(words, kVirtualBytes),
          .threads = number(words, kThreads),
          .open_fds = self.list("proc/self/fd").or_none().value_or(SysRoot::Names()).size()};
}

}  // namespace vfrail::plugin
