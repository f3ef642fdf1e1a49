// The steps of an attachment, each beside its inverse. An inverse depends only on what it finds, so it can
// run whether its step ran, half ran, or did not run at all.
#pragma once

#include "cni/conf/result.h"
#include "cni/node/world.h"
#include "cni/plan/plan.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/node/gid_table.h"
#include "common/result.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// Moves, renames, sets MAC, MTU, queue length and flags and sets up, in one request. Returns the link as it
// is in the pod.
Result<Link> move_link(Kernel& host, Kernel& pod, const AttachPlan& plan, const Record& record);
// Restores the netdev in the host as recorded: name, MAC, MTU, queue length, alias, altnames, promisc,
// allmulti, up or down. `pod` is null when its namespace is gone; then the kernel returns hardware, which is
// waited for. A netdev that no longer exists (a veth with its namespace, an unbound driver) needs no restore.
Result<> bring_link_back(const Record& record, Kernel* pod, World& world);

// The record's netdev in the host; no value while it is in another namespace, or if it has none.
Result<std::optional<Link>> find_link_in_host(const Record& record, const World& world);
// Whether the device still has a netdev, or its RDMA device, somewhere: not once its driver is unbound, or
// one for user space is bound, nor if it ended with its namespace.
Result<bool> exists_somewhere(const Record& record, const World& world);
// For a netdev that is not in the host: Errc::busy if it still exists, or its driver is about to make it
// again. Then there is still something to restore.
Result<> must_have_ended(const Record& record, const World& world);
// The record's netdev in the host, after waiting for its return. No value if it no longer exists; Errc::busy
// if it does not return.
Result<std::optional<Link>> wait_for_return(const Record& record, World& world);

// Waits until `ready`, for what the kernel returns from an ended namespace. World::return_timeout starts
// again whenever links of the host change, up to 30 s: the kernel ends namespaces one after the other.
// Errc::timeout after that.
Result<> wait_for_host_link(World& world, const std::function<Result<bool>()>& ready);
// Within it the kernel mostly returns what was in an ended namespace. What is still away then is searched for
// in hidden namespaces (cni/node/hidden_namespaces.h).
inline constexpr std::chrono::milliseconds kUsualReturn{1000};

// Sets queues, rings, coalescing, features and packet steering of the netdev, in the host, before it moves:
// drivers make their rings anew, for which the interface is best down. Undone by return_to_baseline(). The
// error names the key, and what the driver answered.
Result<> tune_device(const LinkBefore& link, const Tuning& tuning, World& world);
// The CPUs of its interrupts, saved in the record before. Where the device is does not matter, but many
// drivers request interrupts when the interface comes up, and give them back when it goes down.
Result<> steer_irqs(const std::string& cpus, Record& record, World& world);
// Errors are logged: the next pod is not harmed by the CPUs of an interrupt.
void restore_irqs(const Record& record, World& world);

// Changes the settings of the VF at its PF, in one request. The error names the settings that the driver
// refused.
Result<> change_vf(Kernel& host, const VfPlan& plan);
// Restores them in two parts, with bring_link_back() between: drivers let a VF take its own address again
// only when the PF's is restored, and nothing of the pod must leave without its VLAN. A PF that is gone has
// removed its VFs; Errc::busy if it has no interface at the moment. The result is what the driver refuses to
// restore, permanently, and what is different then: with it the device is unclean.
Result<VfSettings> restore_vf_identity(const Record& record, World& world);
Result<VfSettings> restore_vf_policy(const Record& record, World& world);

// Moves and, if requested, renames. Under the node-wide RDMA lock, with the device nodes compared (design: a
// move renumbers them).
Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world);
// Corrects the device's nodes in its CDI spec, if its container gets them that way. Has no inverse: a runtime
// creates no container from the spec before the next ADD has corrected it, or Allocate has written it again.
Result<> correct_cdi_spec(const Record& record, const AttachPlan& plan, World& world);
// To the host, from whichever namespace, and under their old names, unless these are in use by now.
Result<> bring_rdma_back(const Record& record, Kernel* pod, World& world);
// An RDMA device of the record in the pod: by its index, or in an older version's record by its name or its
// function.
Result<std::optional<RdmaDevice>> find_rdma_in_pod(const Record& record, const MovedRdma& moved, Kernel& pod,
                                                   const World& world);

// Sysctls, addresses and routes of the link in the pod. IPv4 addresses come first, in the order of IPAM
// within each family, because GIDs are in the order of the addresses. Undone by moving the link: the kernel
// drops them. (Sysctls that are not the link's end with the pod's namespace.)
Result<> configure_pod(Kernel& pod, const Link& link, const Assignment& assignment,
                       const PodSettings& settings, std::optional<uint32_t> own_table);

// Where the RoCE v2 GID of first_for_gid() is, once the kernel has made it, or at the end of the time.
// Nothing is waited for where there can be none: no RDMA device, no address, or no table that could be read.
Result<GidSearch> wait_for_gid(const Record& record, const InPod& in_pod, std::chrono::milliseconds at_most,
                               Kernel& pod, const World& world);

// Announces the link's IPv4 addresses to the neighbours. Errors are logged.
void announce(Kernel& pod, const Link& link, const Assignment& assignment, Log& log);

// Writes the files of a pod (cni/plan/pod_files.h) from the records of all its attachments, then gives them
// to the containers with one of its devices, by their CDI specs. The files come first: a mount without a
// source stops a container. Under a lock of the pod.
Result<> write_pod_files(const std::string& container_id, World& world);
// The inverse for one attachment, whose record is still there: its device's containers get the default again,
// and the files no longer have it. With the pod's last attachment the folder goes. The result is the lock of
// the pod, to be held until the record is removed: a DEL of the pod's other network would write the files
// with this attachment again, and leave them.
Result<FileLock> leave_pod_files(const Record& leaving, World& world);
// Folders of pods that have no record any more, and the removal of one. False: it has one again.
Result<std::vector<std::string>> abandoned_pod_folders(const World& world);
Result<bool> remove_abandoned_pod_folder(const std::string& container_id, World& world);

// The tables that have a rule or a route in the pod.
Result<std::vector<uint32_t>> tables_in_use(Kernel& pod);
// The inverse of configure_pod() for source routing, beside what is removed with the link.
Result<> remove_rules(const Record& record, Kernel& pod);

// How the pod differs from the settings, a sentence each.
Result<std::vector<std::string>> pod_differences(const PodSettings& wanted, const Link& link, Kernel& pod);
// The same of source routing, for an attachment with a table of its own.
Result<std::vector<std::string>> routing_differences(const Assignment& wanted, uint32_t own_table,
                                                     const Link& link, Kernel& pod);

// The record's netdev in the pod, by its properties and not by its name.
Result<std::optional<Link>> find_link_in_pod(const Record& record, Kernel& pod);

}  // namespace vfrail::cni
