// What a pod with CAP_NET_ADMIN can attach to its interface that survives a move: macvlan, ipvlan, VLAN and
// other interfaces upon it, in whichever namespace, and BPF programs. Memberships (bond, bridge, team),
// qdiscs, filters and address lists end with a move (__dev_change_net_namespace()). Why it is done in this
// way: cni/INTERNALS.md, "Nothing of the old pod stays on the device".
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// Under the device's lock, with its interface back in the host. Removes all that the pod has stacked on it,
// within the world's search time; what cannot be removed otherwise is removed by binding the driver again.
// Returns a sentence for each thing that stays: then the device must not be attached again. `pod` may be
// null.
Result<std::vector<std::string>> clear_interface(const Record& record, Kernel* pod, World& world);

// After an ADD has moved the interface into `pod`, where no other pod can reach it any more: removes what
// others have put on it while it was free, by the kernel's list; what the host had there stays. Where the
// list is not known nothing is searched. Within the world's search time. Errc::busy if something stays; the
// roll-back, which is a DEL, then rebinds the driver, or records the device as unclean.
Result<> clear_of_others(const Record& record, const Link& link, Kernel& pod, World& world);

}  // namespace vfrail::cni
