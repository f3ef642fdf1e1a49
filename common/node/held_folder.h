// HeldFolder: a folder that is held open, so that what is done in it is done there, whatever is put in its
// place meanwhile. For paths that a less trusted process, or the text of a network, has a say in: root must
// not follow them elsewhere. No component below the first folder may be a symbolic link.
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
  // The caller names it, so links on the way to it are followed (/var/run is one), but it is none itself
  // unless `path` ends with a slash. Nothing if it is not there; Errc::denied if a link is in its place.
  static Result<std::optional<HeldFolder>> open(const std::string& path);
  // The folder of that name in it.
  Result<std::optional<HeldFolder>> enter(const std::string& name) const;

  // The path of a file in this very folder, for any system call of this process (proc(5), /proc/[pid]/fd).
  std::string at(const std::string& name) const;
  // What it was opened as, for messages.
  const std::string& path() const { return path_; }
  // Errc::denied if it belongs to another user or others could write into it.
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
// Errc:: denied if it is not, or if a link is on the way. Nothing if a folder on the way is not there; the
// file itself need not be there.
Result<std::optional<HeldFile>> find_below(const std::vector<std::string>& roots, const std::string& path);

}  // namespace vfrail
