// A check of the node: what an administrator should know before pods find out. Reads, and changes nothing.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/inventory/inventory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail {

enum class Finding : uint8_t {
  good,
  unknown,  // cannot be read here
  note,     // works; worth knowing
  advice,   // works, but not as well as it could
  fault,    // pods will fail, or do
};

struct CheckResult {
  Finding finding = Finding::good;
  std::string text;         // which object, and what was found
  std::string remedy = {};  // what to do; of advice and faults
};
using CheckResults = std::vector<CheckResult>;

struct CheckedNode {
  const SysRoot& sys;
  const Inventory& inventory;  // with unclean devices marked, as far as they can be read
  // Where /proc/sys and /sys/kernel are. They are the machine's in every namespace: in the plugin's
  // container, which has only some of the host's folders below `sys`, its own.
  const SysRoot& kernel;
};

struct NodeCheck {
  const char* id;     // "VF-N04", which never changes its meaning
  const char* name;   // "rdma-netns-mode"
  const char* holds;  // what is so when it finds nothing
  // Nothing found: good. An error: what it needs cannot be read.
  Result<CheckResults> (*run)(const CheckedNode&);
};

using NodeChecks = std::vector<NodeCheck>;
const NodeChecks& kernel_checks();
const NodeChecks& port_checks();        // of PFs, VFs and their ports
const NodeChecks& placement_checks();   // PCIe, NUMA and GPUs
const NodeChecks& kubernetes_checks();  // kubelet, CNI, the container runtime

// "0000:4b:00.0 (ibp75s0, mlx5_0)".
std::string describe(const PciFunction& function);
bool has_rdma(const Inventory& inventory);

}  // namespace vfrail
