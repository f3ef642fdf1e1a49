// Whether this process sees the host's interfaces. In another network namespace sysfs shows the host's PCI
// functions, but none of their interfaces, and neither routes nor addresses of the host: its uplink seems to
// be a device in a pod. Reads, and reports what cannot be seen.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/inventory/inventory.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct HostView {
  // Known by /proc/1/ns/net, where it may be read, and by the sysctls that only the first network namespace
  // of a machine has (net_core_table in net/core/sysctl_net_core.c).
  bool is_host_namespace = true;
  bool sees_interfaces = false;  // of at least one physical function
  // Functions with a network driver and no interface here. Not the VFs and sub-functions of a PF that has one
  // here: they are in pods.
  std::vector<std::string> unseen;
};

// `sys` is this machine, not a tree or mounts of the host's, for which this does not matter.
Result<HostView> read_host_view(const SysRoot& sys, const Inventory& inventory);

// Functions whose use by the host cannot be seen are marked as in use (HostUseFact::Kind::unseen), with a
// warning. Returns a sentence for callers that cannot go on at all: no interface of the node is seen. Pure.
std::string mark_unseen(const HostView& view, Inventory& inventory);

// read_host_view() and mark_unseen(), for the root of a command.
Result<std::string> check_host_view(const SysRoot& sys, Inventory& inventory);

}  // namespace vfrail::plugin
