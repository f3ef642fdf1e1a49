// allocate: carries out one Allocate request: checks every device of every container, reads their facts anew,
// works out what each container gets, and only then writes CDI specs, device-info files and promises. Knows
// no gRPC.
#pragma once

#include "common/node/sys_root.h"
#include "plugin/allocate/allocation.h"
#include "plugin/match/pools.h"

#include <string>
#include <vector>

namespace vfrail {

struct AllocatePlaces {
  SysRoot sys;                  // the node
  std::string device_info_dir;  // read by Multus: "/var/run/k8s.cni.cncf.io/devinfo/dp"
  std::string run_dir;          // promises to vfrail-cni: "/run/vfrail"
  std::string cdi_dir{};        // read by the container runtime; empty: device nodes are told to kubelet
};

// One Allocation for each container, in order. An error has changed nothing: Errc::invalid for an empty list
// or an id that is asked for twice, Errc::not_found for one that is not in the pool or has vanished from the
// node. Two requests at the same time are fine: kubelet never has the same device in both.
Result<std::vector<Allocation>> allocate(const Pool& pool,
                                         const std::vector<std::vector<std::string>>& containers,
                                         const AllocatePlaces& places);

}  // namespace vfrail
