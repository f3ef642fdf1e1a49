#include "common/container/held_folder.h"

#include "common/text.h"

#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail {

Result<std::optional<HeldFolder>> HeldFolder::open_at(int folder, const std::string& name, std::string path) {
  UniqueFd fd(::openat(folder, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid()) return std::optional(HeldFolder(std::move(fd), std::move(path)));
  if (errno == ENOENT) return std::optional<HeldFolder>();
  // With O_DIRECTORY a symbolic link is not a folder (ENOTDIR), nor is a file.
  if (errno == ENOTDIR || errno == ELOOP)
    return Error{Errc::denied, errno, path + " is not a folder but a link or a file; remove it"};
  return Error::from_errno(errno, "open folder " + path);
}

Result<std::optional<HeldFolder>> HeldFolder::open(const std::string& path) {
  return open_at(AT_FDCWD, path, path);
}

Result<std::optional<HeldFolder>> HeldFolder::enter(const std::string& name) const {
  return open_at(fd_.get(), name, path_ + (path_.ends_with('/') ? "" : "/") + name);
}

Result<HeldFolder> HeldFolder::make(const std::string& name, unsigned mode) const {
  if (::mkdirat(fd_.get(), name.c_str(), mode) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "create folder " + path_ + "/" + name);
  auto out = TRY(enter(name));
  if (!out) return Error::from_errno(ENOENT, "create folder " + path_ + "/" + name);
  return std::move(*out);
}

std::string HeldFolder::at(const std::string& name) const {
  return "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + name;
}

Result<> HeldFolder::check_owner() const {
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return Error::from_errno(errno, "read the owner of " + path_);
  if (info.st_uid == ::geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  return Error{Errc::denied, EPERM,
               "folder " + path_ + " belongs to another user, or others can write into it; remove it"};
}

Result<std::optional<HeldFile>> find_below(const std::vector<std::string>& roots, const std::string& path) {
  for (const std::string& root : roots) {
    if (!path.starts_with(root + "/")) continue;
    // What a system call would see of it; a text with "..", "." or an empty part is not one of its own.
    std::vector<std::string> parts = split(std::string_view(path).substr(root.size()), "/");
    std::string same = root;
    for (const std::string& part : parts) same += part == "." || part == ".." ? "" : "/" + part;
    if (parts.empty() || same != path) break;
    auto folder = TRY(HeldFolder::open(root + "/"));
    for (size_t i = 0; folder && i + 1 < parts.size(); ++i) folder = TRY(folder->enter(parts[i]));
    if (!folder) return std::optional<HeldFile>();
    return std::optional(HeldFile{std::move(*folder), std::move(parts.back())});
  }
  return Error{Errc::denied, 0, path + " is not below " + joined(roots, " or ")};
}

}  // namespace vfrail
