// The device that a configuration names, and where the settings of a VF are changed, as the host sees it now.
// Reads only, but for rebind_driver().
#pragma once

#include "cni/conf/net_conf.h"
#include "common/netlink/kernel.h"
#include "common/node/device.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// What an ADD decides by.
inline constexpr Facts kAttachFacts = Facts::driver | Facts::netdevs | Facts::dev_ports | Facts::rdma |
                                      Facts::link_layer | Facts::verbs_nodes | Facts::mad_nodes;

// The device that the configuration selects, with kAttachFacts. Its netdevs are those that are meant: several
// only if they have the same dev_port. Errc::not_found names what was looked for and what to do.
Result<Device> find_device(const SysRoot& sys, Kernel& host, const DeviceSelector& selector);

// The PF of a VF, by its interface in the host; or why there is none: it is not a VF, or its PF is out of
// reach.
struct PfSearch {
  std::optional<DeviceId> pf;
  std::string netdev;
  std::string why_not;
};
Result<PfSearch> find_pf(const SysRoot& sys, const DeviceId& vf);

// Where the settings of a VF are changed.
struct VfPlace {
  std::string pf;   // the PF's interface
  int pf_link = 0;  // its index
  uint32_t index = 0;
};

// Or why there is none: it is not a VF, or its PF is out of reach.
struct VfSearch {
  std::optional<VfPlace> place;
  std::string why_not;
};

// An error says nothing of the VF: who takes it for "none" leaves a pod's settings on it.
Result<VfSearch> find_vf_place(const SysRoot& sys, const DeviceId& vf);

// Unbinds the device's driver, if one is bound, and has the kernel bind it again (sysfs-bus-pci): netdev and
// RDMA device are made anew, in the host.
Result<> rebind_driver(const SysRoot& sys, const DeviceId& id);

// The RDMA device nodes of a device, now, sorted. An error taken for "none" would cost a container its nodes.
Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id);

// What the device's RDMA devices are called now, whichever namespace they are in.
Result<std::vector<std::string>> read_rdma_names(const SysRoot& sys, const DeviceId& id);

}  // namespace vfrail
