// FunctionReader: the facts of one function after the other, within one look at the node. Reads sysfs and
// devlink; decides nothing.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/inventory/devlink.h"
#include "plugin/inventory/function_folder.h"
#include "plugin/inventory/inventory.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// Of this machine; a captured tree has none.
Result<FailedReporters> read_failed_reporters(const SysRoot& sys);

class FunctionReader {
 public:
  // Both outlive this. What several functions share is read once, so a reader is good for one look only.
  static Result<FunctionReader> open(const SysRoot& sys, const FailedReporters& failed);

  // Nothing if it is neither a network function nor an accelerator, or gone.
  Result<std::optional<PciFunction>> read(const PciAddress& address);
  // Nothing if the auxiliary device of that name is no sub-function, or gone.
  Result<std::optional<PciFunction>> read_sub_function(const std::string& name);

 private:
  // What the VFs of a PF need to know of it: a PF can have 255 of them.
  struct PfFacts {
    std::string name;
    std::string link_type;
    PhysicalPort port;
    std::map<std::string, int> vf_indexes;  // by the VF's address
  };

  FunctionReader(const SysRoot& sys, const FailedReporters& failed, std::map<PciAddress, Vdpa> vdpa,
                 std::optional<Devlink> devlink);
  Result<const PfFacts*> pf_facts(const PciAddress& pf);
  PhysicalPort physical_port(const PciAddress& pf, const std::string& uplink,
                             const std::vector<Netdev>& netdevs, const std::vector<RdmaFacts>& rdma) const;
  Result<> read_network_facts(const FunctionFolder& folder, PciFunction& out);
  Result<> take_from_pf(PciFunction& out);
  Result<> read_nvlink_management(const FunctionFolder& folder, PciFunction& out) const;
  Result<> read_userspace_facts(const FunctionFolder& folder, PciFunction& out) const;
  Result<> decide_rdma_capable(PciFunction& out);
  Result<std::string> ddp_profile(const PciFunction& function);

  const SysRoot& sys_;
  std::map<PciAddress, Vdpa> vdpa_;
  std::optional<Devlink> devlink_;
  const FailedReporters& failed_reporters_;
  std::map<PciAddress, PfFacts> pfs_;
};

}  // namespace vfrail
