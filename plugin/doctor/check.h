// A check of the node: what an administrator should know before pods find out. Reads, and changes nothing.
#pragma once

#include "common/checks/check.h"
#include "common/node/sys_root.h"
#include "plugin/config/config.h"
#include "plugin/inventory/dcb.h"
#include "plugin/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail {

struct CheckedNode {
  const SysRoot& sys;
  const Inventory& inventory;  // with unclean devices marked, as far as they can be read
  // Where /proc/sys and /sys/kernel are. They are the machine's in every namespace: in the plugin's
  // container, which has only some of the host's folders below `sys`, its own.
  const SysRoot& kernel;
  const Config* config = nullptr;  // null: there is none
  ReadDcb read_dcb = {};           // empty: not in the host's network namespace
  std::string cni_state = {};      // where vfrail-cni has its records; empty: none are read
};

using NodeCheck = Check<CheckedNode>;
using NodeChecks = std::vector<NodeCheck>;
const NodeChecks& kernel_checks();
const NodeChecks& driver_checks();
const NodeChecks& config_space_checks();  // of PCI
const NodeChecks& port_checks();          // of PFs, VFs and their ports
const NodeChecks& fabric_checks();        // InfiniBand's partitions and subnet manager
const NodeChecks& transport_checks();     // what carries RoCE: ARP, lossless classes, congestion control
const NodeChecks& log_checks();           // of the kernel
const NodeChecks& placement_checks();     // PCIe, NUMA and GPUs
const NodeChecks& resource_checks();      // what the configuration selects
const NodeChecks& kubernetes_checks();    // kubelet, CNI, the container runtime

// "0000:4b:00.0 (ibp75s0, mlx5_0)".
std::string describe(const PciFunction& function);
bool has_rdma(const Inventory& inventory);

}  // namespace vfrail
