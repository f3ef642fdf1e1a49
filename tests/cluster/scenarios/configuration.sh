# The configuration is changed while a pod runs: a resource is added, renamed, and is as before.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'a pod runs' eventually running one
device=$(in_use)
available() { kubectl get node "$NODE" -o "jsonpath={.status.allocatable.nvidia\.com/$1}"; }
# The device that the pod has is in neither resource, or in another than its own.
explained_here='^pods/kube-system_vfrail-.* warning devices are unhealthy .*code=not_selected'

section 'added'
jq '.resourceList[0].selectors.pciAddresses = ["0000:21:10.0", "0000:21:10.2", "0000:21:10.4", "0000:21:10.6"] |
    .resourceList += [.resourceList[0] | .resourceName = "other" | .selectors.pciAddresses = ["0000:41:10.0"]]' \
    examples/configs/igb-lab.json > "$work/changed.json"
config=$work/changed.json least=4
[[ $device == 0000:21:* ]] || least=5
list_never_below $least
check 'the configuration is changed' installed
# The one in use is added to neither.
others=1
[ "$device" != 0000:41:10.0 ] || others=0
check 'the added resource has its device' eventually is $others available other
check 'the first one has those of its NIC, and the one in use' eventually is $least capacity
check 'the pod runs, with its device' is "$device" in_use

section 'as before'
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
check 'the first resource has every device again' eventually is $DEVICES allocatable
check 'the added one has none' eventually is 0 available other
check 'the pod still runs' running one

section 'renamed'
# The old one ends, with an empty list; what the pod has is kubelet's all the same.
list_never_below 0
jq '.resourceList[0].resourceName = "renamed"' examples/configs/igb-lab.json > "$work/renamed.json"
config=$work/renamed.json
check 'the resource is renamed' installed
check 'the new name has the devices that nobody has' eventually is $((DEVICES - 1)) available renamed
check 'the pod runs, with its device' is "$device" in_use
RESOURCE=nvidia.com/renamed network renamed '{"type": "vfrail", "rdma": "require", "ipam": {"type": "whereabouts", "range": "192.168.120.0/24"}}'
RESOURCE=nvidia.com/renamed pod two renamed 1
check 'a pod with the new name runs' eventually running two
check 'with a device of its own' is 2 bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'and an active RDMA device' has PORT_ACTIVE in_pod two ibv_devinfo
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
check 'the resource has each device that no pod has by the other name' eventually has "^[$((DEVICES - 1))$DEVICES]\$" allocatable
list_never_below $((DEVICES - 1))
check 'both pods run' is 2 how_many_run
kubectl delete pod two --wait=false > /dev/null
check 'the pod with the new name ends' eventually gone two
check 'the resource has every device again' eventually is $DEVICES allocatable
check 'the new name has none' eventually is 0 available renamed
on_node 'rm -f /var/run/k8s.cni.cncf.io/devinfo/dp/nvidia.com-renamed-*'
