// Log: one line a fact, "level message key=value ...", to stderr or to a file; or the same as JSON.
// Messages are constant sentences, what varies goes into the fields. Never writes to stdout.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail {

enum class LogLevel : uint8_t { error, warning, info, debug };
enum class LogFormat : uint8_t { text, json };

// "error", "warning", "info", "debug", and sriov-cni's "panic" (as error); nothing for other words.
std::optional<LogLevel> parse_log_level(std::string_view word);

struct LogField {
  std::string_view key;
  std::string value;
};

class Log {
 public:
  Log() = default;  // stderr, info, text
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void set_level(LogLevel level) { level_ = level; }
  void set_format(LogFormat format) { format_ = format; }
  // Appends to `path` (a regular file, made with 0600; or /dev/null) instead of stderr. Waits for nothing.
  Result<> open_file(const std::string& path);
  // Level, format, file and context of another, whose lines and these do not mix.
  void continue_from(const Log& other);
  // Fields that every later line carries (the container id, say).
  void add_context(std::string key, std::string value);

  void error(std::string_view message, std::initializer_list<LogField> fields = {});
  void warning(std::string_view message, std::initializer_list<LogField> fields = {});
  void info(std::string_view message, std::initializer_list<LogField> fields = {});
  void debug(std::string_view message, std::initializer_list<LogField> fields = {});
  // The same, where level and fields are known only when it runs.
  void write(LogLevel level, std::string_view message, std::span<const LogField> fields);

 private:
  std::mutex mutex_;
  LogLevel level_ = LogLevel::info;
  LogFormat format_ = LogFormat::text;
  UniqueFd file_;
  std::vector<std::pair<std::string, std::string>> context_;
};

}  // namespace vfrail
