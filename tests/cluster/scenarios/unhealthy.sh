# The cable of a NIC is pulled out while a pod has one of its devices: unhealthy, and in kubelet's list all the same.
list_never_below $DEVICES
jq '.resourceList[0].health = {"carrier": true}' examples/configs/igb-lab.json > "$work/carrier.json"
config=$work/carrier.json
explained_here='^pods/kube-system_vfrail-.* warning devices are unhealthy '
check 'the carrier of the PF is watched' installed
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for ((i = 0; i < VFS + 1; i++)); do pod "p$i" hostdev 1; done
check 'pods run on both NICs' eventually is $((VFS + 1)) how_many_run
has_both() { [ "$(in_use | cut -c1-7 | sort -u | wc -l)" = 2 ]; }
check 'which have devices of both' has_both

on_node 'cable pf0 out' > /dev/null
check 'half of the devices are not allocatable' eventually is "$VFS" allocatable
check 'but each is in the list' is $DEVICES capacity
check 'vfrail says why' eventually has 'warning devices are unhealthy .*0000:21:.*carrier' vfrail_log
check 'the pods run' is $((VFS + 1)) how_many_run
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -l app=test -o name

for ((i = 0; i < VFS + 1; i++)); do pod "p$i" hostdev 1; done
check 'a pod for each healthy device runs' eventually is "$VFS" how_many_run
check 'none has an unhealthy one' lacks '0000:21' in_use
on_node 'cable pf0 in' > /dev/null
check 'every device is allocatable again' eventually is $DEVICES allocatable
check 'the pod that has waited runs' eventually is $((VFS + 1)) how_many_run
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
