// What a pod with CAP_NET_ADMIN sets upon its interface and what outlives a move: macvlan, ipvlan, VLAN and
// other interfaces that stand on it, in whichever namespace they are, and BPF programs. Memberships (bond,
// bridge, team), qdiscs, filters and lists of addresses end with a move (__dev_change_net_namespace()).
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/netlink/kernel.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail {

// Under the device's lock, when its interface is in the host again: takes all of it off, whatever it costs;
// what cannot be taken off otherwise goes by binding the driver again. A sentence for each thing that stays:
// then the device must not be given to a pod. `pod` may be null.
Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world);

}  // namespace vfrail
