// Device: what sysfs tells about the device that a configuration names, as the host sees it now. Reads only.
#pragma once

#include "cni/conf/net_conf.h"
#include "common/netlink/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct Device {
  // Names the device in locks and records whatever its netdev is called: "0000:03:02.1", "mlx5_core.sf.4", or
  // "netdev.veth0" for a link without a device below it.
  std::string key;
  std::optional<DeviceId> id;
  bool present = false;  // its folder is in sysfs (always true for a mere netdev that was found)
  std::string driver;    // empty: none bound
  // Visible in the host, in the order of dev_port, then name; empty while they sit in pods. Of a device that
  // a configuration selects: the one that is meant (several only if they have the same dev_port).
  std::vector<std::string> netdevs;
  std::vector<uint32_t> ports;     // dev_port of each of netdevs
  std::vector<std::string> rdma;   // RDMA devices visible in the host
  std::vector<std::string> nodes;  // "uverbs3", "umad3": visible also while the RDMA device sits in a pod

  bool roce = false;  // its RDMA device runs over Ethernet, so there is a netdev, visible or not

  // Bound to a driver that hands the function to user space: it has no netdev and must not get one.
  bool user_space() const;
  // infiniband_verbs is not tagged with a namespace, infiniband is (ib_setup_device_attrs()).
  bool misses_rdma() const { return rdma.empty() && !nodes.empty(); }
  // A part that it must have is not in the host: in another namespace, on its way back, or being made. Empty:
  // all is there.
  std::string missing_part() const;
};

// The PCI function or auxiliary device of that id.
Result<Device> read_device(const SysRoot& sys, const DeviceId& id);

// The device that the configuration selects. Errc::not_found names what was looked for and what to do.
Result<Device> find_device(const SysRoot& sys, Kernel& host, const DeviceSelector& selector);

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

// An error is a look that failed. It says nothing of the VF: who takes it for "none" leaves a pod's settings
// on it.
Result<VfSearch> find_vf_place(const SysRoot& sys, const Device& device);

// Unbinds the device's driver, if one is bound, and has the kernel bind it again (sysfs-bus-pci): netdev and
// RDMA device are made anew, in the host.
Result<> rebind_driver(const SysRoot& sys, const DeviceId& id);

// The RDMA device nodes of a device, now. An error is a look that failed: taken for "none" it would cost a
// container its nodes.
Result<std::vector<std::string>> read_rdma_nodes(const SysRoot& sys, const DeviceId& id);

// What the device's RDMA devices are called now, whichever namespace they are in.
Result<std::vector<std::string>> read_rdma_names(const SysRoot& sys, const DeviceId& id);

}  // namespace vfrail
