// ConfigSource: the configuration file over time. Owns the last good configuration, and the watch that
// reports when the file may have changed. Never reads the node.
#pragma once

#include "common/log.h"
#include "common/result.h"
#include "common/unique_fd.h"
#include "plugin/device/config/formats/parse_config.h"

#include <set>
#include <string>

namespace vfrail::plugin {

class ConfigSource {
 public:
  // Reads the file; an error if it is invalid.
  static Result<ConfigSource> open(ConfigOptions options);

  const Config& now() const { return config_; }
  // Becomes readable on events of the file: written, replaced, or one of the symbolic links on the way to it,
  // as with a ConfigMap. -1 if the kernel has no inotify instance left.
  int fd() const { return watch_.get(); }
  // Drains fd().
  void drain();
  // Reads the file again. If it is invalid the last good one stays, and the log has a line for each different
  // reason. It is also invalid if a resource that is served now is missing for an error in its entry: a
  // typing error removes nothing from a node. same: nothing new, because the file is unchanged, or invalid
  // for a reason that was logged already.
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

}  // namespace vfrail::plugin
