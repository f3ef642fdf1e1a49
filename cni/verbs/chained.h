// What an entry of a plugin chain has to do that finds the interface of its attachment in the pod already,
// made by the entry before it: as rdma-cni behind sriov-cni, or behind vfrail itself under sriov-cni's name.
// Looks only.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/verbs/verbs.h"
#include "common/netlink/kernel.h"
#include "common/result.h"

#include <cstdint>

namespace vfrail {

enum class Chained : uint8_t {
  no,        // the interface is ours to bring
  complete,  // an entry of vfrail before this one has brought all that there is
  rdma,      // another plugin has brought the netdev: the RDMA devices are left, and the netdev is not ours
};

// With Chained::rdma the device in `conf` is the one that the pod's interface belongs to.
Result<Chained> read_chain(const Request& request, NetConf& conf, Kernel& pod, World& world);

// prevResult as it came.
AddResult pass_on(const NetConf& conf);

}  // namespace vfrail
