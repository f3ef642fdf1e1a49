#include "common/container/runtime_config.h"

#include "common/text.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <fnmatch.h>
#include <set>

namespace vfrail {

namespace {

constexpr size_t kMostFiles = 64;
// containerd 1 and 2.
constexpr std::string_view kCriPlugins[] = {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"};
constexpr const char* kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// The line up to its comment; `open` counts the brackets of a list that lines continue.
std::string_view code_of(std::string_view line, int& open) {
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (quote == '"' && c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      return line.substr(0, i);
    } else {
      open += c == '[' ? 1 : 0;
      open -= c == ']' ? 1 : 0;
    }
  }
  return line;
}

// Statements, each on one line: a list over several lines is joined.
std::vector<std::string> statements(std::string_view text) {
  std::vector<std::string> out;
  std::string current;
  int open = 0;
  for (const std::string& line : split(std::string(text), "\n")) {
    const std::string_view code = trimmed(code_of(line, open));
    current += current.empty() ? std::string(code) : " " + std::string(code);
    if (open > 0) continue;
    open = 0;
    if (!current.empty()) out.push_back(std::move(current));
    current.clear();
  }
  return out;
}

// The strings in quotation marks of either kind.
std::vector<std::string> strings_of(std::string_view value) {
  std::vector<std::string> out;
  for (size_t at = value.find_first_of("\"'"); at != value.npos; at = value.find_first_of("\"'", at)) {
    const size_t end = value.find(value[at], at + 1);
    if (end == value.npos) break;
    out.emplace_back(value.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return out;
}

bool names_cri(std::string_view text) {
  return std::any_of(std::begin(kCriPlugins), std::end(kCriPlugins),
                     [&](std::string_view plugin) { return text.find(plugin) != text.npos; });
}

void read_key(std::string_view key, std::string_view value, RuntimeFile& out) {
  if (key == "enable_cdi" && (value == "true" || value == "false")) out.enable_cdi = value == "true";
  if (key == "cdi_spec_dirs") out.cdi_spec_dirs = strings_of(value);
  if (key == "imports") out.imports = strings_of(value);
  if (key == "version") std::from_chars(value.data(), value.data() + value.size(), out.version);
  if (key != "disabled_plugins") return;
  const auto plugins = strings_of(value);
  out.cri_disabled = std::any_of(plugins.begin(), plugins.end(), [](const std::string& plugin) {
    return plugin == "cri" || names_cri(plugin);
  });
}

void merge(const RuntimeFile& later, const std::string& path, RuntimeConfig& out) {
  const auto hides = [&](bool before, bool now) { return before && !now && later.has_cri; };
  if (hides(out.all.enable_cdi.has_value(), later.enable_cdi.has_value()) ||
      hides(out.all.cdi_spec_dirs.has_value(), later.cdi_spec_dirs.has_value()))
    out.unknown =
        path + " has the table of the CRI plugin as well, which may stand in the place of the other";
  if (later.enable_cdi) out.all.enable_cdi = later.enable_cdi;
  if (later.cdi_spec_dirs) out.all.cdi_spec_dirs = later.cdi_spec_dirs;
  out.all.version = std::max(out.all.version, later.version);
  out.all.has_cri |= later.has_cri;
  out.all.cri_disabled |= later.cri_disabled;
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// The files that one pattern of `imports` names, below the root. No value: its folder is not here, so what
// may be in it is not known, unless it would be in the folder of the file that imports it, which is here.
Result<std::optional<std::vector<std::string>>> imported(const SysRoot& sys, const std::string& from,
                                                         const std::string& pattern) {
  const std::string path = pattern.starts_with('/') ? pattern.substr(1) : folder_of(from) + "/" + pattern;
  const std::string folder = folder_of(path);
  const auto names = TRY(sys.list(folder));
  if (!names && !folder.starts_with(folder_of(from))) return std::optional<std::vector<std::string>>();
  std::vector<std::string> out;
  for (const std::string& name : names.value_or(SysRoot::Names())) {
    if (::fnmatch(path.substr(path.rfind('/') + 1).c_str(), name.c_str(), 0) == 0)
      out.push_back(folder + "/" + name);
  }
  return std::optional(std::move(out));
}

}  // namespace

RuntimeFile parse_runtime_file(std::string_view text) {
  RuntimeFile out;
  for (const std::string& statement : statements(text)) {
    if (statement.starts_with('[')) {
      out.has_cri |= names_cri(statement);
      continue;
    }
    const size_t equals = std::min(statement.find('='), statement.size());
    read_key(trimmed(std::string_view(statement).substr(0, equals)),
             trimmed(std::string_view(statement).substr(std::min(equals + 1, statement.size()))), out);
  }
  return out;
}

std::string format_runtime_file(const RuntimeFile& file) {
  std::string out;
  const std::string plugin = std::string(kCriPlugins[file.version >= 3 ? 1 : 0]);
  if (file.version != 0) out += "version = " + std::to_string(file.version) + "\n";
  if (file.cri_disabled) out += "disabled_plugins = [\"" + plugin + "\"]\n";
  if (file.has_cri) out += "[plugins.\"" + plugin + "\"]\n";
  if (file.enable_cdi) out += std::string("enable_cdi = ") + (*file.enable_cdi ? "true" : "false") + "\n";
  if (!file.cdi_spec_dirs) return out;
  out += "cdi_spec_dirs = [";
  for (const std::string& folder : *file.cdi_spec_dirs) out += "\"" + folder + "\",";
  return out + "]\n";
}

Result<std::optional<RuntimeConfig>> read_containerd_config(const SysRoot& sys, const std::string& main) {
  RuntimeConfig out;
  std::deque<std::string> waiting = {main};
  std::set<std::string> read;
  while (!waiting.empty()) {
    const std::string path = waiting.front();
    waiting.pop_front();
    if (!read.insert(path).second || read.size() > kMostFiles) continue;
    const auto text = TRY(sys.text(path));
    if (!text) continue;
    if (path == main) out.file = sys.path(main);
    const RuntimeFile file = parse_runtime_file(*text);
    merge(file, sys.path(path), out);
    for (const std::string& pattern : file.imports) {
      const auto files = TRY(imported(sys, path, pattern));
      if (!files)
        out.unknown = sys.path(path) + " imports " + pattern + ", which is not here to be read";
      else
        waiting.insert(waiting.end(), files->begin(), files->end());
    }
  }
  return out.file.empty() ? std::nullopt : std::optional(std::move(out));
}

Result<std::optional<RuntimeConfig>> read_crio_config(const SysRoot& sys) {
  std::vector<std::string> paths;
  if (TRY(sys.exists(kCrioConfig))) paths.emplace_back(kCrioConfig);
  for (const std::string& name : TRY(sys.list("etc/crio/crio.conf.d")).value_or(SysRoot::Names()))
    paths.push_back("etc/crio/crio.conf.d/" + name);
  if (paths.empty()) return std::optional<RuntimeConfig>();
  RuntimeConfig out;
  out.file = sys.path(paths.front());
  for (const std::string& path : paths) {
    if (const auto text = TRY(sys.text(path))) merge(parse_runtime_file(*text), sys.path(path), out);
  }
  return std::optional(std::move(out));
}

}  // namespace vfrail
