// FunctionReader: makes devices into functions that a pod can get, one after the other, within one scan: adds
// facts of their PFs, vDPA and devlink. Decides nothing.
#pragma once

#include "common/node/device.h"
#include "common/node/sys_root.h"
#include "plugin/device/inventory/devlink.h"
#include "plugin/device/inventory/inventory.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Of this machine; a captured tree has none.
Result<std::optional<FailedReporters>> read_failed_reporters(const SysRoot& sys);

// Whether the PCI function, whose ids are read, is one of a network: by its class, or whatever its class is
// because it has RDMA.
Result<bool> is_network_function(const SysRoot& sys, const Device& device);

class FunctionReader {
 public:
  // Both outlive this. What several functions share is read once, so a reader is good for one scan only.
  static Result<FunctionReader> open(const SysRoot& sys, const FailedReporters& failed);

  // The number that a VF had at an earlier scan: if it still has it, those of the PF's other VFs are not
  // read.
  void expect_index(const DeviceId& vf, int index) { expected_.emplace(vf, index); }

  // `device` has its ids. No value if it is neither a network function nor an accelerator, or gone.
  Result<std::optional<DeviceFacts>> read(Device device);
  // No value if the auxiliary device of that name is not a sub-function, or gone.
  Result<std::optional<DeviceFacts>> read_sub_function(const DeviceId& id);

 private:
  // The facts of a PF that its VFs need: a PF can have 255 of them.
  struct PfFacts {
    std::string name;
    std::string link_type;
    PhysicalPort port;
  };

  FunctionReader(const SysRoot& sys, const FailedReporters& failed, std::map<PciAddress, Vdpa> vdpa,
                 std::optional<Devlink> devlink);
  Result<const PfFacts*> pf_facts(const PciAddress& pf);
  Result<PfFacts> facts_of_port(const PciAddress& address, const Device& device) const;
  Result<int> index_of_vf(const PciAddress& pf, const DeviceId& vf);
  Result<> add_network_facts(DeviceFacts& out);
  Result<> add_pf_facts(DeviceFacts& out);
  Result<> add_firmware_facts(DeviceFacts& out) const;
  Result<> decide_rdma_capable(DeviceFacts& out);
  Result<std::string> ddp_profile(const DeviceFacts& function);

  const SysRoot& sys_;
  std::map<PciAddress, Vdpa> vdpa_;
  std::optional<Devlink> devlink_;
  const FailedReporters& failed_reporters_;
  std::map<PciAddress, PfFacts> pfs_;
  std::map<PciAddress, std::vector<std::string>> vfs_;  // by their PF
  std::map<DeviceId, int> expected_;
};

}  // namespace vfrail::plugin
