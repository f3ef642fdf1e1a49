// Tree: a node's sysfs, procfs and /dev in a temporary folder, from a manifest in tests/data.
#pragma once

#include "common/sys_root.h"
#include "plugin/inventory.h"
#include "tests/support/temp_dir.h"

#include <string>
#include <string_view>

namespace vfrail::test {

class Tree {
 public:
  // `name` is a file of tests/data without ".sysfs"; empty for an empty tree.
  explicit Tree(const std::string& name);

  // More entries, as write_tree() takes them, and "file | line", which appends a line to a file.
  void add(std::string_view manifest);
  void remove(const std::string& below);
  // The RDMA device and the netdev of a function go to a pod: what lab.md found to stay visible stays.
  void move_to_pod(const std::string& address);

  const std::string& root() const { return folder_.path(); }
  SysRoot sys() const { return SysRoot(folder_.path()); }
  // Scans without netlink; fails the test if that fails.
  Inventory scan() const;

 private:
  TempDir folder_;
};

// Fails the test if there is none.
const Function& function(const Inventory& inventory, const std::string& address);

}  // namespace vfrail::test
