// ConfigSource: the configuration file over time. Owns the last configuration that was good, and the watch
// that says when the file may be another one. Never looks at the node.
#pragma once

#include "common/log.h"
#include "common/result.h"
#include "common/unique_fd.h"
#include "plugin/config/config.h"

#include <set>
#include <string>

namespace vfrail {

class ConfigSource {
 public:
  // Reads the file; an error if it is not good.
  static Result<ConfigSource> open(ConfigOptions options);

  const Config& now() const { return config_; }
  // Becomes readable when something happens to the file: written, replaced, or one of the symbolic links on
  // the way to it, as with a ConfigMap. -1 if the kernel has no inotify left for us.
  int fd() const { return watch_.get(); }
  // Takes away what makes fd() readable.
  void drain();
  // Reads the file again. If it is not good the last one stays, and the log has a line for each different
  // reason. It is not good either if a resource that is served now is missing for a fault in its entry: a
  // slip of the pen takes nothing away from a node. same: nothing new, be it that the file is as it was, or
  // that it is not good for a reason that was told.
  enum class Reload : uint8_t { same, changed, refused };
  Reload reload(Log& log);

 private:
  explicit ConfigSource(ConfigOptions options) : options_(std::move(options)) {}
  Result<Config> parse_again(const std::string& text) const;
  void watch();

  ConfigOptions options_;
  Config config_;
  std::string text_;
  std::set<std::string> reported_;
  UniqueFd watch_;
  bool from_stdin_ = false;
};

}  // namespace vfrail
