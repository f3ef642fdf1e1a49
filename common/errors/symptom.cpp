#include "common/errors/symptom.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr Symptom kSymptoms[] = {
    {SymptomId::gpu_memory_unusable,
     "NCCL, UCX",
     {"ibv_reg_mr*Bad address", "Got completion*status=4 ", "IBV_WC_LOC_PROT_ERR", "local protection error",
      "Local protection on "},
     "The RDMA device cannot use the GPU's memory (GPUDirect): nvidia_peermem is of another driver than the "
     "one that runs, or a PCIe switch (ACS) or the IOMMU redirects what the card sends to the GPU.",
     "`NCCL_NET_GDR_LEVEL=LOC` for one run shows whether it is that. `vfrail doctor` on the node names what "
     "is in the way.",
     "VF-P19 VF-N26 VF-N24 VF-N05"},
    {SymptomId::memory_refused,
     "perftest, NCCL, UCX, libibverbs",
     {"Couldn't allocate MR", "Call to ibv_reg_mr failed", "ibv_reg_mr*Cannot allocate memory",
      "ibv_create_cq*Cannot allocate memory", "ibv_create_qp*Cannot allocate memory",
      "Please set max locked memory (ulimit -l)", "RLIMIT_MEMLOCK is * bytes", "failed to create mr"},
     "The process may lock (pin) too little memory: its limit, `ulimit -l`, is small, and the capability "
     "IPC_LOCK is missing, or without effect because the container does not run as root or has a user "
     "namespace.",
     "`memlock` of the resource, with CDI; IPC_LOCK, which has an effect for root alone; or LimitMEMLOCK of "
     "the container runtime. A memory limit of the pod is not the cause: what is beyond it is killed.",
     "VF-P10 VF-N36"},
    {SymptomId::retries_exceeded,
     "NCCL, UCX, perftest",
     {"Got completion*error 12,", "Got completion*status=12 ", "IBV_WC_RETRY_EXC_ERR", "vendor err 129",
      "transport retry counter exceeded", "Transport retry count exceeded", "Failed status 12"},
     "The device has sent, and nothing answers (vendor error 129): the peer cannot be reached by this rail "
     "(a wrong GID index, another network, a missing route or ARP entry), its process has ended, or the "
     "fabric loses packets.",
     "Remove NCCL_IB_GID_INDEX where it is set. `vfrail-check --listen` in one pod and `vfrail-check --to "
     "ADDRESS` in the other test each rail, and name what refuses.",
     "VF-P08 VF-P09 VF-P16 VF-P24 VF-N17"},
    {SymptomId::not_connected,
     "perftest, NCCL, UCX, librdmacm",
     {"Failed to modify QP*to RTR", "Call to ibv_modify_qp failed",
      "Unable to Connect the HCA's through the link", "Found Incompatibility issue with GID types",
      "ibv_create_ah(*failed", "RDMA_CM_EVENT_ADDR_ERROR", "RDMA_CM_EVENT_ROUTE_ERROR"},
     "The queue pair cannot be connected: its GID entry is empty or of another kind than the peer's (No "
     "data available, Invalid argument), or the kernel has no route or neighbour for the peer's GID "
     "(Connection timed out, Network is unreachable).",
     "Remove NCCL_IB_GID_INDEX, or name an entry of RoCE v2 with the rail's address (perftest: `-x`). "
     "`vfrail-check` shows entries and routes.",
     "VF-P08 VF-P09 VF-P16"},
    {SymptomId::port_down,
     "perftest, ibstat, ibv_devinfo, NCCL",
     {"Port number * state is Down", "Couldn't set the link layer", "State: Down", "Physical state: Disabled",
      "Physical state: Polling", "PORT_DOWN (1)", "async event*port error"},
     "The port is down, or went down while the job ran. Disabled: switched off on its node, mostly because "
     "its interface is down. Polling: nothing answers at the other end of the cable.",
     "Name a device whose port is ACTIVE (perftest: `-d`). Disabled: `ip link set NAME up` on the node. "
     "Polling: cable and switch port.",
     "VF-PORT-DOWN VF-P06 VF-N10"},
    {SymptomId::no_device,
     "perftest, NCCL, UCX, ibv_devinfo",
     {"Unable to find the Infiniband/RoCE device", "IB device * not found", "NET/IB : No device found",
      "Did not detect devices", "No IB devices found", "Failed to get IB devices list",
      "network device '*' is not available"},
     "The container has no RDMA device that its programs can use: the resource is not in this container's "
     "limits, the named device belongs to others, its port is down, or the image has no driver for "
     "libibverbs.",
     "`vfrail-check` in the container names the pod's devices, and says what is missing.",
     "VF-P02 VF-P05 VF-P06 VF-P09"},
    {SymptomId::no_library,
     "libibverbs, NCCL",
     {"couldn't load driver '*'", "no userspace device-specific driver found",
      "Failed to open libibverbs.so"},
     "The image has not the libraries for the RDMA device, so programs find none, and NCCL uses TCP.",
     "Install libibverbs1 and ibverbs-providers (Debian, Ubuntu) or rdma-core in the image.",
     "VF-P05"},
    {SymptomId::node_denied,
     "libibverbs, perftest, NCCL",
     {"uverbs*Permission denied", "uverbs*Operation not permitted", "Couldn't get context for the device",
      "Failed to open device", "NET/IB : Unable to open device"},
     "The device's node below /dev/infiniband cannot be opened: the device belongs to others and the "
     "container sees its name alone, or the node is that of a device which has another number now.",
     "Request the resource in this container. After a move that renumbered nodes, delete the pod; CDI gives "
     "the right ones.",
     "VF-P02 VF-P04 VF-RDMA-NODES-CHANGED",
     true},
    {SymptomId::node_gone,
     "containerd, CRI-O",
     {"/dev/infiniband/uverbs*no such file or directory",
      "adding custom device*/dev/infiniband/*no such file or directory"},
     "A device node that kubelet has for the container is gone: its RDMA device has got another number "
     "since Allocate, by a move into a pod and back, or its driver was loaded anew.",
     "Delete the pod: kubelet allocates once for each. With CDI (`--use-cdi=auto`) vfrail-cni corrects the "
     "nodes of pods that start later.",
     "VF-RDMA-NODES-CHANGED VF-N34"},
    {SymptomId::no_cm_node,
     "librdmacm, perftest -R, rping",
     {"rdma_create_event_channel*failed", "rdma_create_event_channel: No such", "infiniband/rdma_cm*No such",
      "unable to open rdma_cm"},
     "The container has no /dev/infiniband/rdma_cm, or the node has not loaded rdma_ucm: the RDMA CM does "
     "not work. NCCL does not need it.",
     "`modprobe rdma_ucm` on the node before vfrail starts; or run perftest without `-R`.",
     "VF-P14 VF-N01"},
    {SymptomId::wrong_network,
     "NCCL, UCX",
     {"Failed to initialize any NET plugin", "Error: network * not found", "no active messages transport to"},
     "NCCL_NET names a network that this process does not have: for IB, it finds no device. Or UCX_TLS and "
     "UCX_NET_DEVICES leave no transport that reaches the peer.",
     "`vfrail-check` in the container says why no device is found. Without NCCL_NET, NCCL uses TCP instead; "
     "without UCX_TLS and UCX_NET_DEVICES, UCX chooses itself.",
     "VF-P02 VF-P05 VF-P09"},
    {SymptomId::no_bootstrap,
     "NCCL, perftest",
     {"no socket interface found", "NET/Socket : no interface found", "socketStartConnect: Connect to",
      "socketPollConnect: Connect to", "Net : Connect to*failed", "Call to connect*failed",
      "Call to bind failed", "Couldn't connect to "},
     "The first connections, over TCP, fail: the peer does not listen yet or has ended, NCCL_SOCKET_IFNAME "
     "names an interface that the pod does not have, the first interface, which NCCL takes, is a rail to "
     "another network, or a NetworkPolicy is in the way.",
     "`NCCL_SOCKET_IFNAME==eth0`, the pod's default network. VF-P09 says which interface NCCL takes here, "
     "and why.",
     "VF-P09 VF-P17"},
    {SymptomId::shared_memory_full,
     "NCCL, PyTorch",
     {"shared memory segment /dev/shm/nccl", "failed to extend /dev/shm/",
      "/dev/shm/*No space left on device", "insufficient shared memory (shm)"},
     "/dev/shm of the container is too small: without a volume it has 64 MiB.",
     "An emptyDir with `medium: Memory`, mounted at /dev/shm.",
     "VF-P12"},
    {SymptomId::killed_for_memory,
     "kubelet, the kernel",
     {"OOMKilled", "Memory cgroup out of memory"},
     "The container used more memory than its limit. Memory that is registered with an RDMA device counts, "
     "and cannot be swapped.",
     "A larger memory limit: 8 GiB for each GPU at least.",
     "VF-P13"},
    {SymptomId::peer_memory_module,
     "modprobe, the kernel",
     {"could not insert 'nvidia_peermem'", "nvidia_peermem: Unknown symbol",
      "nvidia_peermem: disagrees about version"},
     "nvidia_peermem needs the RDMA drivers of NVIDIA (OFED, DOCA); those of the kernel do not have what it "
     "calls.",
     "Use dma-buf: the open kernel modules of the GPU's driver on Linux 5.12 or later; or install NVIDIA's "
     "RDMA drivers, and build the GPU's driver after them.",
     "VF-N26 VF-P19"},
    {SymptomId::tcp_used,
     "NCCL",
     {"Using network Socket", "via NET/Socket"},
     "NCCL uses TCP: it has found no RDMA device that it can use, or a setting forbids it. It does not say "
     "why.",
     "`vfrail-check` in the container of that process does: devices, ports, drivers of the image, NCCL's "
     "settings.",
     "VF-P09 VF-P02 VF-P05 VF-P06"},
    {SymptomId::nothing_free,
     "the scheduler",
     {"Insufficient rdma/", "nodes are available*Insufficient *"},
     "No node has that many free, healthy units of the resource; or none has a resource of that name.",
     "`kubectl get node NODE -o jsonpath='{.status.allocatable}'` shows what each has; `vfrail inspect` says "
     "which devices are in pods, which are unhealthy, and why the others are in no resource.",
     "VF-NOT-ADVERTISED VF-PORT-DOWN VF-NOT-SELECTED"},
    {SymptomId::topology_refused,
     "kubelet",
     {"TopologyAffinityError", "Resources cannot be allocated with Topology locality"},
     "Kubelet's Topology Manager refuses: its policy (restricted, single-numa-node) wants the pod's CPUs, "
     "GPUs and devices of one NUMA node, and none has them all free. A pod with all rails of a node spans "
     "its NUMA nodes.",
     "`excludeTopology: true` of the resource leaves its devices out of that; or the policy best-effort; or "
     "fewer devices and CPUs. `vfrail inspect` shows the NUMA node of each device.",
     "VF-N29 VF-N22"},
    {SymptomId::not_admitted,
     "kubelet",
     {"UnexpectedAdmissionError", "Allocate failed due to*which is unexpected", "no healthy devices present",
      "requested number of devices unavailable"},
     "Kubelet had no device for the pod when it admitted it: after a start of the node or of kubelet the "
     "device plugin had not registered yet, or devices have become unhealthy since.",
     "Pods of a controller are created again; delete others. If it stays so: `vfrail inspect --unhealthy`, "
     "and the message of the plugin behind \"due to\".",
     "VF-REGISTRATION-REFUSED VF-NOT-ADVERTISED VF-N28"},
    {SymptomId::cdi_device_unknown,
     "containerd, CRI-O",
     {"unresolvable CDI devices", "failed to inject CDI devices"},
     "The container runtime has no CDI spec with that device: it reads another folder than vfrail writes, "
     "two specs define the device, or CDI is switched off.",
     "Compare cdi_spec_dirs of the runtime with --cdi-dir, and see that /var/run/cdi is mounted into the "
     "DaemonSet. `vfrail doctor` names a device that two files define.",
     "VF-N34 VF-N35 VF-CDI-NOT-SUPPORTED VF-CDI-SPEC"},
    {SymptomId::plugin_missing,
     "Multus, the container runtime",
     {"failed to find plugin"},
     "The CNI plugin that the network names is not in the runtime's folder on this node.",
     "`ls /opt/cni/bin` on the node. The DaemonSet installs vfrail there; where the runtime has another "
     "folder, that is a value of the chart (cni.binDir).",
     "VF-N31 VF-IPAM-NOT-FOUND"},
    {SymptomId::network_missing,
     "Multus",
     {"cannot find a network-attachment-definition", "network-attachment-definitions*not found"},
     "The pod's annotation names a network that its namespace does not have.",
     "Create the NetworkAttachmentDefinition in the pod's namespace, or name it as NAMESPACE/NAME.",
     "VF-N31"},
    {SymptomId::no_resource_named,
     "sriov-cni",
     {"VF pci addr is required"},
     "The CNI plugin got no device: the network has no annotation k8s.v1.cni.cncf.io/resourceName, the "
     "container does not request that resource, or the pod names more networks of it than it requests units.",
     "Name the resource in the network's annotation, and request as many units as the pod has networks of "
     "it: "
     "`vfrail example` prints both.",
     "VF-NO-DEVICE-NAMED"},
    {SymptomId::addresses_used_up,
     "whereabouts, host-local",
     {"Could not allocate IP in range", "waiting to become leader", "no IP addresses available in range set"},
     "The range is full, also of pods that ended without a DEL; or, while the plugin waits to become "
     "leader, many pods start at once or the API server is slow.",
     "`kubectl get ippools.whereabouts.cni.cncf.io -A -o yaml` shows who has each address; whereabouts' "
     "reconciler frees those of pods that are gone. Or enlarge the range. Waiting: kubelet tries again.",
     "VF-IPAM-FAILED VF-N32"},
    {SymptomId::attach_failed,
     "Multus, kubelet",
     {"error adding container to network", "error adding pod*to CNI network", "FailedCreatePodSandBox"},
     "The CNI plugin of that network refused. Its own message is behind it, and of vfrail an id in brackets.",
     "`vfrail explain` with that id. Kubelet tries again by itself.",
     "VF-DEVICE-IN-USE VF-DEVICE-NOT-IN-HOST VF-IPAM-FAILED VF-NO-DEVICE-NAMED",
     true},
    {SymptomId::nccl_ended,
     "NCCL",
     {"unhandled system error", "SIGSEGV*ncclProxyServiceUDS", "ncclProxyServiceUDS()",
      "transport/net_ib* -> 6"},
     "A call to the RDMA device failed while NCCL connected over it (NET/IB was taken), here or in the "
     "peer, which then closed the connection; SIGSEGV in ncclProxyServiceUDS comes after it. Mostly memory "
     "cannot be registered: the container lacks IPC_LOCK, or does not run as root.",
     "`memlock` of the resource, with CDI; IPC_LOCK, which has an effect for root alone; or LimitMEMLOCK of "
     "the container runtime. `vfrail-check` in each of the pods shows it (VF-P10); the first NCCL WARN of "
     "the process that failed first names the call.",
     "VF-P10 VF-N36",
     true},
    {SymptomId::peer_ended,
     "NCCL, perftest",
     {"Connection closed by remote peer", "Couldn't read remote address",
      "Failed to exchange data between server and clients", "Unable to read to socket/rdma_cm",
      "ncclRemoteError"},
     "The process at the other end has failed first, and its own messages have the cause: often that it may "
     "not register memory (Couldn't allocate MR).",
     "Read the other side's log from its first error on, and run `vfrail-check` in that pod.",
     "VF-P10 VF-P24",
     true},
};
static_assert(kSymptoms[0].id == SymptomId{} &&
              std::size(kSymptoms) == static_cast<size_t>(kLastSymptomId) + 1);

}  // namespace

std::span<const Symptom> all_symptoms() { return kSymptoms; }

const Symptom& symptom_of(SymptomId id) { return kSymptoms[static_cast<size_t>(id)]; }

}  // namespace vfrail
