# Kubelet is killed and started three times while eight pods attach, with each way of registration. It admits again every pod whose
# containers do not run yet, and refuses those until the plugin is registered: how many survive is printed, because it is
# kubelet's decision; what vfrail answers for is that no device is lost and that all of them can be had again.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
# Killed, kubelet leaves calls and streams without an end, and Multus asks it for the devices of a pod.
explained_here='^kubelet.log: |error reading from server: EOF|desc = EOF|it is still in a pod'
explained_here+='|error kubelet did not register .*id=VF-KUBELET-NOT-REACHED'
explained_here+='|^multus.log: .*(list pod resources|pod resources from client|ResourceClient instance|getting the delegate|error in getting k8s network|failed to get delegates)'
all_decided() { [ "$(kubectl get pods -l app=test -o json | jq '[.items[] | select(.status.phase == "Running" or .status.phase == "Failed")] | length')" = $DEVICES ]; }
by_reason() { kubectl get pods -l app=test -o json | jq -r '.items[].status | "\(.phase) \(.reason // "")"' | sort | uniq -c; }
for way in watcher legacy; do
    section "registration: $way"
    check 'vfrail registers in this way' installed --set "extraArgs={--registration=$way}"
    check 'every device is allocatable' eventually is $DEVICES allocatable
    creating=()
    for ((i = 0; i < DEVICES; i++)); do pod "p$i" hostdev 1 & creating+=($!); done
    wait "${creating[@]}"
    for seconds in 4 8 15; do
        sleep $seconds
        on_node 'service_stop kubelet KILL; service_start kubelet'
    done
    check 'each pod runs, or is refused' eventually all_decided
    echo "     $way:"; by_reason | sed 's/^/     /'
    [ "$(how_many_run)" = 0 ] || check 'those that run see their own RDMA nodes and no others' each_sees_its_own
    kubectl delete pods -l app=test --wait=false > /dev/null
    check 'no pod is left' eventually is '' kubectl get pods -o name
    check 'every device is in the host, as it was before' eventually at_baseline
    check 'every device is allocatable' eventually is $DEVICES allocatable
done
ends_without_pods=yes
check 'vfrail as it was' installed
