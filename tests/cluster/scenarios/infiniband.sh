# InfiniBand, without an operator: the network that a HostDeviceNetwork makes and its users' pod, IPoIB from pod to pod; kubelet,
# vfrail and the node restart; a hostile pod; deletion by force; in shared mode a pool of 63 units, as a NicClusterPolicy has it.
[ "$FABRIC" = infiniband ] || { skip 'the cards of this node are RoCE: --fabric infiniband'; return; }
# The object is read by vfrail: nothing of the operator runs here.
check 'the network of the HostDeviceNetwork' bash -c \
    'build/release/bin/vfrail render manifests/host-device-network.yaml --type vfrail | kubectl apply -f -'
ipc_lock='{"capabilities": {"add": ["IPC_LOCK"]}}'
for name in a b; do pod $name hostdevice-net 1 "$ipc_lock"; done
check 'two pods run' eventually is 2 how_many_run
check 'net1 is IPoIB, with an address of the range' has 'link/infiniband .*:00:11:22:33:44:55:.*inet 192\.168\.101\.' \
    bash -c 'tr -d "\n" <<< "$1"' - "$(in_pod a ip address show net1)"
check 'its RDMA device is active' has '/1 .*state ACTIVE' in_pod a rdma link
[ "$RDMA" = shared ] || check 'and it sees no other' is 1 in_pod a bash -c 'rdma link | wc -l'
address_of() { in_pod "$1" ip -j address show net1 | jq -r '.[].addr_info[] | select(.family == "inet").local'; }
pings() { in_pod "$1" ping -c 1 -W 2 "$(address_of "$2")"; }
check 'IPoIB from pod to pod' eventually pings a b
check 'and back' eventually pings b a
check 'each container sees its own RDMA nodes and no others' each_sees_its_own

section 'restarts'
sent=$(lists_sent)
on_node 'service_restart kubelet'
check 'kubelet has the list again' eventually refused is "$sent" lists_sent
check 'every device is allocatable' eventually is $DEVICES allocatable
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
check 'every device is allocatable again' eventually is $DEVICES allocatable
check 'the pods still reach each other' eventually pings a b
pod c hostdevice-net 1
check 'a new pod runs' eventually running c
check 'and reaches the others' eventually pings c a

section 'a hostile pod'
pod hostile hostdevice-net 1 '{"capabilities": {"add": ["NET_ADMIN"]}}'
check 'it runs' eventually running hostile
# In shared mode every pod with NET_ADMIN can rename each RDMA device of the node, the host's own too: the kernel checks no more.
[ "$RDMA" = shared ] || in_pod hostile bash -c 'rdma dev set "$(rdma -j dev | jq -r ".[0].ifname")" name evil0'
in_pod hostile bash -c '
    ip link add link net1 name evil2 type ipoib pkey 0x8001
    ip link set net1 down; ip link set net1 name evil1 mtu 1280 multicast off; ip link set evil1 up' || true
check 'it has renamed its interface' has evil1 in_pod hostile ip link
kubectl delete pod hostile --wait=false > /dev/null
check 'it ends' eventually gone hostile

section 'deleted by force, and others at once'
explained_here='error allocate refused .*it is still in a pod.* id=VF-DEVICE-NOT-IN-HOST'
# In shared mode, where a part of the device stays in the host, the CNI plugin is who refuses; kubelet tries again.
[ "$RDMA" != shared ] || explained_here+='|which still exists; delete that pod first; vfrail explain VF-DEVICE-IN-USE'
kubectl delete pods -l app=test --force --grace-period=0 > /dev/null 2>&1
kubectl apply -f - << END > /dev/null
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: next, labels: {app: test}}
spec:
  replicas: $DEVICES
  selector: {matchLabels: {app: test}}
  template:
    metadata: {labels: {app: test}, annotations: {k8s.v1.cni.cncf.io/networks: hostdevice-net}}
    spec: $(pod_spec 1 "$ipc_lock")
END
check 'a new pod for each device runs' eventually is $DEVICES how_many_run
check 'each has an address of its own' is $DEVICES bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete replicasets,pods -l app=test --wait=false > /dev/null
check 'no pod is left' eventually is '' kubectl get pods -o name
check 'every device is in the host, as it was before' eventually at_baseline

if [ "$RDMA" = shared ]; then
    section 'a shared pool'
    jq --arg names "$(on_node 'for pf in $(pfs); do netdev $pf | head -n 1; done' | paste -sd ' ')" \
        '.configList = [{resourceName: "rdma_v100", rdmaHcaMax: 63, selectors: {ifNames: ($names | split(" ")), linkTypes: ["infiniband"]}}]' \
        "$config" > "$work/shared.json"
    own=$config config=$work/shared.json
    check 'as a NicClusterPolicy configures it' installed
    units() { kubectl get node "$NODE" -o 'jsonpath={.status.allocatable.rdma/rdma_v100}'; }
    check 'it has 63 units' eventually is 63 units
    for name in first second; do RESOURCE=rdma/rdma_v100 pod $name '' 1 "$ipc_lock"; done
    check 'two pods run' eventually is 2 how_many_run
    check "they have the nodes of both cards" is 'issm0 issm1 rdma_cm umad0 umad1 uverbs0 uverbs1' in_pod first bash -c 'echo $(ls /dev/infiniband)'
    kubectl delete pods first second --wait=false > /dev/null
    check 'they end' eventually is '' kubectl get pods -o name
    config=$own
    check 'the configuration is as before' installed
fi
ends_without_pods=yes
