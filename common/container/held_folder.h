// HeldFolder: a folder that is held open, so that operations in it stay in it, even if it is replaced
// meanwhile. For paths that a less trusted process, or a network's configuration, influences: root must not
// follow them elsewhere. No component below the first folder may be a symbolic link.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfrail {

class HeldFolder {
 public:
  // The caller names it, so links on the way to it are followed (/var/run is one), but it must not be one
  // itself unless `path` ends with a slash. No value if it does not exist; Errc::denied if it is a link.
  static Result<std::optional<HeldFolder>> open(const std::string& path);
  // The folder of that name in it.
  Result<std::optional<HeldFolder>> enter(const std::string& name) const;

  // The same; if it does not exist it is created, with that mode (mkdir(2)).
  Result<HeldFolder> make(const std::string& name, unsigned mode) const;

  // The path of a file in this folder, for any system call of this process (proc(5), /proc/[pid]/fd).
  std::string at(const std::string& name) const;
  // The path that it was opened with, for messages.
  const std::string& path() const { return path_; }
  // Errc::denied if it belongs to another user or others can write to it.
  Result<> check_owner() const;

 private:
  HeldFolder(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  static Result<std::optional<HeldFolder>> open_at(int folder, const std::string& name, std::string path);
  UniqueFd fd_;
  std::string path_;
};

struct HeldFile {
  HeldFolder folder;
  std::string name;
  std::string path() const { return folder.at(name); }
};

// The file that `path` names, which must be below one of `roots` (absolute, without a slash at the end).
// Errc::denied if it is not, or if a link is on the way. No value if a folder on the way does not exist; the
// file itself need not exist.
Result<std::optional<HeldFile>> find_below(const std::vector<std::string>& roots, const std::string& path);

}  // namespace vfrail
