// Errors of vfrail, the device plugin and its command line.
#include "common/errors/error_id.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr ErrorRow kPluginErrors[] = {
    {ErrorId::option_invalid, "VF-OPTION-INVALID",
     "An option of the command line has a value that is not allowed.",
     "It is misspelt or out of range, or two options exclude each other.",
     "Correct the option that the message names; `vfrail serve --help` lists them."},
    {ErrorId::config_not_read, "VF-CONFIG-NOT-READ", "The file of the configuration cannot be read.",
     "It is not there, the ConfigMap is not mounted, or its key has another name.",
     "Compare --config-file with the volumeMounts of the DaemonSet and with the key of the ConfigMap."},
    {ErrorId::config_invalid, "VF-CONFIG-INVALID",
     "An entry of the configuration is refused. The message names file, entry and key.",
     "A value has the wrong type, is out of range, contradicts another one, or two entries have the same "
     "name.",
     "Correct it; `vfrail check-config FILE` checks it before it is used. Until then the last good "
     "configuration stays in use."},
    {ErrorId::config_unknown_key, "VF-CONFIG-UNKNOWN-KEY",
     "The configuration has a key or a selector that vfrail does not know.",
     "It is misspelt, or of another plugin. Without a selector more devices would be selected than were "
     "meant.",
     "Correct its name; the message has the nearest."},
    {ErrorId::config_empty, "VF-CONFIG-EMPTY", "The file has no configuration or no resource.",
     "It is empty, the wrong file, or an object of Kubernetes without resourceList, configList and mode.",
     "Name the file that has them: `vfrail check-config FILE` says what it found."},
    {ErrorId::config_mistake, "VF-CONFIG-MISTAKE",
     "check-config: an entry cannot have been meant as it is written.",
     "It selects more than was meant, or nothing on any node: a key that is not read, an empty list, "
     "conditions that exclude each other.",
     "Correct it as the message says. `vfrail serve` warns and goes on, as sriov-network-device-plugin "
     "does."},
    {ErrorId::network_resource, "VF-NETWORK-RESOURCE",
     "check-config: a network names a resource that no configuration has.",
     "The annotation k8s.v1.cni.cncf.io/resourceName is misspelt, or the resource has another prefix.",
     "Compare it with resourcePrefix and resourceName of the configuration."},
    {ErrorId::host_not_visible, "VF-HOST-NOT-VISIBLE",
     "The plugin cannot see what the host uses, so it advertises nothing.",
     "It runs in a network namespace of its own, and the host's files are not mounted.",
     "Mount the host's folders below /host as manifests/daemonset.yaml does, with --root /host; or run it "
     "with hostNetwork: true and --root /."},
    {ErrorId::node_not_read, "VF-NODE-NOT-READ",
     "The node's devices cannot be read. What was read last stays advertised.",
     "sysfs is not mounted below the root that is given, or reading it fails.",
     "Check the mount of /sys and --root. See the kernel's log if files cannot be read: `dmesg`."},
    {ErrorId::device_not_read, "VF-DEVICE-NOT-READ",
     "A device cannot be read. It stays advertised as it was read last.",
     "The device or its driver is failing, or it is being removed.",
     "See the kernel's log: `dmesg`. Rebind its driver, or reset the card."},
    {ErrorId::endpoint_taken, "VF-ENDPOINT-TAKEN",
     "A socket or address cannot be served, because another process uses it.",
     "Another process listens there, or a file that is not a socket exists at that path.",
     "End the other process, remove the file, or choose another address."},
    {ErrorId::kubelet_not_reached, "VF-KUBELET-NOT-REACHED",
     "Kubelet cannot be reached at its socket, or does not answer.",
     "Kubelet does not run, has another root folder, or its folder is not mounted.",
     "Check kubelet (`journalctl -u kubelet`), --kubelet-root and the mounts of the DaemonSet."},
    {ErrorId::registration_refused, "VF-REGISTRATION-REFUSED", "Kubelet does not register a resource.",
     "The log has kubelet's reason: often a name that it does not take, another version of the API, or "
     "another plugin of that name.",
     "See kubelet's log: `journalctl -u kubelet`. Check the name with `vfrail check-config FILE`."},
    {ErrorId::resource_contested, "VF-RESOURCE-CONTESTED", "Another device plugin serves the same resource.",
     "sriov-network-device-plugin or a second vfrail runs on the node, with the same resource in its "
     "configuration.",
     "Remove one of the two, or rename its resource. The log names the socket or the process."},
    {ErrorId::pod_resources, "VF-POD-RESOURCES", "Kubelet does not say which pods have which devices.",
     "Its folder pod-resources is not mounted, or kubelet does not serve it.",
     "Mount KUBELET_ROOT/pod-resources as manifests/daemonset.yaml does. Devices are allocated all the "
     "same; metrics lack names of pods."},
    {ErrorId::cdi_not_supported, "VF-CDI-NOT-SUPPORTED",
     "The container runtime does not take CDI device names: --use-cdi has no effect, or ADD refuses a "
     "device whose nodes the container would not get.",
     "CDI is switched off in the runtime, or the runtime is too old. The message names the file that says "
     "so.",
     "Enable CDI (containerd 1.7, CRI-O 1.23 or later), restart the runtime and the plugin's pod; or set "
     "--use-cdi=false. Delete the pods that were refused."},
    {ErrorId::not_advertised, "VF-NOT-ADVERTISED",
     "Allocate: kubelet asks for a device that is not in the resource.",
     "The configuration changed, or kubelet has an old list for a moment.",
     "The pod's controller creates it again. If it stays so, compare `vfrail inspect --resource NAME` with "
     "the node's status."},
    {ErrorId::bundle_incomplete, "VF-BUNDLE-INCOMPLETE",
     "A bundle is unhealthy, and allocate refuses it: a device of it is missing or unhealthy.",
     "A rail has fewer VFs in the resource than the others, or the device of one rail is unhealthy.",
     "Make the same number of VFs on each PF, and select all of them. `vfrail inspect --resource NAME` names "
     "the rail, or shows the device."},
    {ErrorId::no_iommu_group, "VF-NO-IOMMU-GROUP", "The device is bound to vfio-pci and has no IOMMU group.",
     "The IOMMU is switched off in the firmware or on the kernel's command line.",
     "Switch it on (intel_iommu=on or amd_iommu=on), or allow vfio without: enable_unsafe_noiommu_mode=1."},
    {ErrorId::extra_node_missing, "VF-EXTRA-NODE-MISSING",
     "A device node that the resource requires, by extraDeviceNodes or needVhostNet, is not on this node.",
     "The module that makes it is not loaded.",
     "Load the module (`modprobe -a vhost_net tun` for needVhostNet), or take the path out of "
     "extraDeviceNodes."},
    {ErrorId::config_doubtful, "VF-CONFIG-DOUBTFUL",
     "A warning: a value of the configuration is accepted, and has no effect or not the one that was meant.",
     "A list is empty, a value can match no device, or a key of another plugin's means something else here.",
     "Correct it as the message says. `vfrail check-config FILE` shows what the configuration means."},
    {ErrorId::host_device_offered, "VF-HOST-DEVICE-OFFERED",
     "A warning: a resource advertises a device that the host uses.",
     "The host has an address on it, and hostUse is not refuse; or hostUse is allow.",
     "Narrow the selectors, set \"hostUse\": \"refuse\", or remove the host's addresses from it."},
    {ErrorId::host_routes_unknown, "VF-HOST-ROUTES-UNKNOWN",
     "A warning: not all default routes of the host are known, so a device that the host needs may be "
     "advertised.",
     "The plugin is not in the host's network namespace, and the host's files do not name the interface of "
     "a route outside the main table, are too long with many routes, or one is missing.",
     "Exclude the host's devices by selectors, or run the plugin with hostNetwork: true, where it asks the "
     "kernel."},
    {ErrorId::port_offered_twice, "VF-PORT-OFFERED-TWICE",
     "A warning: a PF and its sub-function are both advertised, and a pod that gets one takes the other's "
     "port away.",
     "The selectors of two resources match the PF and the sub-function.",
     "Narrow the selectors, so that only one of the two is in a resource."},
    {ErrorId::rdma_exclusive_mode, "VF-RDMA-EXCLUSIVE-MODE",
     "A warning: a resource shares RDMA devices, and pods without hostNetwork cannot use them.",
     "RDMA is in exclusive namespace mode: a device is seen in one network namespace only.",
     "Give each pod a VF of its own. Or boot the node with \"options ib_core netns_mode=1\" in modprobe.d."},
    {ErrorId::devlink_not_asked, "VF-DEVLINK-NOT-ASKED",
     "A warning: the configuration demands devlink's health reporters, and devlink cannot be asked.",
     "\"health\": {\"devlink\": true}, and the plugin is not in the host's network namespace.",
     "With hostNetwork: true it is asked. Without the key \"devlink\" it is asked where it can be, "
     "silently."},
    {ErrorId::node_labels, "VF-NODE-LABELS",
     "A warning: labels of the node for Node Feature Discovery are not written, or not all of them.",
     "The folder of --nfd-features is missing, not mounted, read-only or full; or names or number of the "
     "resources are too long for labels.",
     "Create the folder, or mount the host's (the chart's `nfd.enabled`); give resources shorter names. The "
     "devices are served all the same."},
    {ErrorId::claim_refused, "VF-CLAIM-REFUSED",
     "Dynamic resource allocation: the devices of a ResourceClaim are not prepared, or not released.",
     "Several pods reserve the claim, another device is prepared for it, a device has left the node or is "
     "still in a pod, or vfrail-kube cannot read the claim; the message says which. As the container "
     "runtime's error: the pod has not got the claim's devices, so its container is stopped.",
     "See the pod's events, and `kubectl get resourceclaim NAME -o yaml`. Kubelet tries again by itself."},
    {ErrorId::not_offered, "VF-NOT-OFFERED",
     "Dynamic resource allocation: the scheduler does not get the devices of this node.",
     "The container kube of vfrail's pod does not run or may not write ResourceSlices, Kubernetes is older "
     "than 1.34, or the node still offers the resource by the device plugin; the message says which.",
     "See the log of the container kube. Pods that have devices keep them."},
    {ErrorId::provision_refused, "VF-PROVISION-REFUSED",
     "`vfrail provision` does not make the VFs of a PF as `vfs` in the configuration wants them.",
     "Another number of VFs, or another eswitch mode, removes all VFs of the PF first, and one is in a pod, "
     "in another network namespace or in use by a VM; or the host needs the PF; or sriov-network-operator "
     "manages it. The message says which.",
     "Run `vfrail provision` again when the pods that the message names have ended. Until then all stays as "
     "it is."},
    {ErrorId::provision_firmware, "VF-PROVISION-FIRMWARE",
     "`vfrail provision` cannot make the VFs of a PF, because the firmware has other settings.",
     "SR-IOV is off in the firmware, it has fewer VFs than `vfs` wants, or the port is of another type.",
     "Run the command that the message has, mlxconfig or devlink, and reboot the node. vfrail changes no "
     "firmware."},
    {ErrorId::provision_failed, "VF-PROVISION-FAILED",
     "`vfrail provision` could not make or set the VFs of a PF.",
     "The message has the file or the setting, and what the kernel answered. A write that does not return in "
     "time hangs in the driver.",
     "See `dmesg`. Run `vfrail provision` again: it begins where it has stopped."},
    {ErrorId::provision_pending, "VF-PROVISION-PENDING",
     "No pod gets the VFs of a PF yet, or any more: `vfrail provision` makes or removes them.",
     "`vfs` in the configuration names the PF, and provision has not written that it is done, refused or "
     "failed. After 240 s the VFs are allocated as they are, except while they wait for pods to end.",
     "See the log: `kubectl -n kube-system logs ds/vfrail-provision`, or `journalctl -u vfrail-provision` "
     "on the node. Where nothing runs it, take `vfs` out of the configuration."},
};
static_assert(kPluginErrors[0].id == ErrorId::option_invalid &&
              std::size(kPluginErrors) ==
                  static_cast<size_t>(ErrorId::port_down) - static_cast<size_t>(kPluginErrors[0].id));

}  // namespace

std::span<const ErrorRow> plugin_errors() { return kPluginErrors; }

}  // namespace vfrail
