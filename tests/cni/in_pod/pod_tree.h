// PodTree: what a pod with two RoCE rails sees, in a temporary folder, with nothing wrong; tests add what is.
#pragma once

#include "cni/in_pod/checks/pod_check.h"
#include "tests/support/temp_dir.h"

#include <string>
#include <string_view>

namespace vfrail::test {
using namespace pod;

// The folder of the first rail's port: its GIDs, state, rate.
inline constexpr const char* kFirstPort =
    "sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/infiniband/mlx5_2/ports/1/";

class PodTree {
 public:
  PodTree();

  // write_tree()'s lines.
  void add(std::string_view manifest);
  // A file of several lines.
  void write(const std::string& path, const std::string& text);
  void remove(const std::string& path);
  // An entry of a port's table of GIDs: "2 RoCE v2 net1 10.0.0.2".
  void add_gid(const std::string& port, unsigned index, const std::string& type, const std::string& netdev,
               const std::string& address);

  const std::string& root() const { return folder_.path(); }
  SysRoot sys() const { return SysRoot(folder_.path()); }
  // Below the root port of the rails, as /dev/nvidia0 or another one.
  void add_gpu(const std::string& pci, const std::string& minor);
  // As read, with the network of good_network(), without probes.
  CheckedPod read() const;

  PodEnvironment environment;
  PodNetwork network;

 private:
  void add_rail(const std::string& name, const std::string& pci, const std::string& pf,
                const std::string& netdev, const std::string& node);

  TempDir folder_;
};

IpAddress cidr(const std::string& text);
// eth0 with the default route, net1 and net2 in a subnet each.
PodNetwork good_network();

}  // namespace vfrail::test
