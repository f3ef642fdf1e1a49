// A check of the node: what an administrator should know before pods find out. Reads, and changes nothing.
#pragma once

#include "common/checks/check.h"
#include "common/node/sys_root.h"
#include "common/programs.h"
#include "plugin/device/config/config.h"
#include "plugin/device/inventory/dcb.h"
#include "plugin/device/inventory/inventory.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::plugin {

// The first network namespace alone has it (net_core_table in net/core/sysctl_net_core.c): proc/sys/net shows
// the reader's namespace, whose interfaces can have the names of the host's.
inline constexpr const char* kOfHostAlone = "proc/sys/net/core/netdev_max_backlog";

struct CheckedNode {
  const SysRoot& sys;
  const Inventory& inventory;  // with unclean devices marked, as far as they can be read
  // The root of /proc/sys and /sys/kernel, which are the machine's in every namespace: in the plugin's
  // container, which has only some of the host's folders below `sys`, and some beside it, its own.
  const SysRoot& kernel;
  const Config* config = nullptr;           // null: there is none
  ReadDcb read_dcb = {};                    // empty: not in the host's network namespace
  std::string cni_state = {};               // where vfrail-cni has its records; empty: none are read
  std::string kubelet_root = kKubeletRoot;  // absolute, below `sys`
  std::string cni_bin_dir = kCniFolder;     // absolute, below `sys`
  std::string run_dir = {};                 // where serve has its records; empty: none are read
};

using NodeCheck = Check<CheckedNode>;
using NodeChecks = std::vector<NodeCheck>;
const NodeChecks& kernel_checks();
const NodeChecks& driver_checks();
const NodeChecks& config_space_checks();  // of PCI
const NodeChecks& port_checks();          // of PFs, VFs and their ports
const NodeChecks& vf_checks();            // whether they are enabled, and have drivers
const NodeChecks& fabric_checks();        // InfiniBand's partitions and subnet manager
const NodeChecks& transport_checks();     // what carries RoCE: ARP, lossless classes, congestion control
const NodeChecks& log_checks();           // of the kernel
const NodeChecks& placement_checks();     // PCIe, NUMA and GPUs
const NodeChecks& resource_checks();      // what the configuration selects
const NodeChecks& kubernetes_checks();    // kubelet, CNI, the container runtime
const NodeChecks& dra_checks();           // Dynamic Resource Allocation, claims

// The release of the kernel, for parse_release().
inline constexpr const char* kKernelRelease = "proc/sys/kernel/osrelease";

// "0000:4b:00.0 (ibp75s0, mlx5_0)".
std::string shown_device(const DeviceFacts& function);
bool has_rdma(const Inventory& inventory);
// What a check is about and this node lacks, as Check::lacks has it.
std::string lacks_rdma(const CheckedNode& node);
std::string lacks_roce(const CheckedNode& node);
std::string lacks_infiniband(const CheckedNode& node);
std::string lacks_vfs(const CheckedNode& node);
std::string lacks_ports(const CheckedNode& node);  // PFs of network cards
std::string lacks_gpus(const CheckedNode& node);
std::string lacks_gpu_rails(const CheckedNode& node);  // GPUs beside RDMA devices
std::string lacks_config(const CheckedNode& node);
// "6.1.0-13-amd64" is {6, 1}; no value: it is not a release of Linux.
std::optional<std::pair<int, int>> parse_release(std::string_view release);

}  // namespace vfrail::plugin
