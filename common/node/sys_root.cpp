#include "common/node/sys_root.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail {

namespace fs = std::filesystem;

namespace {
constexpr size_t kMaxFileBytes = size_t{64} * 1024;

// ENODEV: its device is just being removed (kernfs_fop_read_iter()).
bool means_not_there(int error) { return error == ENOENT || error == ENOTDIR || error == ENODEV; }

Error too_long(const std::string& file) {
  return {Errc::protocol, 0, "read " + file + ": longer than 64 KiB"};
}
}  // namespace

std::string normal_root(const std::string& root) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(root.empty() ? "/" : root, failed);
  std::string out = (failed ? fs::path(root) : absolute).lexically_normal();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out.find_first_not_of('/') == std::string::npos ? "/" : out;
}

SysRoot::SysRoot(std::string root) : root_(std::move(root)) {
  if (root_.empty() || root_.back() != '/') root_ += '/';
}

std::string SysRoot::path(std::string_view below) const { return root_ + std::string(below); }

SysRoot SysRoot::at(std::string_view below) const {
  SysRoot out(path(below));
  auto folder = std::make_shared<UniqueFd>(::open(out.root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (folder->valid()) out.folder_ = std::move(folder);
  return out;
}

SysRoot::Place SysRoot::place(std::string_view below) const {
  if (folder_ == nullptr) return {AT_FDCWD, path(below)};
  return {folder_->get(), below.empty() ? "." : std::string(below)};
}

Result<bool> SysRoot::exists(std::string_view below) const {
  const Place at = place(below);
  struct stat info {};
  if (::fstatat(at.folder, at.path.c_str(), &info, 0) == 0) return true;
  if (means_not_there(errno)) return false;
  return Error::from_errno(errno, "find " + path(below));
}

Result<std::optional<std::string>> SysRoot::text(std::string_view below, AccessTime access_time) const {
  const Place at = place(below);
  const UniqueFd fd = open_keeping(at.folder, at.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, access_time);
  if (!fd.valid()) {
    if (means_not_there(errno)) return std::optional<std::string>();
    return Error::from_errno(errno, "open " + path(below));
  }
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (means_not_there(errno) || errno == EINVAL || errno == EOPNOTSUPP))
      return std::optional<std::string>();
    if (got < 0) return Error::from_errno(errno, "read " + path(below));
    out.append(buffer, static_cast<size_t>(got));
    // sysfs shows an attribute in one read (kernfs_file_read_iter()), so a short one is the end.
    if (static_cast<size_t>(got) < sizeof buffer) break;
    if (out.size() > kMaxFileBytes) return too_long(path(below));
  }
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ' || out.back() == '\t')) out.pop_back();
  return std::optional<std::string>(std::move(out));
}

Result<std::optional<int64_t>> SysRoot::number(std::string_view below) const {
  const auto found = TRY(text(below));
  if (!found) return std::optional<int64_t>();
  int64_t number = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  if (error != std::errc() || end != found->data() + found->size()) return std::optional<int64_t>();
  return std::optional(number);
}

// Without the lstat(2) of std::filesystem: a scan reads thousands of links.
Result<std::optional<std::string>> SysRoot::link_target(std::string_view below) const {
  const Place at = place(below);
  char target[PATH_MAX];
  const ssize_t length = ::readlinkat(at.folder, at.path.c_str(), target, sizeof target);
  if (length >= 0) return std::optional(std::string(target, static_cast<size_t>(length)));
  // EINVAL: it is not a link.
  if (means_not_there(errno) || errno == EINVAL) return std::optional<std::string>();
  return Error::from_errno(errno, "read link " + path(below));
}

Result<std::optional<std::string>> SysRoot::link_name(std::string_view below) const {
  auto target = TRY(link_target(below));
  if (target) target->erase(0, target->rfind('/') + 1);
  return target;
}

Result<std::optional<std::string>> SysRoot::resolve(std::string_view below) const {
  std::error_code error;
  const fs::path root = fs::canonical(root_, error);
  const fs::path real = error ? fs::path() : fs::canonical(path(below), error);
  if (error && means_not_there(error.value())) return std::optional<std::string>();
  if (error) return Error::from_errno(error.value(), "resolve " + path(below));
  std::string relative = real.lexically_relative(root).string();
  if (relative.empty() || relative.starts_with("..")) return std::optional<std::string>();
  return std::optional(std::move(relative));
}

Result<std::optional<SysRoot::Names>> SysRoot::list(std::string_view below) const {
  const Place at = place(below);
  Names out;
  const UniqueFd fd(::openat(at.folder, at.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd.valid()) {
    if (means_not_there(errno)) return std::optional<Names>();
    return Error::from_errno(errno, "list " + path(below));
  }
  // std::filesystem would make more than twice as many system calls, and a scan lists thousands of folders.
  alignas(dirent64) char buffer[8192];
  for (;;) {
    const ssize_t got = ::getdents64(fd.get(), buffer, sizeof buffer);
    if (got < 0 && means_not_there(errno)) return std::optional<Names>();
    if (got < 0) return Error::from_errno(errno, "list " + path(below));
    if (got == 0) break;
    for (ssize_t next = 0; next < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + next);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") out.emplace_back(name);
      next += entry->d_reclen;
    }
  }
  std::sort(out.begin(), out.end());
  return std::optional(std::move(out));
}

}  // namespace vfrail
