// The netdev into the pod, and its inverse.
//   move_link       moves, renames and sets it up in the pod
//   restore_link    brings it to the host, as it was there
// The inverse depends on what it finds alone: it can run whether its step ran, half ran, or did not run.
#pragma once

#include "cni/node/find_link.h"
#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>

namespace vfrail::cni {

// Moves, renames, sets MAC, MTU, queue length and flags and sets up, in one request. Returns the link as it
// is in the pod. `from` is the pod itself if the kernel has made the interface there (IPoIB).
Result<Link> move_link(Kernel& from, Kernel& pod, const AttachPlan& plan, const Record& record);
// Waits for the IPoIB interface that the move of its RDMA device creates again in the place of `before`, in
// the host or in the pod; and moves one that is in the pod to the host, where the pod's network is to tune
// it.
Result<NewIpoib> wait_for_new_ipoib(const Record& record, const LinkBefore& before, Kernel& pod,
                                    World& world);
Result<NewIpoib> bring_ipoib_to_host(const Record& record, const NewIpoib& now, const LinkBefore& before,
                                     Kernel& pod, World& world);
// Waits in the pod for the address that the PF has set, which some netdevs get a moment later, by a message
// of the driver. Returns the link as it is then.
Result<Link> wait_for_mac(const AttachPlan& plan, Link link, Kernel& pod, World& world);

// Restores the netdev in the host as recorded: name, MAC, MTU, queue length, alias, altnames, promisc,
// allmulti, up or down. `pod` is null when its namespace is gone; then the kernel returns hardware, which is
// waited for. A netdev that no longer exists (a veth with its namespace, an unbound driver) needs no restore.
Result<> restore_link(const Record& record, Kernel* pod, World& world);

// The record's netdev in the host, after waiting for its return; nothing of it is restored yet. What the pod
// has moved to another namespace is moved to the host. No value if the netdev no longer exists; Errc::busy if
// it does not return.
Result<std::optional<Link>> wait_for_return(const Record& record, World& world);

}  // namespace vfrail::cni
