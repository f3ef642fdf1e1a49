// PfFacts: what a PF is now, and whether each of its VFs may be touched: what provision_plan() decides from.
// Values; node.h reads them.
#pragma once

#include "common/ids.h"
#include "common/kernel/kernel.h"
#include "common/kernel/vf_settings.h"
#include "common/node/driver.h"
#include "common/node/host_use.h"
#include "plugin/device/config/vfs.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::plugin {

struct VfFacts {
  PciAddress address;
  Driver driver;
  // Why it must stay as it is: "is in pod demo/trainer-0". Empty: it is free.
  std::string in_use;
  bool in_pod = false;  // that is why; it ends by itself
  // As the PF's driver reports them. No value: it cannot be asked, as in a captured tree.
  std::optional<VfSettings> settings;
};

// What GUIDs and MAC addresses of VFs are derived from: it stays the same over reboots.
struct PfIdentity {
  MacAddress mac;     // of the hardware, six bytes; empty: none
  uint64_t guid = 0;  // of the port; 0: none
};

struct PfFacts {
  PciAddress address;
  std::string vendor;     // "15b3"
  std::string driver;     // "mlx5_core"; empty: none
  std::string name;       // its interface; empty: none is visible
  std::string serial;     // empty: not read, or it has none
  std::string link_type;  // "ether", "infiniband"; empty: not known
  PfIdentity identity;
  std::optional<uint32_t> mtu;        // of its interface
  bool up = true;                     // its interface, administratively
  std::optional<uint32_t> total_vfs;  // no value: the function has no SR-IOV
  uint32_t num_vfs = 0;
  bool autoprobe = true;
  // An earlier run was killed: what autoprobe was before it.
  std::optional<bool> autoprobe_before;
  std::optional<EswitchMode> eswitch;  // no value: the driver has none, or devlink cannot be asked
  std::vector<VfFacts> vfs;            // by index
  std::vector<HostUseFact> host_use;
  std::string manager;  // another program's that makes the VFs: "sriov-network-operator"; empty: none
  std::vector<std::string> failed_reporters;  // of devlink, in state "error"
  std::vector<uint64_t> file_guids;           // of its VFs, in sriov-network-operator's file
};

struct ProvisionFacts {
  std::vector<PfFacts> pfs;  // sorted by address
  // Functions that could not be read, and why: "0000:21:00.0 cannot be read: ...".
  std::vector<std::pair<PciAddress, std::string>> unread;
  std::optional<RdmaNetnsMode> rdma_netns;
  // Why it is not known which pods have VFs; empty: it is.
  std::string pods_unknown;
};

}  // namespace vfrail::plugin
