#include "plugin/device/config/formats/file.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/unique_fd.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {
// A ConfigMap has at most 1 MiB.
constexpr size_t kMaxConfigBytes = 1 << 20;
}  // namespace

std::string shown_file(const std::string& file) { return file == kStdin ? "stdin" : file; }

namespace {

Result<std::string> read_any(const std::string& file) {
  if (file == kStdin) return TRY(read_stream(STDIN_FILENO, kMaxConfigBytes), "read configuration from stdin");
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "open configuration " + file);
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
