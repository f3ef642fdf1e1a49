#include "tests/fuzz/fake_sys_root.h"

#include "common/node/sys_root.h"
#include "tests/fuzz/checks.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vfrail {

namespace {

using fuzz::FakeFile;
using fuzz::FakeFiles;

const FakeFiles* always = nullptr;
const FakeFiles* changed = nullptr;

// What is asked for, below the root of the fake node.
std::string_view inside(std::string_view path) {
  path.remove_prefix(std::min(path.size(), fuzz::kFakeRoot.size()));
  while (path.starts_with('/')) path.remove_prefix(1);
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

// A place in both tables, of which either may have none.
struct Found {
  const FakeFiles::Place* changed;
  const FakeFiles::Place* always;

  const FakeFile* file() const {
    for (const FakeFiles::Place* place : {changed, always}) {
      if (place != nullptr && place->file) return &*place->file;
    }
    return nullptr;
  }
  bool is_a(FakeFile::Kind kind) const { return file() != nullptr && file()->kind == kind; }
};

// What both have; of a file that cannot be read the failure.
Result<Found> find(std::string_view root, std::string_view below) {
  thread_local std::string whole;  // has the memory of the last one
  whole.assign(root).append(below);
  const fuzz::FakePath path(inside(whole));
  const Found out{changed->find(path), always->find(path)};
  if (out.is_a(FakeFile::Kind::failure)) return Error::from_errno(out.file()->error, "read " + whole);
  return out;
}

}  // namespace

SysRoot::SysRoot(std::string root) : root_(std::move(root)) {
  if (root_.empty() || root_.back() != '/') root_ += '/';
}

std::string SysRoot::path(std::string_view below) const { return root_ + std::string(below); }

SysRoot SysRoot::at(std::string_view below) const { return SysRoot(path(below)); }

Result<bool> SysRoot::exists(std::string_view below) const {
  const Found found = TRY(find(root_, below));
  return found.changed != nullptr || found.always != nullptr;
}

Result<std::optional<std::string>> SysRoot::text(std::string_view below, AccessTime) const {
  const Found found = TRY(find(root_, below));
  if (!found.is_a(FakeFile::Kind::text)) return std::optional<std::string>();
  const std::string whole = found.file()->text();
  return std::optional(whole.substr(0, whole.find_last_not_of("\n \t") + 1));
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
  const Found found = TRY(find(root_, below));
  if (!found.is_a(FakeFile::Kind::link)) return std::optional<std::string>();
  return std::optional(std::string(found.file()->written));
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

// Both folders have their names sorted.
Result<std::optional<SysRoot::Names>> SysRoot::list(std::string_view below) const {
  const Found found = TRY(find(root_, below));
  const auto names = [](const auto* place) { return place == nullptr ? 0 : place->names; };
  const auto first = [](const FakeFiles* files, const auto* place) {
    return place == nullptr ? nullptr : files->at(place->first);
  };
  Names out;
  out.reserve(names(found.changed) + names(found.always));
  const FakeFiles::Place* one = first(changed, found.changed);
  const FakeFiles::Place* other = first(always, found.always);
  while (one != nullptr || other != nullptr) {
    const int order = one == nullptr ? 1 : other == nullptr ? -1 : one->name().compare(other->name());
    out.emplace_back(order <= 0 ? one->name() : other->name());
    if (order <= 0) one = changed->at(one->sibling);
    if (order >= 0) other = always->at(other->sibling);
  }
  if (out.empty() && !found.is_a(FakeFile::Kind::folder)) return std::optional<Names>();
  return std::optional(std::move(out));
}

namespace fuzz {

// A copy of what was put together, as large as its text: the sanitizer knows where that ends.
std::string FakeFile::text() const {
  constexpr std::string_view kLineEnd = "\\n";
  thread_local std::string out;  // has the memory of the last one
  out.clear();
  for (std::string_view rest = written; !rest.empty();) {
    const size_t end = std::min(rest.find(kLineEnd), rest.size());
    out += rest.substr(0, end);
    if (end < rest.size()) out += '\n';
    rest.remove_prefix(std::min(end + kLineEnd.size(), rest.size()));
  }
  return out;
}

void FakeFiles::clear() {
  places_.clear();
  firsts_.fill(kNone);
}

void FakeFiles::set(std::string_view path, const FakeFile& file) { places_[make(path)].file = file; }

const FakeFiles::Place* FakeFiles::find(const FakePath& path) const { return at(number_of(path)); }

uint32_t FakeFiles::number_of(const FakePath& path) const {
  uint32_t out = firsts_[path.hash % firsts_.size()];
  while (out != kNone && !(places_[out].path == path)) out = places_[out].next;
  return out;
}

uint32_t FakeFiles::make(std::string_view text) {
  const FakePath path(text);
  if (const uint32_t known = number_of(path); known != kNone) return known;
  const auto out = static_cast<uint32_t>(places_.size());
  uint32_t& first = firsts_[path.hash % firsts_.size()];
  places_.push_back({.path = path, .next = std::exchange(first, out)});
  if (text.empty()) return out;
  const size_t slash = text.rfind('/');
  const uint32_t folder = make(slash == std::string_view::npos ? "" : text.substr(0, slash));
  add_name(places_[folder], out);
  return out;
}

void FakeFiles::add_name(Place& folder, uint32_t number) {
  const std::string_view name = places_[number].name();
  uint32_t* next = &folder.first;
  while (*next != kNone && places_[*next].name() < name) next = &places_[*next].sibling;
  places_[number].sibling = std::exchange(*next, number);
  ++folder.names;
}

namespace {

// As the kernel names files, and PCI functions in lower case.
bool can_be_path(std::string_view path) {
  constexpr std::string_view kFunctions = "sys/bus/pci/devices/";
  if (path.starts_with(kFunctions)) {
    const std::string_view name = path.substr(kFunctions.size(), path.substr(kFunctions.size()).find('/'));
    if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'F'; })) return false;
  }
  for (size_t start = 0; start <= path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    if (!is_file_name(path.substr(start, end - start))) return false;
    start = end + 1;
  }
  return true;
}

}  // namespace

std::optional<std::pair<std::string_view, FakeFile>> parse_fake_file(std::string_view line) {
  using Kind = FakeFile::Kind;
  std::pair<std::string_view, FakeFile> out;
  auto& [path, file] = out;
  if (const size_t text = line.find(" = "); text != std::string_view::npos) {
    out = {line.substr(0, text), {Kind::text, 0, line.substr(text + 3)}};
  } else if (const size_t link = line.find(" -> "); link != std::string_view::npos) {
    out = {line.substr(0, link), {Kind::link, 0, line.substr(link + 4)}};
  } else if (const size_t failure = line.find(" ! "); failure != std::string_view::npos) {
    out = {line.substr(0, failure), {Kind::failure}};
    std::from_chars(line.data() + failure + 3, line.data() + line.size(), file.error);
    if (file.error <= 0 || file.error > 133) return std::nullopt;  // EHWPOISON is the last
  } else if (line.ends_with('/')) {
    out = {line.substr(0, line.size() - 1), {Kind::folder}};
  }
  if (!can_be_path(path)) return std::nullopt;
  return out;
}

void set_fake_node(const FakeFiles* all, const FakeFiles* some) {
  always = all;
  changed = some;
}

}  // namespace fuzz
}  // namespace vfrail
