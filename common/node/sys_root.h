// SysRoot: bounded reads of sysfs, procfs and /dev below one root folder ("/" in the product, a tree of a
// test or a captured node otherwise). Reads only. No code elsewhere spells "/sys/...": it passes "sys/...".
//
// Every read has one of three outcomes: the value, "not there", or an error, which says that it could not be
// read and nothing about the node. What goes away while it is read (ENODEV, ENOENT) is not there.
#pragma once

#include "common/files.h"
#include "common/result.h"
#include "common/unique_fd.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// A root folder as it is written by itself, so that names can be compared: "/" for "//", "/./" and, where
// that is the working directory, "."; without a '/' at any other end.
std::string normal_root(const std::string& root);

class SysRoot {
 public:
  explicit SysRoot(std::string root = "/");

  // A SysRoot of one of its folders, which is opened once, so that paths read from there are not resolved
  // from the root each time. For folders of which many files are read.
  SysRoot at(std::string_view below) const;

  // `below` is relative, without a leading slash: "sys/bus/pci/devices".
  std::string path(std::string_view below) const;
  // Follows links: false for a dangling one.
  Result<bool> exists(std::string_view below) const;
  // The text without white space at the end. sysfs files have at most one page; more than 64 KiB is an error.
  // An attribute without a value is "not there": the kernel answers EINVAL (`carrier` of an interface that is
  // down) or EOPNOTSUPP (`phys_port_name`).
  Result<std::optional<std::string>> text(std::string_view below,
                                          AccessTime access_time = AccessTime::updated) const;
  // Decimal; a text that is not a number ("N/A (no PMA)") is "not there".
  Result<std::optional<int64_t>> number(std::string_view below) const;
  // The last component of a symbolic link's target ("igbvf" of ".../driver"); "not there" if it is not a
  // link.
  Result<std::optional<std::string>> link_name(std::string_view below) const;
  // A symbolic link's whole target, as it is written; "not there" if it is not a link.
  Result<std::optional<std::string>> link_target(std::string_view below) const;
  // The real path, relative to the root ("sys/devices/pci0000:20/..."); "not there" if it leaves the root.
  Result<std::optional<std::string>> resolve(std::string_view below) const;
  // Names in a folder, sorted.
  using Names = std::vector<std::string>;
  Result<std::optional<Names>> list(std::string_view below) const;

 private:
  // For the at() functions of system calls: the folder's descriptor and the path from there.
  struct Place {
    int folder;
    std::string path;
  };
  Place place(std::string_view below) const;

  std::string root_;                  // with a '/' at the end
  std::shared_ptr<UniqueFd> folder_;  // of root_, if it is held open
};

}  // namespace vfrail
