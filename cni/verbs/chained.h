// What an entry of a plugin chain has to do when the entry before it has already moved the interface of its
// attachment into the pod: as rdma-cni behind sriov-cni, or behind vfrail itself under sriov-cni's name.
// Reads only.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/node/world.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <cstdint>

namespace vfrail::cni {

enum class Chained : uint8_t {
  no,        // this entry moves the interface
  complete,  // an entry of vfrail before this one has moved everything
  rdma,      // another plugin has moved the netdev and owns it; the RDMA devices are left to do
};

// With Chained::rdma the device in `conf` is the one that the pod's interface belongs to.
Result<Chained> read_chain(const Request& request, NetConf& conf, Kernel& pod, World& world);

// The result of an entry that adds nothing: prevResult as it came.
AddResult pass_on(const EntryConf& entry);

}  // namespace vfrail::cni
