// Inventory: every PCI function of the node that a pod could get, the sub-functions of network functions, and
// their facts. scan() reads and decides nothing.
#pragma once

#include "common/errors/warning.h"
#include "common/ids.h"
#include "common/kernel/kernel.h"
#include "common/node/attachment_record.h"
#include "common/node/device.h"
#include "common/node/host_use.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/inventory/changed.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// The port behind a function: the PF's for VFs and sub-functions, its own otherwise. It stays in the host
// when they go to a pod.
struct PhysicalPort {
  bool up = false;             // the netdev is administratively up; without that its carrier says nothing
  bool carrier = false;        // of the uplink's netdev
  std::vector<RdmaPort> rdma;  // of the PF's RDMA devices
  std::vector<std::string> failed_reporters;  // devlink health reporters in state "error": "fw_fatal"

  bool operator==(const PhysicalPort&) const = default;
};

struct Vdpa {
  std::string name;  // "vdpa2"
  Driver driver;     // virtio_vdpa, vhost_vdpa
  std::string node;  // "vhost-vdpa-0"; empty for virtio

  bool operator==(const Vdpa&) const = default;
};

enum class FunctionKind : uint8_t {
  network,       // PCI class 0x02, or any with an RDMA device
  accelerator,   // PCI class 0x12
  sub_function,  // an auxiliary device of a network function: "mlx5_core.sf.4"
};

// A device that a pod can get, with what a scan adds to the facts of the device itself. Of a sub-function
// ids, place and driver are its parent's.
struct DeviceFacts : Device {
  FunctionKind kind = FunctionKind::network;
  PciAddress address;  // a sub-function's is its parent's
  std::optional<uint32_t> sf_number;
  int vf_index = -1;
  // This is a virtual machine, and the function one that was passed through to it: a VF without a PF here, or
  // a cloud's adapter, which has none.
  bool passed_through = false;
  std::string pf_name;    // netdev of the PF (uplink in switchdev mode); empty for PFs, and if not visible
  std::string link_type;  // "ether", "infiniband"; of its netdev, else of its PF's, else empty
  bool rdma_capable = false;     // from facts that stay visible while the device sits in a pod
  std::string rdma_capable_why;  // which fact decided it
  std::optional<Vdpa> vdpa;
  std::string ddp_profile;
  std::string pkey;  // "0x8001"; first pkey of port 1 of the first RDMA device
  PhysicalPort port;
  // The GPUs' NVLink switches are managed through this function (NVIDIA's fabric manager and subnet manager
  // use it): it resembles an InfiniBand NIC and leads to no network.
  bool manages_nvlink = false;
  std::string nvlink_unknown;         // why that could not be found out; empty: it could
  std::vector<HostUseFact> host_use;  // why the host needs it for itself
  bool attached = false;              // vfrail-cni has a record of its attachment, so a pod has it
  // What a pod changed on it and vfrail-cni could not restore; empty: nothing.
  std::string unclean;
  // Of a VF: why it is not allocated before `vfrail provision` has done with its PF; empty: it is.
  std::string provisioning;

  // A function of the PCI bus that is not a VF, whether it has VFs or not.
  bool is_pf() const { return kind == FunctionKind::network && !pf.has_value(); }
  bool is_vf() const { return kind != FunctionKind::sub_function && pf.has_value(); }
  // Neither netdev nor RDMA device is in this network namespace although a driver of the kernel is bound: a
  // pod has it, or somebody else has moved it.
  bool away() const;
  // The netdev or the RDMA device, or both, is not in this network namespace: a selector sees less of the
  // device than it has, and a pod may have it.
  bool partly_away() const;
  bool operator==(const DeviceFacts&) const = default;
};

// A graphics card or accelerator that pods may use together with a function; vfrail never allocates it.
struct Gpu {
  PciAddress address;
  std::string vendor;
  std::optional<int> numa_node;
  std::vector<std::string> pcie_path;
};

// A bond of the host (drivers/net/bonding).
struct Lag {
  std::string name;                  // "bond0"
  std::string mode;                  // "802.3ad"
  std::vector<std::string> members;  // "eno1"
};

// A device that the node has and that could not be read.
struct UnreadDevice {
  std::string id;  // as Device::id
  std::string reason;
};

struct Inventory {
  std::vector<DeviceFacts> functions;  // sorted by address, sub-functions behind their parent
  std::vector<UnreadDevice> unread;    // not in `functions`; nothing is known of them
  std::vector<Gpu> gpus;               // PCI classes 0x0302, 0x0380 and 0x12, sorted by address
  std::vector<Lag> lags;               // sorted by name
  std::optional<RdmaNetnsMode> rdma_netns_mode;
  bool asked_devlink = false;  // if not, `failed_reporters` are not known
  std::string unclean_unread;  // why it is not known which devices are unclean; empty: it is
  bool rdma_cm = false;        // /dev/infiniband/rdma_cm exists
  bool vhost_net = false;      // /dev/vhost-net and /dev/net/tun exist
  std::vector<Warning> warnings;
};

// `host` is the kernel of the host's network namespace, queried for routes and addresses; without it they are
// read from proc/1/net below the root (IPv4: main table only), as for a captured tree or in a pod's
// namespace. One device that cannot be read hides no other; if none can be read, it is an error.
Result<Inventory> scan(const SysRoot& sys, Kernel* host);

// The inventory of now, from that of an earlier scan: reads what `changed` names, the PF of each VF among
// it, what depends on a PF that is no longer as it was, what could not be read before, and what the node has
// only once. The rest is taken over, the bonds too. A name that `last` does not have makes it a whole scan.
// `last` is as a scan returned it: nothing marked as unseen, attached, unclean or provisioning.
Result<Inventory> rescan(const SysRoot& sys, Kernel* host, Inventory last, const Changed& changed);

// Marks the functions that vfrail-cni has a record of. For reports: without it nothing shows that a missing
// device is in a pod.
void mark_attached(const AttachedDevices& attached, Inventory& inventory);

// The facts of one function of an earlier scan, read again; no value if it has vanished. Host use is not
// read.
Result<std::optional<DeviceFacts>> read_function(const SysRoot& sys, const DeviceFacts& known);

}  // namespace vfrail::plugin
