// Tree: a node's sysfs, procfs and /dev in a temporary folder, from a manifest in tests/data.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/device/inventory/inventory.h"
#include "tests/support/temp_dir.h"

#include <string>
#include <string_view>

namespace vfrail::test {
using namespace plugin;

class Tree {
 public:
  // `name` is a file of tests/data without ".sysfs"; empty for an empty tree.
  explicit Tree(const std::string& name);

  // More entries, as write_tree() takes them, "file | line", which appends a line to a file, and
  // "pci PATH key=value ...", which makes a PCI function: PATH from the host bridge down to it
  // ("pci0000:16/0000:16:01.0/0000:17:00.0"), and the keys class, vendor, device, numa, driver, net
  // (NAME:TYPE), rdma
  // (NAME:LINK_LAYER:STATE:PHYSICAL:NUMBER), node_type and vfs (addresses, with commas), vf_device.
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
const DeviceFacts& function(const Inventory& inventory, const std::string& address);

}  // namespace vfrail::test
