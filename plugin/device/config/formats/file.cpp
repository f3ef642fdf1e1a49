#include "plugin/device/config/formats/file.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {
// A ConfigMap has at most 1 MiB.
constexpr size_t kMaxConfigBytes = 1 << 20;
// Longer than a command that prints a configuration takes before its first line.
constexpr int kPipeWaitMs = 60'000;
}  // namespace

std::string shown_file(const std::string& file) { return file == kStdin ? "stdin" : file; }

namespace {

// `check-config <(vfrail plan -o config)`: a pipe of the shell mostly has nothing in it yet. One that nobody
// writes to is empty, and keeps nobody waiting.
Result<std::string> read_pipe(int fd) {
  char first = 0;
  const ssize_t got = ::read(fd, &first, 1);
  if (got < 0 && errno != EAGAIN) return Error::from_errno(errno, "");
  pollfd one{fd, POLLIN, 0};
  while (got < 0 && ::poll(&one, 1, kPipeWaitMs) < 0) {
    if (errno != EINTR) return Error::from_errno(errno, "wait for its writer");
  }
  if (got < 0 && one.revents == 0) return Error{Errc::timeout, 0, "nobody has written to it for a minute"};
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK) != 0) return Error::from_errno(errno, "");
  const std::string rest = TRY(read_stream(fd, kMaxConfigBytes));
  return got == 1 ? first + rest : rest;
}

Result<std::string> read_any(const std::string& file) {
  if (file == kStdin) return TRY(read_stream(STDIN_FILENO, kMaxConfigBytes), "read configuration from stdin");
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "open configuration " + file);
  struct stat info {};
  if (::fstat(fd.get(), &info) == 0 && S_ISFIFO(info.st_mode))
    return TRY(read_pipe(fd.get()), "read configuration " + file);
  return TRY(read_stream(fd.get(), kMaxConfigBytes), "read configuration " + file);
}

}  // namespace

Result<std::string> read_config_file(const std::string& file) {
  return with_id(ErrorId::config_not_read, read_any(file));
}

Result<Config> load_config(const ConfigOptions& options) {
  ConfigOptions shown = options;
  shown.file = shown_file(options.file);
  return parse_config(TRY(read_config_file(options.file)), shown);
}

}  // namespace vfrail::plugin
