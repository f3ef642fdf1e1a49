// What checks of a node are about.
#include "common/errors/check_row.h"
#include "common/errors/error_id.h"

namespace vfrail {

namespace {

constexpr CheckRow kNodeRows[] = {
    {"VF-N01", "Devices have no verbs nodes, or programs of the RDMA CM fail.",
     "The modules ib_uverbs, rdma_ucm or the card's RDMA driver are not loaded.",
     "`modprobe` what the finding names, and name it in /etc/modules-load.d."},
    {"VF-N02", "RDMA drivers do not load, or fail in unexpected ways.",
     "mlx5_core and mlx5_ib are of different origins: one of the kernel, one of DOCA or OFED.",
     "Install one of them again, renew the initramfs, reboot."},
    {"VF-N03", "RDMA devices cannot be moved into pods.", "The kernel is older than Linux 5.2.",
     "A newer kernel; until then RDMA devices are shared by all pods."},
    {"VF-N04", "Pods see the RDMA devices of all.", "RDMA is in the shared namespace mode.",
     "\"options ib_core netns_mode=0\" in /etc/modprobe.d, renew the initramfs, reboot, where pods are to "
     "have their devices alone."},
    {"VF-N05", "A vfio device cannot be allocated, or traffic between GPU and NIC is slow.",
     "The IOMMU is off, or it translates the DMA of devices that do not need it.",
     "The kernel's parameters intel_iommu=on or amd_iommu=on, and iommu=pt."},
    {"VF-N06", "A resource of VFs has no device.", "The PFs have no VFs.",
     "`echo N > /sys/bus/pci/devices/ADDRESS/sriov_numvfs`; SR-IOV in the firmware before, if sriov_totalvfs "
     "is 0."},
    {"VF-N07", "VFs cannot be allocated.",
     "No driver is bound to them, often because sriov_drivers_autoprobe of the PF is 0.",
     "Bind them: `echo ADDRESS > /sys/bus/pci/drivers_probe`."},
    {"VF-N08", "A VF on InfiniBand does not join the fabric.", "Its node_guid and port_guid are not set.",
     "Set them at the PF, or by guid of the network, and rebind the VF's driver."},
    {"VF-N09", "The pods of a card have no traffic.", "The Ethernet port of the card has no carrier.",
     "The cable, the transceiver, the switch's port: `ethtool NAME`."},
    {"VF-N10",
     "Devices are unhealthy; perftest: Port number 1 state is Down; NCCL leaves the port out without a "
     "message.",
     "The RDMA port is not ACTIVE. Its physical state says why: Disabled is switched off on the node, "
     "Polling "
     "a cable or the far side; INIT waits for a subnet manager.",
     "That of VF-PORT-DOWN."},
    {"VF-N11", "A node is slower than others with the same card.",
     "A port has come up with a lower rate than the others of its model.",
     "The cable, the transceiver and the switch's port."},
    {"VF-N12", "Pods of one resource do not reach each other.",
     "The resource has devices of Ethernet and of InfiniBand.", "Two resources, by the selector linkTypes."},
    {"VF-N13", "Bandwidth drops at times.", "The link has bit errors, or goes down and up.",
     "Clean or replace the cable, if the counters rise while there is traffic."},
    {"VF-N14", "A card with RDMA is in no resource.",
     "It carries the node: a default route, a bond, a bridge.",
     "Nothing, if that is so; else \"hostUse\": \"allow\"."},
    {"VF-N15", "Functions that resemble InfiniBand cards are in no resource.",
     "The NVLink switches are managed through them.", "Nothing."},
    {"VF-N16", "RoCE is slower than the port.",
     "The MTU of the interface is smaller than RoCE's largest packets of 4096 bytes need.",
     "MTU 4200 or more, 9000 as a rule, on PFs, VFs, switches and all nodes."},
    {"VF-N17", "RoCE loses packets under load.",
     "No priority is lossless (PFC), or RoCE is sent with another one.",
     "`mlnx_qos` or dcb(8): trust dscp and PFC for the priority of RoCE, as the switches have it."},
    {"VF-N18", "RoCE loses packets, or all senders slow down, when several have one receiver.",
     "Congestion control (ECN) is off for RoCE's priority.",
     "ECN for that priority on all nodes, and marking on the switches."},
    {"VF-N19", "A card fails now and then, or no longer works.",
     "A devlink health reporter of the card is in error.",
     "`devlink health show` names it; `devlink health recover`, or a reset of the card."},
    {"VF-N20", "A VF has no traffic.",
     "The card is in switchdev mode, and the representor of the VF is down or not connected.",
     "What runs the switch (OVS, a bridge) sets representors up; or legacy mode."},
    {"VF-N21", "TCP and IPoIB on a VF are slow.", "The VF has interrupt vectors for one queue alone.",
     "`echo N > /sys/bus/pci/devices/VF/sriov_vf_msix_count` where the driver can."},
    {"VF-N22", "Pods get CPUs and devices of different NUMA nodes.",
     "The firmware does not say on which NUMA node a device is.", "An update of the firmware (ACPI tables)."},
    {"VF-N23", "A card does not reach its speed.", "Its PCIe link is slower or narrower than it can be.",
     "Reseat the card, or use another slot."},
    {"VF-N24", "GPUDirect is slow, or fails with local protection errors.",
     "ACS of a PCIe switch redirects traffic between GPU and NIC to the root complex.",
     "Without virtual machines: `setpci -s ADDRESS ECAP_ACS+6.w=0` at each boot; with them ATS."},
    {"VF-N25", "NCCL does not use GPUDirect for some GPUs.", "No RDMA device is near them in the PCIe tree.",
     "`preferredAllocation: pcie` gives a pod what is nearest."},
    {"VF-N26", "Traffic of GPUs goes through host memory.",
     "GPU memory cannot be registered: nvidia_peermem is not loaded, and dma-buf is not there.",
     "`modprobe nvidia-peermem`, which needs the drivers of DOCA or OFED; or the open GPU kernel modules "
     "with "
     "Linux 5.12 or later."},
    {"VF-N27", "GPUDirect is slower than the port.",
     "A card near a GPU reads in small pieces, or in strict order, by its PCIe settings.",
     "The firmware's setup."},
    {"VF-N28", "No resource is registered.", "Kubelet does not run, or has another root.",
     "Start it; for another --root-dir, --kubelet-root of vfrail."},
    {"VF-N29", "A pod gets a GPU of one NUMA node and a device of another.",
     "kubelet's topologyManagerPolicy is `none`.", "best-effort, restricted or single-numa-node."},
    {"VF-N30", "Reports and metrics have no names of pods.", "Kubelet's pod-resources API cannot be reached.",
     "Mount /var/lib/kubelet/pod-resources, as the DaemonSet does."},
    {"VF-N31", "Networks of annotations have no effect, or failed to find plugin.",
     "Multus is not the first CNI plugin by file name, or vfrail's is not installed.",
     "The finding names the file; the DaemonSet's install-cni installs vfrail's."},
    {"VF-N32", "Pods get no address by whereabouts.", "Its kubeconfig is not on the node.",
     "Run whereabouts' DaemonSet on this node, or name the file in the network's ipam section."},
    {"VF-N33", "A device is in no resource, or unhealthy as unclean.",
     "It cannot be read, or keeps what a pod changed on it.",
     "`/opt/cni/bin/vfrail sweep`; rebinding the driver creates a new interface."},
    {"VF-N34", "unresolvable CDI devices; or pods whose RDMA device is renumbered fail.",
     "The container runtime does not take CDI devices, or reads other folders.",
     "Enable CDI in the runtime, and name its folder by --cdi-dir."},
    {"VF-N35", "unresolvable CDI devices.", "Two CDI specs define one device, so the runtime has neither.",
     "Remove the file that no plugin writes any more."},
    {"VF-N36",
     "Couldn't allocate MR; ibv_reg_mr or ibv_create_cq fails with ENOMEM (Cannot allocate memory); NCCL "
     "ends "
     "with unhandled system error and SIGSEGV.",
     "memlock of the container runtime's service is small, and each container that does not run as root with "
     "IPC_LOCK has the same limit.",
     "`memlock` in the resource, with CDI; or LimitMEMLOCK=infinity in a drop-in of the container runtime's "
     "service, and restart it."},
    {"VF-N37", "Containers with a device are not created.", "A CDI spec names a hook that is not there.",
     "Install again what the hook belongs to, or remove the spec."},
    {"VF-N38", "A configuration selects nothing on some nodes.",
     "RDMA devices have other names there: udev renames them by slot or GUID.",
     "Select by what does not change: pciAddresses, vendors, linkTypes."},
    {"VF-N39", "No device nodes in containers.", "An RDMA device has no node below /dev.",
     "`udevadm trigger`; in a container, mount the host's /dev/infiniband."},
    {"VF-N40", "Small messages take longer; large ones do not.",
     "numa_balancing is on, or the CPU's governor is powersave.", "Switch them for workloads that need it."},
    {"VF-N41", "DPDK programs do not start.", "The node has no huge pages.",
     "The kernel's parameters hugepagesz=1G hugepages=N."},
    {"VF-N42", "A vfio device cannot be opened.",
     "A driver of the kernel has another function of its IOMMU group.",
     "Bind all of the group to vfio-pci, or use a slot with ACS."},
    {"VF-N43", "With several rails some connections hang.",
     "Rails of the host are in one network, and answer ARP for each other.",
     "A network for each rail, or arp_ignore=1, arp_announce=2 and rp_filter=2."},
    {"VF-N44", "InfiniBand ports stay INIT, or a pod's pkey is refused.",
     "No subnet manager runs, or its partitions lack this port.",
     "`sminfo` shows the subnet manager; its partitions must have the port's GUID."},
    {"VF-N45", "A device fails now and then.", "The kernel has logged a fault of it since boot.",
     "The finding has the line."},
    {"VF-N46", "A resource has no device.", "One selector alone keeps out what all others match.",
     "Correct it: `vfrail inspect --explain` shows every selector."},
};

const CheckRow* find(std::span<const CheckRow> rows, std::string_view id) {
  for (const CheckRow& row : rows) {
    if (row.id == id || row.id.substr(3) == id) return &row;
  }
  return nullptr;
}

}  // namespace

std::span<const CheckRow> node_check_rows() { return kNodeRows; }

const CheckRow* find_check_row(std::string_view text) {
  const std::string id = upper_id(text);
  const CheckRow* row = find(node_check_rows(), id);
  return row != nullptr ? row : find(pod_check_rows(), id);
}

}  // namespace vfrail
