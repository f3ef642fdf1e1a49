#include "tests/fuzz/fake_sys_root.h"

#include "common/node/sys_root.h"
#include "common/text.h"

#include <algorithm>
#include <charconv>
#include <climits>

namespace vfrail {

namespace {

using fuzz::FakeFile;
using fuzz::FakeFiles;

const FakeFiles* always = nullptr;
const FakeFiles* changed = nullptr;

const FakeFile* find(std::string_view path) {
  for (const FakeFiles* files : {changed, always}) {
    if (const FakeFile* file = files->find(path)) return file;
  }
  return nullptr;
}

// What is asked for, below the root of the fake node.
std::string_view inside(std::string_view path) {
  path.remove_prefix(std::min(path.size(), std::string_view(fuzz::kFakeRoot).size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

Result<> failure_of(const FakeFile* file, const std::string& path) {
  if (file == nullptr || file->kind != FakeFile::Kind::failure) return {};
  return Error::from_errno(file->error, "read " + path);
}

}  // namespace

SysRoot::SysRoot(std::string root) : root_(std::move(root)) {
  if (root_.empty() || root_.back() != '/') root_ += '/';
}

std::string SysRoot::path(std::string_view below) const { return root_ + std::string(below); }

SysRoot SysRoot::at(std::string_view below) const { return SysRoot(path(below)); }

Result<bool> SysRoot::exists(std::string_view below) const {
  const std::string name = path(below);
  const std::string_view place = inside(name);
  const FakeFile* file = find(place);
  TRY(failure_of(file, name));
  return file != nullptr || !always->list(place).empty() || !changed->list(place).empty();
}

Result<std::optional<std::string>> SysRoot::text(std::string_view below, AccessTime) const {
  const std::string name = path(below);
  const FakeFile* file = find(inside(name));
  TRY(failure_of(file, name));
  if (file == nullptr || file->kind != FakeFile::Kind::text) return std::optional<std::string>();
  return std::optional(file->content.substr(0, file->content.find_last_not_of("\n \t") + 1));
}

Result<std::optional<int64_t>> SysRoot::number(std::string_view below) const {
  const auto found = TRY(text(below));
  if (!found) return std::optional<int64_t>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  if (error != std::errc() || end != found->data() + found->size()) return std::optional<int64_t>();
  return std::optional(number);
}

Result<std::optional<std::string>> SysRoot::link_target(std::string_view below) const {
  const std::string name = path(below);
  const FakeFile* file = find(inside(name));
  TRY(failure_of(file, name));
  if (file == nullptr || file->kind != FakeFile::Kind::link) return std::optional<std::string>();
  return std::optional(file->content);
}

Result<std::optional<std::string>> SysRoot::link_name(std::string_view below) const {
  auto target = TRY(link_target(below));
  if (target) target->erase(0, target->rfind('/') + 1);
  return target;
}

Result<std::optional<std::string>> SysRoot::resolve(std::string_view below) const {
  auto target = TRY(link_target(below));
  if (target) return target;
  if (!TRY(exists(below))) return std::optional<std::string>();
  return std::optional(std::string(inside(path(below))));
}

Result<std::optional<SysRoot::Names>> SysRoot::list(std::string_view below) const {
  const std::string name = path(below);
  const std::string_view place = inside(name);
  const FakeFile* file = find(place);
  TRY(failure_of(file, name));
  Names names = always->list(place);
  if (const Names& more = changed->list(place); !more.empty()) {
    names.insert(names.end(), more.begin(), more.end());
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  if (names.empty() && (file == nullptr || file->kind != FakeFile::Kind::folder))
    return std::optional<Names>();
  return std::optional(std::move(names));
}

namespace fuzz {

void FakeFiles::set(const std::string& path, FakeFile file) { place(path).file = std::move(file); }

const FakeFile* FakeFiles::find(std::string_view path) const {
  const auto at = places_.find(path);
  return at == places_.end() || !at->second.file ? nullptr : &*at->second.file;
}

const std::vector<std::string>& FakeFiles::list(std::string_view folder) const {
  static const std::vector<std::string> kNone;
  const auto at = places_.find(folder);
  return at == places_.end() ? kNone : at->second.names;
}

FakeFiles::Place& FakeFiles::place(const std::string& path) {
  const auto [at, is_new] = places_.try_emplace(path);
  Place& out = at->second;
  if (is_new && !path.empty()) {
    const size_t slash = path.rfind('/');
    std::vector<std::string>& names = place(slash == std::string::npos ? "" : path.substr(0, slash)).names;
    const std::string name = path.substr(slash + 1);
    names.insert(std::lower_bound(names.begin(), names.end(), name), name);
  }
  return out;
}

namespace {

std::string with_line_ends(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool line_end = text.substr(i).starts_with("\\n");
    out += line_end ? '\n' : text[i];
    i += line_end ? 1 : 0;
  }
  return out;
}

// As the kernel names files: no empty component, none that goes nowhere or up, none of more than NAME_MAX
// bytes, no zero, and PCI functions in lower case.
bool can_be_path(std::string_view path) {
  constexpr std::string_view kFunctions = "sys/bus/pci/devices/";
  if (path.starts_with(kFunctions)) {
    const std::string_view name = path.substr(kFunctions.size(), path.substr(kFunctions.size()).find('/'));
    if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'F'; })) return false;
  }
  const std::vector<std::string> names = split(path, "/");
  if (std::any_of(names.begin(), names.end(), [](const auto& name) { return name.size() > NAME_MAX; }))
    return false;
  // With a slash on both sides, so that each component has one.
  const std::string whole = "/" + std::string(path) + "/";
  constexpr std::string_view kNever[] = {"//", "/./", "/../", {"\0", 1}};
  return std::none_of(std::begin(kNever), std::end(kNever),
                      [&](std::string_view never) { return whole.find(never) != std::string::npos; });
}

}  // namespace

std::optional<std::pair<std::string, FakeFile>> parse_fake_file(std::string_view line) {
  using Kind = FakeFile::Kind;
  std::pair<std::string, FakeFile> out;
  if (const size_t text = line.find(" = "); text != std::string_view::npos) {
    out = {std::string(line.substr(0, text)), {Kind::text, with_line_ends(line.substr(text + 3)), 0}};
  } else if (const size_t link = line.find(" -> "); link != std::string_view::npos) {
    out = {std::string(line.substr(0, link)), {Kind::link, std::string(line.substr(link + 4)), 0}};
  } else if (const size_t failure = line.find(" ! "); failure != std::string_view::npos) {
    out = {std::string(line.substr(0, failure)), {Kind::failure, {}, 0}};
    std::from_chars(line.data() + failure + 3, line.data() + line.size(), out.second.error);
    if (out.second.error <= 0 || out.second.error > 133) return std::nullopt;  // EHWPOISON is the last
  } else if (line.ends_with('/')) {
    out = {std::string(line.substr(0, line.size() - 1)), {Kind::folder, {}, 0}};
  }
  if (!can_be_path(out.first)) return std::nullopt;
  return out;
}

void set_fake_node(const FakeFiles* all, const FakeFiles* some) {
  always = all;
  changed = some;
}

}  // namespace fuzz
}  // namespace vfrail
