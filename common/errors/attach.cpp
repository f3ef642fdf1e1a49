// Errors of vfrail-cni, up to the pod's interface.
#include "common/errors/error_id.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr ErrorRow kAttachErrors[] = {
    {ErrorId::network_config, "VF-NETWORK-CONFIG", "A value of the network configuration is refused.",
     "The value has the wrong type or is out of range, or two keys do not go together.",
     "Correct the key that the message names; cni/README.md has all keys. `vfrail-cni check-network` checks "
     "it before a pod does."},
    {ErrorId::vlan_trunk, "VF-VLAN-TRUNK", "vlanTrunk of the network is refused.",
     "The kernel has no way to give a VF a trunk of VLANs. Ignored, it would leave the pod in the wrong "
     "networks.",
     "Take vlanTrunk out of the network, and set vlan if one is enough."},
    {ErrorId::cni_version, "VF-CNI-VERSION",
     "The cniVersion is not supported, or the verb needs a later one.",
     "The network has a cniVersion that vfrail does not know. CHECK needs 0.4.0, GC and STATUS need 1.1.0.",
     "Set \"cniVersion\": \"0.3.1\" or later in the network; 1.1.0 is the latest that vfrail has."},
    {ErrorId::cni_environment, "VF-CNI-ENVIRONMENT", "A CNI variable is missing or wrong.",
     "The runtime, or whoever called vfrail-cni by hand, did not set CNI_COMMAND, CNI_CONTAINERID, "
     "CNI_IFNAME or CNI_NETNS as the CNI specification says.",
     "By hand, set them all. From a runtime, report it with the runtime's version."},
    {ErrorId::log_file, "VF-LOG-FILE", "The logFile of the network cannot be used; the log goes to stderr.",
     "The file is not below /var/log or /tmp, its folder is not there, or it is not a regular file.",
     "Set logFile to a file such as /var/log/vfrail-cni.log, or leave it out."},
    {ErrorId::no_device_named, "VF-NO-DEVICE-NAMED", "The configuration names no device.",
     "Multus passed none: the annotation k8s.v1.cni.cncf.io/resourceName of the network is missing, the pod "
     "does not request that resource, or it requests fewer units than it has networks.",
     "Give the network the annotation, and request one unit of the resource for each network. Devices of "
     "ResourceClaims take a Multus later than v4.3.0 (June 2026), which may get ResourceClaims and list "
     "ResourceSlices. Without a device plugin, set device, hwaddr, kernelpath or pciBusID."},
    {ErrorId::device_conflict, "VF-DEVICE-CONFLICT",
     "The configuration names another device than the scheduler gave.",
     "The network has a static device, hwaddr or kernelpath beside the device that the device plugin "
     "allocated.",
     "Take the static device out of the network."},
    {ErrorId::chain_conflict, "VF-CHAIN-CONFLICT", "This entry of the chain contradicts an earlier one.",
     "The interface was made by an earlier plugin of the list, of another device or with its own settings.",
     "Let one entry of the list move the device and set the interface; the later one needs its type alone."},
    {ErrorId::device_in_use, "VF-DEVICE-IN-USE",
     "The device belongs to another attachment that still runs. CNI code 11.",
     "Two device plugins advertise the same device, or two pods use a network with a static device.",
     "`vfrail inspect` in the vfrail pod of that node shows which pod has the device. Remove the second "
     "device plugin, or the static device from the network. If that pod has ended: `/opt/cni/bin/vfrail "
     "sweep` on the node."},
    {ErrorId::attached_already, "VF-ATTACHED-ALREADY",
     "The pod already has the device under this interface name.",
     "The runtime called ADD twice for the same attachment without a DEL.",
     "Delete the pod. Report it to the runtime or to Multus if it happens again."},
    {ErrorId::several_interfaces, "VF-SEVERAL-INTERFACES",
     "The device has several interfaces on one port, and none is named.",
     "The PF is in switchdev mode, or its driver makes more than one interface.",
     "Name the interface with \"device\" in the network."},
    {ErrorId::interface_not_movable, "VF-INTERFACE-NOT-MOVABLE",
     "The interface is a bridge, a bond or the loopback interface, which the kernel moves into no pod.",
     "The network names an interface that stands on others.",
     "Name the interface of a device, or use the CNI plugins bridge or macvlan."},
    {ErrorId::master_unusable, "VF-MASTER-UNUSABLE",
     "The interface that the pod's interface is to stand on (`master`) is missing or cannot carry it.",
     "`master` is not named or not an interface of the host, or is of another kind: macvlan and ipvlan need "
     "Ethernet, ipoib needs InfiniBand. Or the kernel has no module of that kind.",
     "Set master to an interface that `ip link` shows on the node. Load the module: `modprobe macvlan`, "
     "`modprobe ipvlan` or `modprobe ib_ipoib`."},
    {ErrorId::no_interface, "VF-NO-INTERFACE", "A setting needs an interface, and the device has none.",
     "The device is bound to a user-space driver (vfio-pci), or it is InfiniBand without IPoIB.",
     "Take mtu, sysctl, sourceRouting and the settings of a link out of this network."},
    {ErrorId::interface_name_taken, "VF-INTERFACE-NAME-TAKEN",
     "The pod already has an interface of that name.",
     "Two networks of the pod's annotation have the same interface name, or the cluster's default network "
     "uses that name.",
     "Give each network its own name in the annotation: hostdev-a@net1,hostdev-b@net2."},
    {ErrorId::host_netns, "VF-HOST-NETNS", "The pod's network namespace is the host's own.",
     "The pod has hostNetwork: true.",
     "Take the network annotation off the pod: it has the host's devices already."},
    {ErrorId::mtu_out_of_range, "VF-MTU-OUT-OF-RANGE",
     "The mtu of the network is more or less than the interface can have.",
     "The driver has a limit, which can depend on the MTU of the PF.",
     "Set the MTU of the PF first (`ip link set PF mtu 9000`), or the value that the message names."},
    {ErrorId::mac_invalid, "VF-MAC-INVALID",
     "The requested MAC address is not one that the interface can have.",
     "It is malformed, a multicast address, or not as long as the interface's own.",
     "Correct mac in the pod's annotation, in the network, or MAC in CNI_ARGS: 02:00:00:00:00:01."},
    {ErrorId::mac_in_use, "VF-MAC-IN-USE",
     "A warning: the requested MAC address is already in use on this node.",
     "Another VF of the PF, another attachment or an interface of the host uses it. It is set nevertheless, "
     "and the switch delivers packets to one of the two, or to neither.",
     "The message names what uses it. Give each pod its own address, by mac in its annotation rather than "
     "in the network, which its pods share; or leave mac out."},
    {ErrorId::link_setting_refused, "VF-LINK-SETTING-REFUSED",
     "The kernel refuses to move the interface, or one of its settings.",
     "The driver does not have the setting or the value, or the name is taken by an alternative name.",
     "The message has the kernel's error. Try name, mac, mtu and the settings of a link one by one."},
    {ErrorId::no_pf, "VF-NO-PF", "Only the PF can make this setting, and it cannot be reached.",
     "The device is not a VF, the PF has no interface in the host, or this is a VM and the PF is the "
     "hypervisor's.",
     "Take vlan, rates, spoofchk, trust, link_state and guid out of the network, or let the hypervisor set "
     "them."},
    {ErrorId::vf_setting_refused, "VF-SETTING-REFUSED",
     "The PF's driver refuses a setting of the VF. CNI code 103. What was set before is restored.",
     "The driver does not have the setting, not with this value, or not in this mode.",
     "Remove the key that the message names. `ip link set PF vf N SETTING` on the node gives the same "
     "answer."},
    {ErrorId::not_infiniband, "VF-NOT-INFINIBAND",
     "The network sets a GUID, and the device is not InfiniBand.",
     "guid is for InfiniBand only; the port is Ethernet, or the card is in Ethernet mode.",
     "Take guid out of the network, or use a resource with \"linkTypes\": [\"infiniband\"]."},
    {ErrorId::guid_missing, "VF-GUID-MISSING",
     "The InfiniBand VF has no valid GUID, and the network gives none.",
     "Nobody has set node_guid and port_guid of the VF.",
     "`ip link set PF vf N node_guid GUID`, likewise port_guid, then rebind the VF's driver. Or set guid in "
     "the network, or use ib-kubernetes."},
    {ErrorId::ib_kubernetes_pending, "VF-IB-KUBERNETES-PENDING",
     "ib-kubernetes has not configured this pod yet. CNI code 11.",
     "The network has ibKubernetesEnabled, and the pod's annotation has no GUID yet.",
     "Kubelet tries again. If it stays so, see the log of ib-kubernetes."},
    {ErrorId::not_vfio, "VF-NOT-VFIO",
     "The network has vfioPciMode, and the device is not bound to vfio-pci.",
     "The resource also has devices with a kernel driver.",
     "Bind the device to vfio-pci, and add \"drivers\": [\"vfio-pci\"] to the selectors of the resource."},
    {ErrorId::no_rdma_device, "VF-NO-RDMA-DEVICE",
     "The network needs RDMA, and the device has no RDMA device.",
     "The RDMA driver is not loaded, the card has no RDMA for VFs, or the device is bound to vfio.",
     "Load the driver (`mlx5_ib`, `irdma`, `bnxt_re`), and add \"isRdma\": true to the selectors. "
     "Without RDMA set \"rdma\": \"off\"."},
    {ErrorId::rdma_shared_mode, "VF-RDMA-SHARED-MODE",
     "The network requires that the RDMA device move into the pod, and RDMA is in shared namespace mode.",
     "rdmaName or rdmaIsolation is set, and the node's ib_core has netns_mode=1.",
     "Put \"options ib_core netns_mode=0\" into /etc/modprobe.d and reboot. (`rdma system set netns "
     "exclusive` works only while the node has no other network namespace, that is, no pod.) Or remove the "
     "key."},
    {ErrorId::rdma_nodes_changed, "VF-RDMA-NODES-CHANGED",
     "The RDMA device has other device nodes than the container was allocated. CNI code 11.",
     "In exclusive mode a move gives it the lowest free numbers, and a lower one became free after "
     "Allocate. Kubelet does not allocate again.",
     "Delete the pod; its controller makes another. To avoid it, run vfrail with CDI (--use-cdi)."},
    {ErrorId::rdma_name_taken, "VF-RDMA-NAME-TAKEN",
     "The RDMA device cannot have the name that rdmaName gives.",
     "Another RDMA device of the node or of the pod has that name.",
     "Choose a name that no device of the node has: `rdma link` lists them."},
    {ErrorId::network_key_ignored, "VF-NETWORK-KEY-IGNORED",
     "A warning: a key of the network configuration has no effect.",
     "It is misspelt, vfrail has no such key, or its value means nothing for this device.",
     "Correct or remove it. `vfrail-cni check-network` finds such keys before a pod does."},
};
static_assert(kAttachErrors[0].id == ErrorId::network_config &&
              std::size(kAttachErrors) ==
                  static_cast<size_t>(ErrorId::ipam_not_found) - static_cast<size_t>(kAttachErrors[0].id));

}  // namespace

std::span<const ErrorRow> attach_errors() { return kAttachErrors; }

}  // namespace vfrail
