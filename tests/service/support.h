// What the service tests share: pools by hand, a node's folders, waiting without fixed sleeps.
#pragma once

#include "plugin/device/allocate/prepare.h"
#include "plugin/device/config/formats/source.h"
#include "plugin/device/match/pools.h"
#include "tests/support/temp_dir.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace vfrail::test {
using namespace plugin;

// Devices with nothing but an address, for tests that allocate nothing. "nvidia.com/hostdev".
// Of a file that is good, or the test fails.
ConfigSource open_config(const std::string& file);
// Of a file that is made, for daemons whose devices do not come from it.
ConfigSource any_config(const std::string& file);
Pool make_pool(const std::vector<std::string>& addresses, const std::string& name = "hostdev");

// True as soon as `wanted` holds, false if it does not before the deadline (tests/support/deadline.h).
bool eventually(const std::function<bool()>& wanted);

// The node of tests/data/igb_node.sysfs: eight VFs with RDMA, 0000:21:10.{0,2,4,6} on NUMA node 0 and
// 0000:41:10.{0,2,4,6} on 1. Beside it the folders that `serve` writes to.
class IgbNode {
 public:
  IgbNode();
  // Makes the tree, once; pool() does it too. Tests that only stream do without, it has hundreds of files.
  void fill() const;

  AllocatePlaces places() const;
  // All eight, in order, with `rdma` set.
  Pool pool() const;
  void remove_device(const std::string& address) const;

  std::string path(const std::string& below) const { return folder_.path(below); }
  std::string root() const { return folder_.path("root"); }
  std::string device_info_dir() const { return folder_.path("devinfo/dp"); }
  std::string cdi_dir() const { return folder_.path("cdi"); }
  // Of the device with that PCI address, in nvidia.com/net-pci.
  std::string cdi_spec(const std::string& device) const {
    return cdi_dir() + "/vfrail-nvidia.com-net-pci-" + device + ".json";
  }
  std::string run_dir() const { return folder_.path("run"); }
  // Files that Allocate has written so far.
  std::vector<std::string> written() const;

 private:
  TempDir folder_;
};

std::string read_text(const std::string& path);
unsigned mode_of(const std::string& path);

}  // namespace vfrail::test
