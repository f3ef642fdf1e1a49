// Errors that both programs meet, and the ones for what has no name of its own.
#include "common/errors/error_id.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr ErrorRow kGeneralErrors[] = {
    {ErrorId::invalid_input, "VF-INVALID-INPUT", "A value is refused.",
     "The reader of a configuration, an argument or a file does not take it.",
     "Correct the value that the message names, which also says what is allowed. `vfrail check-config FILE` "
     "checks configurations and networks before they are used."},
    {ErrorId::not_found, "VF-NOT-FOUND", "Something that is named is not there.",
     "A file, an interface or a device has another name, is in another place, or has been removed meanwhile.",
     "Compare the name in the message with what the node has: `vfrail inspect`, `ip link`, `lspci -D`."},
    {ErrorId::already_there, "VF-ALREADY-THERE", "Something cannot be made, because there is one already.",
     "The name is in use, or an earlier try has left it.",
     "Remove what the message names, or choose another name."},
    {ErrorId::netns_gone, "VF-NETNS-GONE",
     "The path of the pod's network namespace does not lead to a network namespace.",
     "The pod has ended meanwhile, the runtime passed a wrong path, or the node was started again.",
     "Usually nothing: kubelet makes a new sandbox. If it stays so, compare CNI_NETNS in the runtime's log "
     "with `ls /run/netns`."},
    {ErrorId::busy, "VF-BUSY", "Something is in use at the moment. CNI code 11: try again later.",
     "Another process works on the same object, or the kernel has not finished.",
     "Kubelet tries again. If it stays so, the message names what is in use."},
    {ErrorId::permission_denied, "VF-PERMISSION-DENIED", "The kernel or a check of vfrail refuses access.",
     "The process lacks a capability, or a file belongs to another user or is in a place where vfrail does "
     "not write.",
     "Run vfrail-cni as root, as container runtimes do. For the DaemonSet, compare its securityContext and "
     "mounts with manifests/daemonset.yaml."},
    {ErrorId::not_supported, "VF-NOT-SUPPORTED",
     "The kernel, the driver or this version of vfrail cannot do it.",
     "The kernel is older than the feature, a module is not loaded, or the driver does not have it.",
     "Compare the kernel with manifests/COMPATIBILITY.md, or remove the setting that the message names."},
    {ErrorId::timed_out, "VF-TIMEOUT", "Something did not happen in time.",
     "The node is overloaded, or what is waited for hangs.",
     "Kubelet tries again. If it stays so, see the node's load and the kernel's log: `dmesg`."},
    {ErrorId::malformed, "VF-MALFORMED", "An answer or a file is not in its form.",
     "The file was damaged or is of something else, or the kernel is newer or older than expected.",
     "Remove the file that the message names if it is not needed. An answer of the kernel: report it, with "
     "the kernel's version."},
    {ErrorId::refused_by_peer, "VF-REFUSED-BY-PEER", "Another program refused; the message is its own.",
     "Kubelet or a CNI plugin could not do what it was asked for.",
     "See the log of the program that the message names."},
    {ErrorId::system_call, "VF-SYSTEM-CALL", "A system call failed. The message has the kernel's error.",
     "The message says what was being done and to what.",
     "Look up the error name (`man 3 errno`), and see the kernel's log: `dmesg`. Report what looks like a "
     "fault of vfrail."},
    {ErrorId::config_syntax, "VF-CONFIG-SYNTAX", "The configuration cannot be parsed.",
     "It is not valid JSON or YAML. The message names the line or the byte.",
     "Correct it there. `vfrail check-config FILE` reads configurations, ConfigMaps and "
     "NetworkAttachmentDefinitions."},
    {ErrorId::lock_held, "VF-LOCK-HELD",
     "A lock is held for too long. The message names the process and what it does.",
     "Another ADD or DEL of the same pod or device is at work, mostly waiting for an IPAM plugin or the "
     "kernel.",
     "Kubelet tries again. If the process hangs, find out why (`cat /proc/PID/stack`) before you end it."},
    {ErrorId::state_folder, "VF-STATE-FOLDER",
     "The state folder (/var/lib/cni/vfrail) or the folder of locks (/run/vfrail) cannot be used.",
     "Its file system is read-only or full, it belongs to another user, or a file or link has its name.",
     "Make the file system writable and make room: `df -h /var/lib/cni`, `df -i /var/lib/cni`. Remove what "
     "has the folder's name."},
    {ErrorId::record_damaged, "VF-RECORD-DAMAGED",
     "The record of an attachment cannot be read. It is quarantined as NAME.corrupt.",
     "The node lost power while it was written, or somebody edited it.",
     "Nothing: the device is released when the pod's namespace ends. Delete the .corrupt file when you have "
     "seen it."},
    {ErrorId::cdi_spec, "VF-CDI-SPEC", "A CDI spec cannot be read or written, or is not one of vfrail.",
     "The folder is not writable or is not mounted, or the file was changed by somebody else.",
     "Mount /var/run/cdi into the DaemonSet as manifests/daemonset.yaml does. If the runtime uses another "
     "folder (cdi_spec_dirs), mount that and set --cdi-dir."},
    {ErrorId::rdma_not_loaded, "VF-RDMA-NOT-LOADED", "The kernel has no RDMA subsystem.",
     "The module ib_core is not loaded, or the kernel was built without it.",
     "Load the RDMA driver of the card on the node: `modprobe mlx5_ib`, `modprobe irdma`, `modprobe "
     "bnxt_re`."},
    {ErrorId::device_not_on_node, "VF-DEVICE-NOT-ON-NODE",
     "The device that the network names is not on this node.",
     "The VF was destroyed, the card was removed, or the network names the device of another node.",
     "Compare the name with `lspci -D` on the node. Leave deviceID out of networks that have a device "
     "plugin: Multus adds it."},
    {ErrorId::device_not_in_host, "VF-DEVICE-NOT-IN-HOST",
     "The device's interface or RDMA device is not in the host. CNI code 11; at Allocate, the pod is "
     "rejected.",
     "It has not returned from the last pod, somebody else moved it, or its driver is just starting. A pod "
     "that is deleted by force counts as gone at once: Allocate waits up to 10 s for its devices, and after "
     "a wait in vain not again for a minute.",
     "Kubelet tries again, which usually helps. If not, on the node: `/opt/cni/bin/vfrail sweep` brings "
     "back what has a record, and says what it keeps. End the process that keeps the old namespace (`lsns "
     "-t net`); one without a process and of no running pod ends with `ip netns delete NAME`. Or rebind the "
     "driver of the VF."},
    {ErrorId::no_driver, "VF-NO-DRIVER",
     "No driver is bound to the device, so it has neither an interface nor an RDMA device.",
     "The driver is not loaded, or sriov_drivers_autoprobe of the PF is 0.",
     "Load the driver. If sriov_drivers_autoprobe of the PF is 0: `echo 1 | "
     "tee /sys/bus/pci/devices/PF/sriov_drivers_autoprobe`. Then `echo ADDRESS | "
     "tee /sys/bus/pci/drivers_probe`. For DPDK bind it to vfio-pci and select that driver."},
    {ErrorId::host_uses_device, "VF-HOST-USES-DEVICE",
     "The device is given to no pod, because the host uses it.",
     "A default route goes over it, it is in a bond or a bridge, or it is the PF of VFs.",
     "Use another device; or, if the host does not need it, \"hostUse\": \"allow\" in the resource and in "
     "the network."},
    {ErrorId::device_unclean, "VF-DEVICE-UNCLEAN",
     "The device is not what it was before its last pod, and could not be restored. No pod gets it.",
     "A pod with NET_ADMIN changed something of its interface that the driver refuses to restore.",
     "On the node: `/opt/cni/bin/vfrail sweep`. If that does not help, rebind the driver, which creates a "
     "new interface: `echo ADDRESS | tee /sys/bus/pci/devices/ADDRESS/driver/unbind`, then `echo ADDRESS | "
     "tee /sys/bus/pci/drivers_probe`."},
};
static_assert(kGeneralErrors[0].id == ErrorId{} &&
              std::size(kGeneralErrors) == static_cast<size_t>(ErrorId::network_config));

}  // namespace

std::span<const ErrorRow> general_errors() { return kGeneralErrors; }

}  // namespace vfrail
