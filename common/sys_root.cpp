#include "common/sys_root.h"

#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

namespace vfrail {

namespace fs = std::filesystem;

namespace {
constexpr size_t kMaxFileBytes = size_t{64} * 1024;

// EINVAL: it is no link. ENODEV: its device is just going away.
bool means_not_there(int error) {
  return error == ENOENT || error == ENOTDIR || error == EINVAL || error == ENODEV;
}
}  // namespace

SysRoot::SysRoot(std::string root) : root_(std::move(root)) {
  if (root_.empty() || root_.back() != '/') root_ += '/';
}

std::string SysRoot::path(std::string_view below) const { return root_ + std::string(below); }

bool SysRoot::exists(std::string_view below) const {
  struct stat info {};
  return ::stat(path(below).c_str(), &info) == 0;
}

Result<std::optional<std::string>> SysRoot::text(std::string_view below) const {
  const std::string file = path(below);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR || errno == ENODEV) return std::optional<std::string>();
    return Error::from_errno(errno, "open " + file);
  }
  std::string out;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == ENODEV) return std::optional<std::string>();
    if (got < 0) return Error::from_errno(errno, "read " + file);
    out.append(buffer, static_cast<size_t>(got));
    // sysfs shows an attribute in one read (kernfs_file_read_iter()), so a short one is the end.
    if (static_cast<size_t>(got) < sizeof buffer) break;
    if (out.size() > kMaxFileBytes) return Error{Errc::protocol, 0, "read " + file + ": longer than 64 KiB"};
  }
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ' || out.back() == '\t')) out.pop_back();
  return std::optional<std::string>(std::move(out));
}

std::optional<std::string> SysRoot::text_or_none(std::string_view below) const {
  return text(below).value_or(std::nullopt);
}

std::optional<int64_t> SysRoot::number_or_none(std::string_view below) const {
  const auto found = text_or_none(below);
  if (!found) return std::nullopt;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), number);
  if (error != std::errc() || end != found->data() + found->size()) return std::nullopt;
  return number;
}

Result<std::optional<std::string>> SysRoot::look_at_link(std::string_view below) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(path(below), error);
  if (!error) return std::optional(target.filename().string());
  if (means_not_there(error.value())) return std::optional<std::string>();
  return Error::from_errno(error.value(), "read link " + path(below));
}

std::optional<std::string> SysRoot::link_name(std::string_view below) const {
  return look_at_link(below).value_or(std::nullopt);
}

std::optional<std::string> SysRoot::link_target(std::string_view below) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(path(below), error);
  return error ? std::nullopt : std::optional(target.string());
}

std::optional<std::string> SysRoot::resolve(std::string_view below) const {
  std::error_code error;
  const fs::path root = fs::canonical(root_, error);
  if (error) return std::nullopt;
  const fs::path real = fs::canonical(path(below), error);
  if (error) return std::nullopt;
  const std::string relative = real.lexically_relative(root).string();
  if (relative.empty() || relative.starts_with("..")) return std::nullopt;
  return relative;
}

Result<std::vector<std::string>> SysRoot::look_into(std::string_view below) const {
  const std::string folder = path(below);
  std::vector<std::string> out;
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd.valid()) {
    if (means_not_there(errno)) return out;
    return Error::from_errno(errno, "list " + folder);
  }
  // std::filesystem would ask more than twice as many questions, and a scan lists thousands of folders.
  alignas(dirent64) char buffer[8192];
  for (;;) {
    const ssize_t got = ::getdents64(fd.get(), buffer, sizeof buffer);
    if (got < 0 && means_not_there(errno)) return std::vector<std::string>();
    if (got < 0) return Error::from_errno(errno, "list " + folder);
    if (got == 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") out.emplace_back(name);
      at += entry->d_reclen;
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> SysRoot::list(std::string_view below) const {
  return look_into(below).value_or(std::vector<std::string>());
}

}  // namespace vfrail
