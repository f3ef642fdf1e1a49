# One pod, one VF, an address from whereabouts: what a user sees first.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

pod plain '' 0
check 'a pod without a device runs' eventually running plain
pod one hostdev 1
check 'a pod with a device runs' eventually running one

check 'net1 has an address of the range' has 'inet 192\.168\.100\.' in_pod one ip address show net1
check 'its RDMA device is active' has PORT_ACTIVE in_pod one ibv_devinfo
# In shared mode each namespace has all RDMA devices; the nodes to use them are in the containers of their pods alone.
[ "$RDMA" = shared ] || check 'and it sees no other' is 1 in_pod one bash -c 'rdma link | wc -l'
check 'the network status names the interface and the PCI function' \
    has '"interface": "net1".*"pci-address": "0000:' bash -c 'tr -d "\n" <<< "$1" | tr -s " "' - "$(network_status one)"
check 'the container knows the PCI function' has PCIDEVICE_NVIDIA_COM_HOSTDEV=0000: in_pod one env
check 'vfrail-check is in the container, and finds its nodes' has 'ok  *VF-P02' in_pod one bash -c 'vfrail-check --all; true'
check 'the pod without a device has no RDMA node' refused in_pod plain ls /dev/infiniband
# The rights of the DaemonSet, as the kernel sees them: NET_BROADCAST alone, seccomp's filter.
rights() { on_node 'grep -E "^(CapEff|Seccomp|NoNewPrivs):" /proc/$(pid_of /usr/bin/vfrail)/status | sort | tr -d "\t" | tr "\n" " "'; }
check 'vfrail has NET_BROADCAST and no other right' is 'CapEff:0000000000000800 NoNewPrivs:1 Seccomp:2 ' rights
check 'the VF has left the host' refused at_baseline
check 'one address is assigned' is 1 addresses_assigned
