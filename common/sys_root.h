// SysRoot: bounded reads of sysfs, procfs and /dev below one root folder ("/" in the product, a tree of a
// test or a captured node otherwise). Reads only. No code elsewhere spells "/sys/...": it passes "sys/...".
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

class SysRoot {
 public:
  explicit SysRoot(std::string root = "/");

  // The same below one of its folders, which is opened once: paths that are read from there do not walk the
  // way to it again. For folders of which many files are read.
  SysRoot at(std::string_view below) const;

  // `below` is relative, without a leading slash: "sys/bus/pci/devices".
  std::string path(std::string_view below) const;
  bool exists(std::string_view below) const;
  // The text without white space at the end; nothing if the file is not there. sysfs files have at most one
  // page; more than 64 KiB is an error. Files of a device that is just going away (ENODEV) count as not
  // there.
  Result<std::optional<std::string>> text(std::string_view below) const;
  // As text(), but nothing also when it cannot be read: for facts that a caller can do without.
  std::optional<std::string> text_or_none(std::string_view below) const;
  std::optional<int64_t> number_or_none(std::string_view below) const;
  // The last component of a symbolic link's target ("igbvf" of ".../driver"); nothing if it is no link.
  std::optional<std::string> link_name(std::string_view below) const;
  // A symbolic link's whole target, as it stands there; nothing if it is no link.
  std::optional<std::string> link_target(std::string_view below) const;
  // As link_name() and list(), for when "not there" is a decision: a failure to look is an error.
  Result<std::optional<std::string>> look_at_link(std::string_view below) const;
  Result<std::vector<std::string>> look_into(std::string_view below) const;
  // The real path, relative to the root ("sys/devices/pci0000:20/..."); nothing if it does not exist or
  // leaves the root.
  std::optional<std::string> resolve(std::string_view below) const;
  // Names in a folder, sorted; empty if the folder is not there.
  std::vector<std::string> list(std::string_view below) const;

 private:
  // What the at() functions of system calls take: the folder's descriptor and the way from there.
  struct Place {
    int folder;
    std::string path;
  };
  Place place(std::string_view below) const;
  Result<std::optional<std::string>> look_at_target(std::string_view below) const;

  std::string root_;                  // with a '/' at the end
  std::shared_ptr<UniqueFd> folder_;  // of root_, if it is held open
};

}  // namespace vfrail
