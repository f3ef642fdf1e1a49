# What programs find in a pod whose user is not root: NCCL's settings, memory that they may lock, vfrail-check.
if [ "$set" = oldest ]; then
    skip 'containerd 1.6 has no CDI'
    return
fi
stays_here='^/run/vfrail/(promised|none)/|^/var/run/cdi/vfrail-'     # cni/README.md: with CDI until the next Allocate
jq '.resourceList[0] += {podFiles: ["nccl", "ucx"], memlock: "268435456"}' examples/configs/igb-lab.json > "$work/in-pod.json"
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

# checked NAME: a pod whose container's own program is vfrail-check, because what a hook gives to a container does not reach
# what `kubectl exec` starts.
checked() { pod "$1" hostdev 1 '{"runAsUser": 1000, "runAsNonRoot": true}' 'ulimit -H -l; vfrail-check --all'; }
log_of() { kubectl logs "$1"; }

checked without
check 'without the keys: the pod runs' eventually running without
check 'it cannot lock enough memory, and vfrail-check says so' eventually has 'fault  *VF-P10' log_of without

config=$work/in-pod.json
check 'a resource with the keys' installed --set cdi.enabled=true
check 'every device is allocatable' eventually is $DEVICES allocatable
checked with
check 'with the keys: the pod runs' eventually running with
check 'its limit is what the resource says' eventually has '^262144$' log_of with
check 'memory can be locked and registered' eventually has 'ok  *VF-P10' log_of with
check 'vfrail-cni has described what the pod has' has 'ok  *VF-P01' log_of with
check 'NCCL takes its rail' has 'ok  *VF-P09' log_of with
device=$(in_pod with bash -c 'ls /sys/class/infiniband')
check 'nccl.conf names its RDMA device' has "^NCCL_IB_HCA=.*$device" in_pod with cat /etc/nccl.conf
check 'ucx.conf too' has "^UCX_NET_DEVICES=.*$device" in_pod with cat /run/vfrail/ucx.conf
check 'pod.json names the interface' is net1 bash -c 'jq -r ".interfaces[].name" <<< "$1"' - "$(in_pod with cat /run/vfrail/pod.json)"
check 'its files are the pod'"'"'s alone: they are read-only' refused in_pod with bash -c ': >> /run/vfrail/pod.json'

check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -l app=test -o name
check 'the files end with their pods' is '' on_node '[ ! -e /run/vfrail/pods ] || find /run/vfrail/pods -mindepth 1'
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
on_node 'rm -f /var/run/cdi/vfrail-*'
