#include "common/log.h"

#include "common/json.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>

namespace vfrail {

namespace {

const char* level_name(LogLevel level) {
  switch (level) {
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "info";
}

// Not with gmtime_r() and strftime(): they read the time zone's file for a time that has none.
std::string timestamp() {
  using std::chrono::floor;
  const auto now = floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  const auto midnight = floor<std::chrono::days>(now);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss time(now - midnight);
  char out[48];
  snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
           static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
           static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
  return out;
}

// A value with a blank, a quote or a control character is quoted as in JSON, so that a line stays a line.
std::string quoted_if_needed(const std::string& value) {
  const bool plain = !value.empty() && std::none_of(value.begin(), value.end(), [](unsigned char c) {
    return c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f;
  });
  return plain ? value : Json(value).text();
}

// Messages can hold what a peer said: its line ends and control characters must not make lines of their own.
std::string one_line(std::string_view message) {
  const bool plain =
      std::none_of(message.begin(), message.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return plain ? std::string(message) : Json(message).text();
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view word) {
  if (word == "panic" || word == "error") return LogLevel::error;
  if (word == "warning") return LogLevel::warning;
  if (word == "info") return LogLevel::info;
  if (word == "debug") return LogLevel::debug;
  return std::nullopt;
}

Result<> Log::open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return Error::from_errno(errno, "open log file " + path);
  file_ = std::move(fd);
  return {};
}

void Log::add_context(std::string key, std::string value) {
  context_.emplace_back(std::move(key), std::move(value));
}

void Log::error(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::error, message, fields);
}
void Log::warning(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::warning, message, fields);
}
void Log::info(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::info, message, fields);
}
void Log::debug(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::debug, message, fields);
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  if (level > level_) return;
  std::string line;
  if (format_ == LogFormat::json) {
    Json out;
    out.set("time", timestamp()).set("level", level_name(level)).set("msg", well_formed(message));
    for (const auto& [key, value] : context_) out.set(key, well_formed(value));
    for (const LogField& field : fields) out.set(field.key, well_formed(field.value));
    line = out.text();
  } else {
    line = timestamp() + " " + level_name(level) + " " + one_line(message);
    for (const auto& [key, value] : context_) line += " " + key + "=" + quoted_if_needed(value);
    for (const LogField& field : fields)
      line += " " + std::string(field.key) + "=" + quoted_if_needed(field.value);
  }
  line += '\n';
  const std::lock_guard lock(mutex_);
  // One write a line: lines of parallel processes in one file do not mix. Nothing can be done if it fails.
  const int fd = file_.valid() ? file_.get() : STDERR_FILENO;
  [[maybe_unused]] const ssize_t written = ::write(fd, line.data(), line.size());
}

}  // namespace vfrail
