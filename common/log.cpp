#include "common/log.h"

#include "common/escape.h"
#include "common/files.h"
#include "common/json.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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

// Not with gmtime_r() and strftime(): they read the time zone's file for UTC, too.
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
  const bool plain =
      !value.empty() && escaped(value) == value && value.find_first_of(" \"=\\") == std::string::npos;
  return plain ? value : Json(well_formed(value)).text();
}

// Messages can contain a peer's text: its line ends and control characters must not make lines of their own.
std::string one_line(std::string_view message) {
  return escaped(message) == message ? std::string(message) : Json(well_formed(message)).text();
}

const dev_t kNull = makedev(1, 3);  // Documentation/admin-guide/devices.txt

// Its type is read before it is opened: opening a FIFO waits for its reader, and opening /dev/watchdog starts
// it.
Result<UniqueFd> open_to_append(const UniqueFd& found, const std::string& what) {
  struct stat info {};
  if (::fstat(found.get(), &info) != 0) return Error::from_errno(errno, "read the type of " + what);
  const bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == kNull;
  if (!S_ISREG(info.st_mode) && !is_null) return Error{Errc::invalid, 0, what + " is not a regular file"};
  UniqueFd fd(::open(("/proc/self/fd/" + std::to_string(found.get())).c_str(),
                     O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) return Error::from_errno(errno, "open " + what);
  // By a second name it would be another file that grows.
  if (!is_null) TRY(check_regular(fd.get(), SecondName::refused, what));
  return fd;
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
  const std::string what = "log file " + path;
  // Another process may have created it between the two attempts.
  for (int tries = 0; tries < 2; ++tries) {
    const UniqueFd found(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
    if (found.valid()) {
      file_ = TRY(open_to_append(found, what));
      return {};
    }
    if (errno != ENOENT) break;
    UniqueFd made(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (made.valid()) {
      file_ = std::move(made);
      return {};
    }
    if (errno != EEXIST) break;
  }
  return Error::from_errno(errno, "open " + what);
}

void Log::continue_from(const Log& other) {
  level_ = other.level_;
  format_ = other.format_;
  context_ = other.context_;
  // Without a copy of the file, its lines go to stderr.
  file_ = UniqueFd(other.file_.valid() ? ::fcntl(other.file_.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

void Log::add_context(std::string key, std::string value) {
  context_.emplace_back(std::move(key), std::move(value));
}

void Log::error(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::error, message, std::span(fields.begin(), fields.size()));
}
void Log::warning(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::warning, message, std::span(fields.begin(), fields.size()));
}
void Log::info(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::info, message, std::span(fields.begin(), fields.size()));
}
void Log::debug(std::string_view message, std::initializer_list<LogField> fields) {
  write(LogLevel::debug, message, std::span(fields.begin(), fields.size()));
}

void Log::write(LogLevel level, std::string_view message, std::span<const LogField> fields) {
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
  // One write per line: lines of parallel processes in one file do not mix. What a full disk refuses is
  // written to stderr; nothing can be done if that fails.
  const auto whole = static_cast<ssize_t>(line.size());
  if (file_.valid() && ::write(file_.get(), line.data(), line.size()) == whole) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace vfrail
