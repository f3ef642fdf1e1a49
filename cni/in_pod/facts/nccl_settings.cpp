#include "cni/in_pod/facts/nccl_settings.h"

#include "common/files.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>

namespace vfrail::pod {

namespace {

constexpr const char* kConfFile = "NCCL_CONF_FILE";
constexpr const char* kSystemFile = "/etc/nccl.conf";
// setEnvFile() of NCCL's misc/param.cc.
constexpr size_t kMaxNcclText = 1023;
constexpr size_t kMaxFileBytes = size_t{64} * 1024;

// "root:x:0:0:root:/root:/bin/sh". Up to 2.29 NCCL does not ask $HOME.
std::string home_of(const std::string& uid, const std::string& passwd) {
  for (const std::string& line : split(passwd, "\n")) {
    std::vector<std::string> fields;
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find(':', begin), line.size());
      fields.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    if (fields.size() > 5 && fields[2] == uid) return fields[5];
  }
  return {};
}

// SysRoot drops white space at the end, which is part of the last value to NCCL.
Result<std::optional<std::string>> whole_text(const SysRoot& sys, const std::string& below) {
  const UniqueFd fd(::open(sys.path(below).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid() && (errno == ENOENT || errno == ENOTDIR)) return std::optional<std::string>();
  if (!fd.valid()) return Error::from_errno(errno, "open " + sys.path(below));
  return std::optional(TRY(read_stream(fd.get(), kMaxFileBytes)));
}

Result<> add_nccl_path(const SysRoot& sys, const std::string& path, NcclSettings& out) {
  if (path.empty() || path.front() != '/') return {};
  const auto text = TRY(whole_text(sys, path.substr(1)), "read " + path);
  if (text) add_nccl_file(path, *text, out);
  return {};
}

Result<bool> is_there(const SysRoot& sys, const std::string& path) {
  return path.starts_with('/') ? sys.exists(path.substr(1)) : Result<bool>(false);
}

// A sentence, if it matters which of the two NCCL asks.
Result<std::string> other_home(const SysRoot& sys, const std::string& own, const std::string& home) {
  const std::string other = home.empty() ? "" : home + "/.nccl.conf";
  if (other == own || (!TRY(is_there(sys, own)) && !TRY(is_there(sys, other)))) return std::string();
  return "NCCL reads " + (own.empty() ? "no file of a home" : own) + " before 2.30, and " +
         (other.empty() ? "none" : other) + " ($HOME) since";
}

}  // namespace

const NcclValue* NcclSettings::find(const std::string& name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? nullptr : &at->second;
}

std::string NcclSettings::text(const std::string& name) const {
  const NcclValue* value = find(name);
  return value == nullptr ? std::string() : value->text;
}

int64_t NcclSettings::number(const std::string& name, int64_t otherwise) const {
  const std::string value = text(name);
  return value.empty() ? otherwise : std::strtoll(value.c_str(), nullptr, 0);
}

std::string NcclSettings::with_source(const std::string& name) const {
  const NcclValue* value = find(name);
  return value == nullptr ? name + " is not set" : name + "=" + value->text + " from " + value->source;
}

void add_nccl_file(const std::string& path, std::string_view text, NcclSettings& out) {
  const std::string first(text.substr(0, text.find('\n')));
  const bool named = first.starts_with("# ");
  const std::string source = path + (named ? " (" + first.substr(2) + ")" : "");
  for (const std::string& line : split(text, "\n")) {
    const size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos) continue;
    out.add(line.substr(0, equals).substr(0, kMaxNcclText),
            {line.substr(equals + 1).substr(0, kMaxNcclText), source});
  }
}

Result<NcclSettings> read_nccl_settings(const SysRoot& sys, const PodEnvironment& environment) {
  NcclSettings out;
  for (const auto& [name, text] : environment) out.add(name, {text, "the environment"});
  const std::string own_file = out.text(kConfFile);
  if (!own_file.empty()) {
    TRY(add_nccl_path(sys, own_file, out), kConfFile);
  } else {
    const std::string uid = proc_field(TRY(sys.text("proc/self/status")).value_or(""), "Uid");
    const std::string home = home_of(uid, TRY(sys.text("etc/passwd")).value_or(""));
    const std::string own = home.empty() ? "" : home + "/.nccl.conf";
    TRY(add_nccl_path(sys, own, out));
    out.set_doubt(TRY(other_home(sys, own, out.text("HOME"))));
  }
  TRY(add_nccl_path(sys, kSystemFile, out));
  return out;
}

}  // namespace vfrail::pod
