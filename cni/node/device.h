// The device that a configuration names, and where the settings of a VF are changed, as the host sees it now.
// Reads only, except rebind_driver() and reset_function().
#pragma once

#include "cni/conf/net_conf.h"
#include "common/kernel/kernel.h"
#include "common/node/device.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// The facts that an ADD needs.
inline constexpr Facts kAttachFacts = Facts::driver | Facts::netdevs | Facts::dev_ports | Facts::rdma |
                                      Facts::link_layer | Facts::verbs_nodes | Facts::mad_nodes;

// The device that the configuration selects, with kAttachFacts. Its netdevs are the selected ones: several
// only if they have the same dev_port. Errc::not_found names what was searched and the remedy.
Result<Device> find_device(const SysRoot& sys, Kernel& host, const DeviceSelector& selector);

// The PF of a VF, by its interface in the host; or why there is none: it is not a VF, or its PF is not
// visible.
struct PfSearch {
  std::optional<DeviceId> pf;
  std::string netdev;
  std::string why_not;
  bool later = false;      // it is there, and only has no interface at the moment (devlink dev reload)
  std::string entry = {};  // the interface's in the PF's folder: "net/eth0"
};
// `port` is the dev_port of the VF's interface: where one function has the ports of an InfiniBand card, a
// VF's GUID at a port is set through the PF's interface of the same one (ipoib_set_vf_guid()).
Result<PfSearch> find_pf(const SysRoot& sys, const DeviceId& vf, std::optional<uint32_t> port = std::nullopt);

// Where the settings of a VF are changed.
struct VfPlace {
  std::string pf;   // the PF's interface
  int pf_link = 0;  // its index
  uint32_t index = 0;
};

// Where the settings of a VF are changed, or why nowhere: it is not a VF, or its PF is not visible.
struct VfSearch {
  std::optional<VfPlace> place;
  std::string why_not;
  bool later = false;  // PfSearch::later
};

// Finds where the settings of the VF are changed. An error is not "none": a caller that confuses them leaves
// a pod's settings on the VF.
// `port`: as for find_pf().
Result<VfSearch> find_vf_place(const SysRoot& sys, const DeviceId& vf, std::optional<uint32_t> port);

// Unbinds the device's driver, if one is bound, and has the kernel bind it again (sysfs-bus-pci): netdev and
// RDMA device are created again, in the host.
Result<> rebind_driver(const SysRoot& sys, const DeviceId& id);

// The same, and between the two the function is reset (by FLR, or what else the kernel has for it alone): no
// driver need be prepared for that. Returns why it was not reset; empty: it was.
Result<std::string> reset_function(const SysRoot& sys, const DeviceId& id);

// The present RDMA device nodes of a device, sorted. An error taken for "none" would cost a container its
// nodes.
Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id);

// The present names of the device's RDMA devices, in whichever namespace they are.
Result<std::vector<std::string>> read_rdma_names(const SysRoot& sys, const DeviceId& id);

}  // namespace vfrail::cni
