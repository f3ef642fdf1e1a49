#include "plugin/device/config/formats/source.h"

#include "plugin/device/config/formats/file.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <sys/inotify.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

// A file with an ever changing fault must not fill the memory.
constexpr size_t kMaxReportedReasons = 100;
// Not each write: an incomplete file is not a configuration.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ONLYDIR;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<ConfigSource> ConfigSource::open(ConfigOptions options) {
  ConfigSource out(std::move(options));
  out.from_stdin_ = out.options_.file == kStdin;
  // Before the first read: a change in between then leads to another read.
  out.watch_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  out.watch();
  out.text_ = TRY(read_config_file(out.options_.file));
  out.options_.file = shown_file(out.options_.file);
  out.config_ = TRY(parse_config(out.text_, out.options_));
  return out;
}

Result<Config> ConfigSource::parse_again(const std::string& text) const {
  Config out = TRY(parse_config(text, options_));
  for (const ResourceConfig& served : config_.resources) {
    const auto same = [&](const auto& other) { return other.resource() == served.resource(); };
    if (std::any_of(out.resources.begin(), out.resources.end(), same)) continue;
    for (const SkippedEntry& entry : out.skipped) {
      if (entry.resource.empty() || entry.resource == served.resource())
        return Error{Errc::invalid, 0, entry.reason, entry.id};
    }
  }
  return out;
}

// The folder that the path names and, where the path leads elsewhere by links, the folder of the file itself.
// Kubelet replaces the link ..data in the first; adding a watch twice changes nothing (inotify(7)).
void ConfigSource::watch() {
  if (!watch_.valid() || from_stdin_) return;
  const std::string& file = options_.file;
  (void)::inotify_add_watch(watch_.get(), folder_of(file).c_str(), kEvents);
  char resolved[PATH_MAX];
  if (::realpath(file.c_str(), resolved) != nullptr)
    (void)::inotify_add_watch(watch_.get(), folder_of(resolved).c_str(), kEvents);
}

void ConfigSource::drain() {
  alignas(inotify_event) char buffer[4096];
  while (::read(watch_.get(), buffer, sizeof buffer) > 0) {
  }
}

ConfigSource::Reload ConfigSource::reload(Log& log) {
  if (from_stdin_) return Reload::same;  // it can be read once
  watch();                               // the links may lead elsewhere now
  const auto text = read_config_file(options_.file);
  if (text && *text == text_) {
    reported_.clear();  // the same fault is logged again later
    return Reload::same;
  }
  auto config = text ? parse_again(*text) : Result<Config>(text.error());
  if (!config) {
    if (reported_.size() >= kMaxReportedReasons || !reported_.insert(config.error().text).second)
      return Reload::same;
    log.error(
        "the changed configuration is not used, the last good one stays; correct the file, it is read again",
        {{"reason", config.error().text}, {"id", config.error().id_text()}});
    return Reload::refused;
  }
  reported_.clear();
  text_ = *text;
  config_ = *std::move(config);
  return Reload::changed;
}

}  // namespace vfrail::plugin
