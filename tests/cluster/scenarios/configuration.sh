# The configuration is changed while a pod runs: a resource is added, renamed, and is as before.
list_may_change=yes
# The device that the pod has is in neither resource.
explained_here='^pods/kube-system_vfrail-.* warning devices are unhealthy .*code=not_selected'
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'a pod runs' eventually running one
device=$(in_use)

jq '.resourceList[0].selectors.pciAddresses = ["0000:21:10.0", "0000:21:10.2", "0000:21:10.4", "0000:21:10.6"] |
    .resourceList += [.resourceList[0] | .resourceName = "other" | .selectors.pciAddresses = ["0000:41:10.0"]]' \
    examples/configs/igb-lab.json > "$work/changed.json"
config=$work/changed.json
check 'the configuration is changed' installed
other() { kubectl get node "$NODE" -o 'jsonpath={.status.allocatable.nvidia\.com/other}'; }
check 'the added resource has its device' eventually is 1 other
check 'the first one has those of its NIC, and the one in use' eventually has '^[45]$' allocatable
check 'the pod runs, with its device' is "$device" in_use

config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
check 'the first resource has every device again' eventually is $DEVICES allocatable
check 'the added one has none' eventually is 0 other
check 'the pod still runs' running one
