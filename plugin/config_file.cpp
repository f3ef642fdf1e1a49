#include "plugin/config_file.h"

#include "common/files.h"
#include "common/unique_fd.h"

#include <cerrno>
#include <fcntl.h>

namespace vfrail {

namespace {
// A ConfigMap has at most 1 MiB.
constexpr size_t kMaxBytes = 1 << 20;
}  // namespace

Result<Config> load_config(const ConfigOptions& options) {
  const UniqueFd fd(::open(options.file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "open configuration " + options.file);
  const std::string text = TRY(read_stream(fd.get(), kMaxBytes), "read configuration " + options.file);
  return parse_config(text, options);
}

}  // namespace vfrail
