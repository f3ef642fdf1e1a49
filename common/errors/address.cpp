// Errors of vfrail-cni, from the address on.
#include "common/errors/error_id.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr ErrorRow kAddressErrors[] = {
    {ErrorId::ipam_not_found, "VF-IPAM-NOT-FOUND", "The IPAM plugin is not in the folders of CNI plugins.",
     "Its executable is not installed on this node, or ipam.type is misspelt.",
     "Install it into /opt/cni/bin: whereabouts by its DaemonSet, host-local with the standard CNI plugins."},
    {ErrorId::ipam_is_vfrail, "VF-IPAM-IS-VFRAIL",
     "ipam.type leads back to vfrail, which assigns no addresses.",
     "ipam.type is vfrail, or names a plugin that delegates to vfrail.",
     "Name an IPAM plugin: whereabouts, host-local, static."},
    {ErrorId::ipam_failed, "VF-IPAM-FAILED",
     "The IPAM plugin failed; message and CNI code are those of the plugin. The device is "
     "restored.",
     "The range has no free address, or the plugin cannot reach its API server or store.",
     "See its message. Enlarge the range, or release addresses of ended pods: `/opt/cni/bin/vfrail sweep`. "
     "For whereabouts, check its kubeconfig and service account."},
    {ErrorId::ipam_timeout, "VF-IPAM-TIMEOUT",
     "The IPAM plugin did not answer in time and was ended. CNI code 11.",
     "Many pods start at once, or its API server is slow.",
     "Kubelet tries again. If it stays so, see the plugin's own log."},
    {ErrorId::ipam_answer, "VF-IPAM-ANSWER",
     "The answer of the IPAM plugin is not a CNI result with an address.",
     "The plugin is not an IPAM plugin, or prints more than its result on stdout.",
     "Check ipam.type, and the plugin's version."},
    {ErrorId::address_in_use, "VF-ADDRESS-IN-USE",
     "Another host of the network already has the address (duplicate address detection).",
     "Two IPAM ranges overlap, or the address was given to a host by hand.",
     "Exclude the address from the range, or find the host that uses it: `ip neigh`."},
    {ErrorId::no_ipv6, "VF-NO-IPV6", "An IPv6 address was assigned, and the kernel has no IPv6.",
     "The node was started with ipv6.disable=1.",
     "Take the IPv6 range out of the ipam section, or start the node with IPv6."},
    {ErrorId::sysctl_not_allowed, "VF-SYSCTL-NOT-ALLOWED",
     "A sysctl of the network is not allowed on this node.",
     "The node has an allow list (/etc/cni/tuning/allowlist.conf), and no line of it matches.",
     "Add a line to the list, or take the sysctl out of the network."},
    {ErrorId::sysctl_unknown, "VF-SYSCTL-UNKNOWN", "The pod has no sysctl of that name.",
     "It is misspelt, not of the network namespace, or of a module that is not loaded.",
     "Compare it with `sysctl -a -r ^net` in a pod."},
    {ErrorId::routing_table_taken, "VF-ROUTING-TABLE-TAKEN",
     "sourceRouting has no routing table: the one that is named has routes already, or all are in use.",
     "Another network of the pod names the same table.",
     "Set \"sourceRouting\": true, which takes a free table, or name another one."},
    {ErrorId::gid_missing, "VF-GID-MISSING",
     "The RDMA device has no RoCE v2 GID of the pod's address yet. The pod has been attached.",
     "The kernel makes GIDs a moment after the addresses, on a busy node more than two seconds. Or the RDMA "
     "device is not that of the interface, and never gets one.",
     "`show_gids` in the pod, or /sys/class/infiniband/DEVICE/ports/1/gids, shows whether it has come "
     "since. If not, rebind the driver of the VF."},
    {ErrorId::gid_index_moved, "VF-GID-INDEX-MOVED",
     "The RoCE v2 GID of the pod's address has another index than on the other rails. The pod is attached.",
     "Another entry was in the GID table before it: a link-local address that is not made of the MAC, an "
     "address of a VLAN or macvlan on the interface, or a GID that a queue pair still uses.",
     "NCCL from 2.21 on finds the GID by itself: take NCCL_IB_GID_INDEX out of the pod. Or remove the "
     "entry, which the message names, and delete the pod."},
    {ErrorId::pod_files, "VF-POD-FILES",
     "The files of a pod below /run/vfrail/pods could not be written, or not removed. The attachment is not "
     "affected.",
     "/run is full or read-only, somebody else has a file there, or the CDI spec of the device is gone.",
     "Make room below /run. Delete the pod if its programs need the files; `/opt/cni/bin/vfrail sweep` "
     "removes what stays."},
    {ErrorId::unit_unknown, "VF-UNIT-UNKNOWN",
     "A pod with a bundle (`deviceID: bundle-3`) is not attached: its devices are not known.",
     "The device plugin writes them to /run/vfrail/promised when kubelet allocates the bundle. The node has "
     "been booted since, another program's device plugin has allocated the unit, or two resources have a "
     "unit of that name.",
     "Delete the pod, so that it is allocated again. If the message names two resources, name one of them "
     "in the network: `\"rails\": {\"resource\": \"rdma/hca\"}`."},
    {ErrorId::prev_result_missing, "VF-PREVRESULT-MISSING",
     "CHECK needs prevResult, and the runtime did not pass it.",
     "The runtime has lost its cache, or CHECK was called by hand.",
     "Delete the pod if the runtime reports it again and again."},
    {ErrorId::not_attached, "VF-NOT-ATTACHED", "There is no record of the attachment that CHECK is about.",
     "DEL has been called for it, or the state folder was removed.",
     "Delete the pod, so that it is attached again."},
    {ErrorId::check_mismatch, "VF-CHECK-MISMATCH",
     "CHECK found that the attachment is not what ADD made, and lists the differences.",
     "Something in the pod or on the node changed the interface, its addresses, its routes or the VF.",
     "Find out who changed it, or delete the pod."},
    {ErrorId::device_lost, "VF-DEVICE-LOST", "STATUS: a running pod has lost its device, or a part of it.",
     "The PF or the VF was removed, the VFs were created again, or the driver was unbound while the pod ran.",
     "Delete the pod, so that it gets another device. Change VFs only on drained nodes."},
    {ErrorId::device_not_returned, "VF-DEVICE-NOT-RETURNED",
     "The device has not returned from the namespace of its pod. CNI code 11.",
     "A process of the pod still runs and keeps the namespace, or the kernel has not ended it yet.",
     "DEL is tried again, and continues where it stopped. `lsns -t net` on the node shows the process; end "
     "it."},
    {ErrorId::uppers_unknown, "VF-UPPERS-UNKNOWN",
     "A warning: the kernel does not list what pods have stacked on a device: DEL searches for it, and ADD "
     "does not find what other pods have put there.",
     "The kernel does not describe its types (CONFIG_DEBUG_INFO_BTF), is older than Linux 5.9 or locked "
     "down, or vfrail-cni has no CAP_BPF and CAP_PERFMON.",
     "Nothing, where pods have no NET_ADMIN. Elsewhere set \"podNetAdmin\": true in the network: DEL then "
     "searches everywhere, and rebinds the driver where that is not enough."},
    {ErrorId::pod_changes_undone, "VF-POD-CHANGES-UNDONE",
     "A warning: a pod had changed a device, and this was undone when the device was released (cmd=DEL) or "
     "attached to the next pod (cmd=ADD).",
     "A pod with NET_ADMIN has moved the interface to another network namespace, stacked interfaces on it, "
     "or attached programs to it. With cmd=ADD, another pod had put interfaces on the device while it was "
     "free: with NET_ADMIN, or by a macvlan, ipvlan or VLAN network that has this device as its master.",
     "Nothing. To prevent it, take NET_ADMIN away from the pods, and use no device of an exclusive resource "
     "as the master of a network."},
    {ErrorId::host_name_taken, "VF-HOST-NAME-TAKEN",
     "A warning: a device returned to the host, where another interface or RDMA device already uses its name "
     "or an alternative name of it.",
     "While the pod had the device, the other got that name, mostly by a rule of udev.",
     "Rename the other one. The next ADD of this device, or `vfrail-cni sweep`, then gives it its name "
     "back; alternative names do not come back by themselves: `ip link property add dev NAME altname "
     "OLD-NAME`."},
    {ErrorId::host_config_lost, "VF-HOST-CONFIG-LOST",
     "A warning: an address or a route of the host on the device is not restored, or cannot be.",
     "The kernel drops both when the device moves into a pod, and refused to set one again: its gateway "
     "cannot be reached, or another route to the same destination is there. Or vfrail does not restore its "
     "kind: a route over several interfaces, by a next hop object, or with an encapsulation.",
     "Set it by hand with `ip address` or `ip route`, by the text of the warning. Better, keep the host's "
     "addresses off devices that pods get."},
    {ErrorId::orphaned_attachment, "VF-ORPHANED-ATTACHMENT",
     "A device has an attachment, and kubelet has given it to no pod.",
     "The pod has ended and DEL was never called, or it failed: the node lost power, or Multus lost its "
     "state.",
     "The next pod that gets the device releases it. To release all now, on the node: `/opt/cni/bin/vfrail "
     "sweep`, with --dry-run first."},
    {ErrorId::attachments_left, "VF-ATTACHMENTS-LEFT",
     "`vfrail-cni uninstall` refuses, because pods have devices.",
     "Without vfrail-cni nothing could release their devices. Of prepared claims, kubelet ends the pods "
     "only when the DRA driver has unprepared them.",
     "Delete the pods that have devices. If there are none any more: `/opt/cni/bin/vfrail sweep` on the "
     "node, and try again. With claims, start `vfrail serve` first (chart: uninstall=false), which also "
     "removes what is recorded of claims that are gone."},
};
static_assert(kAddressErrors[0].id == ErrorId::ipam_not_found &&
              std::size(kAddressErrors) ==
                  static_cast<size_t>(ErrorId::option_invalid) - static_cast<size_t>(kAddressErrors[0].id));

}  // namespace

std::span<const ErrorRow> address_errors() { return kAddressErrors; }

}  // namespace vfrail
