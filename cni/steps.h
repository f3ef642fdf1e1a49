// The steps of an attachment, each beside its inverse. An inverse goes by what it finds, so it can run
// whether its step ran, half ran, or did not run at all.
#pragma once

#include "cni/plan.h"
#include "cni/record.h"
#include "cni/result.h"
#include "cni/verbs.h"
#include "common/kernel.h"
#include "common/result.h"

#include <optional>

namespace vfrail {

// Moves, renames, sets MAC and MTU and brings up, in one request. The link as the pod has it now.
Result<Link> move_link(Kernel& host, Kernel& pod, const AttachPlan& plan, const Record& record);
// Makes the netdev in the host what the record says it was: name, MAC, MTU, queue length, alias, altnames,
// up or down. `pod` is null when its namespace is gone; then the kernel sends hardware home, which is waited
// for. A netdev that has ended (a veth with its namespace, an unbound driver) is nothing to bring back.
Result<> bring_link_back(const Record& record, Kernel* pod, World& world);

// The record's netdev in the host; nothing while it is elsewhere, or if it has none.
Result<std::optional<Link>> find_link_at_home(const Record& record, const World& world);
// The same, once it has come back. Nothing if it has ended; Errc::busy if it does not come.
Result<std::optional<Link>> wait_for_return(const Record& record, World& world);

// Changes the settings of the VF at its PF, in one request. The error names the settings that the driver
// refused.
Result<> change_vf(Kernel& host, const VfPlan& plan);
// Sets them back in two parts, with bring_link_back() between: drivers let a VF take its own address again
// only when the PF's is back, and nothing of the pod must leave without its VLAN. What the driver refuses for
// good is logged; a PF that is gone has taken its VFs along.
Result<> restore_vf_identity(const Record& record, World& world);
Result<> restore_vf_policy(const Record& record, World& world);

// Under the node-wide RDMA lock, with the device nodes compared (design: a move renumbers them).
Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world);
Result<> bring_rdma_back(const Record& record, Kernel* pod, World& world);

// Addresses, routes and IPv6 settings of the link in the pod. Undone by moving the link: the kernel drops
// them.
Result<> configure_addresses(Kernel& pod, const Link& link, const Assignment& assignment);

// The record's netdev in the pod, by what it is and not by what it is called.
Result<std::optional<Link>> find_link_in_pod(const Record& record, Kernel& pod);

}  // namespace vfrail
