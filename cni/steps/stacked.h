// What a pod with CAP_NET_ADMIN can attach to its interface that survives a move: macvlan, ipvlan, VLAN and
// other interfaces on top of it, in whichever namespace, and BPF programs. Memberships (bond, bridge, team),
// qdiscs, filters and address lists end with a move (__dev_change_net_namespace()).
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// Under the device's lock, with its interface back in the host. Removes all that the pod has stacked on it;
// what cannot be removed otherwise is removed by binding the driver again. Returns a sentence for each thing
// that stays: then the device must not be attached again. `pod` may be null.
Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world);

// Binds the driver of the record's device if clear_interface() had begun to bind it again, and a kill or a
// failure left the device without one: nothing of the device can be found until then.
Result<> restore_driver(const Record& record, World& world);

}  // namespace vfrail::cni
