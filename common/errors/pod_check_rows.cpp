// What checks of a pod are about.
#include "common/errors/check_row.h"

namespace vfrail {

namespace {

constexpr CheckRow kPodRows[] = {
    {"VF-P01", "Nothing says what the pod should have, so the checks compare with nothing.",
     "The pod has no network of vfrail (the annotation k8s.v1.cni.cncf.io/networks), or its resource has "
     "podFiles switched off.",
     "Name a network in the pod's annotation. A resource that shares its devices needs none."},
    {"VF-P02", "perftest finds no device, or cannot open it; NCCL uses TCP.",
     "The device is visible and its node below /dev/infiniband is not in this container: devices belong to "
     "the container that requests the resource.",
     "Request the resource in the limits of this container."},
    {"VF-P03", "NCCL can take devices of other pods.",
     "The container has /dev/infiniband of the host (hostPath), or is privileged.",
     "Take the hostPath and privileged out of the pod; the resource gives the container its own nodes."},
    {"VF-P04", "A device cannot be opened, or programs open that of another pod.",
     "The device got another number when it was moved into the pod, and the container was made without CDI.",
     "Enable CDI in the container runtime, and delete the pod."},
    {"VF-P05", "Programs of the image find no RDMA device, and NCCL uses TCP without a message.",
     "The image lacks libibverbs, or its driver for the device.",
     "Install libibverbs1 and ibverbs-providers (Debian, Ubuntu), or rdma-core."},
    {"VF-P06", "perftest: Port number 1 state is Down. NCCL leaves the port out without a message.",
     "The interface or the port of the PF is down, or no subnet manager has configured an InfiniBand port.",
     "Set the interface up; on the node, `vfrail doctor` shows the PF's port."},
    {"VF-P07", "RoCE has no GIDs, and the RDMA CM does not work.",
     "The interface of the RDMA device is in another network namespace than the device.",
     "Attach the device by a network in the pod's annotation, or use hostNetwork."},
    {"VF-P08", "Connections fail, or end with retries exceeded (vendor error 129).",
     "A rail has no address, or its GID of RoCE v2 is missing or has another index than when it was "
     "attached.",
     "Give the network an ipam section. Let NCCL find the index: remove NCCL_IB_GID_INDEX."},
    {"VF-P09", "NCCL uses TCP, fewer rails than the pod has, or a GID that no router forwards.",
     "A setting of NCCL: NCCL_IB_HCA, NCCL_IB_GID_INDEX, NCCL_SOCKET_IFNAME, NCCL_IB_DISABLE, NCCL_NET, from "
     "the environment or a file.",
     "Remove the setting that the check names, or give it the value that it prints."},
    {"VF-P10",
     "Couldn't allocate MR; ibv_reg_mr or ibv_create_cq fails with ENOMEM (Cannot allocate memory); NCCL "
     "ends "
     "with unhandled system error and SIGSEGV.",
     "The process may not lock (pin) the memory: memlock, `ulimit -l`, is small, and IPC_LOCK is missing or "
     "has no effect (not root, hostUsers: false).",
     "`memlock` of the resource, with CDI; or the capability IPC_LOCK, which has an effect for root alone; "
     "or LimitMEMLOCK of the container runtime."},
    {"VF-P11", "Capabilities that the image's files have do not count.",
     "allowPrivilegeEscalation is false (no_new_privs), or a seccomp profile is in force.",
     "Nothing, unless a program needs such capabilities."},
    {"VF-P12", "NCCL cannot make its segments of shared memory: No space left on device.",
     "/dev/shm has 64 MiB unless the pod has a volume for it.",
     "An emptyDir with `medium: Memory`, mounted at /dev/shm."},
    {"VF-P13", "The container is killed (OOMKilled) when memory is registered.",
     "Registered memory counts for the memory limit, which is smaller than what such jobs need.",
     "A memory limit of 8 GiB for each GPU at least."},
    {"VF-P14", "perftest with -R, rping, ibstat and the like fail. NCCL works.",
     "/dev/infiniband/rdma_cm or the umad nodes are not in the container: the node has not loaded rdma_ucm "
     "or "
     "ib_umad.",
     "`modprobe rdma_ucm ib_umad` on the node before vfrail starts."},
    {"VF-P15", "Large packets get lost, or all rails are as slow as the smallest MTU.",
     "The rails, or a rail and its network, have different MTUs.",
     "One mtu in all networks, no larger than that of the PFs and switches."},
    {"VF-P16", "With several rails some connections hang.",
     "Answers leave by another rail than they came by, or a rail answers ARP for another's address.",
     "`sourceRouting` in the networks, or a network of its own for each rail."},
    {"VF-P17", "Services and DNS of the cluster cannot be reached.",
     "The network of a rail has a default route or a gateway.",
     "Remove gateway and default routes from the network's ipam section."},
    {"VF-P18", "NCCL does not use GPUDirect for a GPU, and is slower.",
     "The pod has a GPU and rails that are not below one PCIe root port.",
     "`preferredAllocation: pcie` of the resource, and kubelet's topology manager."},
    {"VF-P19", "Traffic of GPUs goes through host memory.", "Neither nvidia_peermem nor dma-buf is there.",
     "nvidia_peermem on the node, or the open kernel modules of the GPU's driver with Linux 5.12 or later."},
    {"VF-P20", "NCCL counts the speed of one port twice.", "Two VFs of the pod are of one PF.",
     "`preferredAllocation: distinctPF` of the resource, or a resource for each rail."},
    {"VF-P21", "Bandwidth breaks down under load.", "The fabric loses or damages packets.",
     "On RoCE lossless priorities and ECN on nodes and switches (VF-N17, VF-N18); on InfiniBand the cables."},
    {"VF-P22", "Small messages take longer.", "The container's CPUs are on another NUMA node than its rails.",
     "kubelet's topologyManagerPolicy and cpuManagerPolicy static."},
    {"VF-P23", "NCCL's own log says that it ended, uses TCP, or does not use GPUDirect or all rails.",
     "The finding names the line, and its cause as far as the line has it.",
     "That of the finding. `vfrail explain 'MESSAGE'` finds the same by the message."},
    {"VF-P24", "RDMA between two pods does not work, or is slower than the port.",
     "The finding names what refused: the GID index, the route, the fabric, memory.",
     "That of the finding. `vfrail-check --loopback` shows whether the device alone reaches its speed."},
};

}  // namespace

std::span<const CheckRow> pod_check_rows() { return kPodRows; }

}  // namespace vfrail
