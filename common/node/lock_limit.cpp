#include "common/node/lock_limit.h"

#include "common/text.h"

#include <charconv>

namespace vfrail {

// "Max locked memory         65536                65536                bytes".
std::optional<LockLimit> parse_lock_limit(std::string_view limits) {
  for (const std::string& line : split(limits, "\n")) {
    if (!line.starts_with("Max locked memory")) continue;
    const auto words = split(line, " ");
    if (words.size() < 4) return std::nullopt;
    if (words[3] == "unlimited") return LockLimit{.unlimited = true};
    LockLimit out;
    const char* end = words[3].data() + words[3].size();
    if (std::from_chars(words[3].data(), end, out.bytes).ptr != end) return std::nullopt;
    return out;
  }
  return std::nullopt;
}

}  // namespace vfrail
