# A resource of configList by DRA: pods share one device by claims that the scheduler makes; from the device plugin and back.
if [ "$RDMA" != shared ]; then
    skip 'in exclusive mode a pod cannot open a device of the host: --rdma shared'
    return
fi
. "$here/dra.sh"
dra_can_run || return
list_never_below 0
stays_here+='|^/run/vfrail/claims/shared-pools$'    # which way each shared pool goes, until the next boot
shared=rdma/one_shared device=0000:21:10.0
# The moment between the two ways, when the Node's status is not yet that of the plugin.
explained_here="the device plugin still offers $shared on this node"
check 'the node has a Multus that resolves claims' multus_is claims
on_node "ip link set \$(netdev $device) up"
jq --arg name "$(on_node "netdev $device" | tr -d '\n')" \
    '.configList = [{resourceName: "one_shared", rdmaHcaMax: 25, setLinksUp: false, devices: [$name]}]' \
    examples/configs/igb-lab.json > "$work/shared.json"
config=$work/shared.json
of_plugin() { kubectl get node "$NODE" -o "jsonpath={.status.allocatable.rdma/one_shared}"; }
# shared_devices JQ: of the devices of the pool.
shared_devices() { devices "select(.attributes.kind.string == \"shared\") | $1"; }
how_many_lanes() { shared_devices .name | wc -l; }
how_many_shares() { kubectl get resourceclaims -A -o json | jq '[.items[].status.allocation.devices.results[]? | select(.shareID)] | length'; }
with_classes() {
    installed --set dra.enabled=true --set-json "dra.deviceClasses=[{\"name\":\"hostdev\",\"resource\":\"$RESOURCE\"},{\"name\":\"shared\",\"resource\":\"$shared\"}]" "$@"
}
rdma=$(on_node "rdmadev $device" | tr -d '\n') nodes=$(on_node "nodes_of $device | cut -d' ' -f1")
of_container() { kubectl exec "$1" -c test -- "${@:2}"; }
# shares NAME: the pod runs with the nodes of the device, which it can open.
shares() {
    check "$1 runs" eventually running "$1"
    check "$1 has the nodes of the device" is "$nodes" of_container "$1" ls /dev/infiniband
    check "$1 can open it" has PORT_ACTIVE of_container "$1" ibv_devinfo -d "$rdma"
}

section 'from the device plugin'
check 'a resource with a shared device' installed
check 'the device plugin has its units' eventually is 25 of_plugin
RESOURCE=$shared pod before '' 1
shares before
check 'vfrail is installed with DRA' with_classes
check 'the other devices are in slices' eventually is $DEVICES published
if ! extended; then
    check 'the shared one stays with the device plugin, as this API server has no shared devices' eventually has 'DRAConsumableCapacity' \
        kubectl -n kube-system exec daemonset/vfrail -c vfrail -- vfrail inspect
    kubectl delete pod before --wait=false > /dev/null
    check 'the pod ends' eventually gone before
    check 'each unit is there' is 25 of_plugin
    check 'and in no slice' is '' shared_devices .name
    RESOURCE=$shared pod after '' 1
    shares after
    check 'the device plugin serves it' is '' kubectl get resourceclaims -o name
    kubectl delete pod after --wait=false > /dev/null
    check 'it ends' eventually gone after
    config=examples/configs/igb-lab.json
    check 'the configuration is as before' installed
    check 'the node has the Multus that it had' multus_is release
    on_node "ip link set \$(netdev $device) down"
    return
fi
check 'the shared one stays, as a pod has a share' eventually is 25 of_plugin
check 'and inspect says so' eventually has 'pods have shares by the device plugin' \
    kubectl -n kube-system exec daemonset/vfrail -c vfrail -- vfrail inspect
kubectl delete pod before --wait=false > /dev/null
check 'the pod ends' eventually gone before
check 'the device plugin has no unit any more' eventually has '^0\?$' of_plugin
check 'the device is in a slice' eventually is rdma-one-shared-shared shared_devices .name
check 'several claims can have it' is true shared_devices .allowMultipleAllocations
check 'it has as many shares as the pool has units' is 25 shared_devices .capacity.shares.value

section 'pods'
RESOURCE=$shared pod one '' 1
shares one
check 'it has one share' is 1 how_many_shares
jq -n --argjson spec "$(RESOURCE=$shared pod_spec 1)" '{apiVersion: "v1", kind: "Pod", metadata: {name: "pair", labels: {app: "test"}},
    spec: ($spec | .containers += [.containers[0] | .name = "other"])}' | kubectl apply -f - > /dev/null
shares pair
check 'its other container too' is "$nodes" kubectl exec pair -c other -- ls /dev/infiniband
check 'each of its containers has one share' eventually is 3 how_many_shares
RESOURCE=$shared pod double '' 2
check 'for two shares in one container the scheduler waits, as README says' eventually has 'FailedScheduling.*\(cannot allocate all claims\|Insufficient\)' events double
kubectl delete pod double --wait=false > /dev/null
check 'it can be deleted' eventually gone double
# Until then kubelet goes through its device plugin's part for each such pod, and that has ended kubelet 1.37.1 here when twenty pods
# began at once (fatal error: concurrent map read and map write, in devicemanager.Allocate(); kubernetes#130050).
check 'kubelet has forgotten the resource of the device plugin' eventually lacks "$shared" on_node 'cat /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint'
for ((i = 1; i <= 20; i++)); do RESOURCE=$shared pod "s$i" '' 1; done
check 'twenty pods share the device' eventually is 22 how_many_run
shares s20
check 'each has a share' is 23 how_many_shares

section 'one ends'
kubectl delete pod s1 --wait=false > /dev/null
check 's1 ends' eventually gone s1
check 'its share can be had again' eventually is 22 how_many_shares
shares s2
shares one

section 'vfrail restarts'
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
# Kubelet deletes the slices of a driver that is away for 30 s, as on a busy machine.
check 'the shared device is in its slice' eventually is true shared_devices .allowMultipleAllocations
check 'the device plugin has no unit' has '^0\?$' of_plugin
shares s3
RESOURCE=$shared pod late '' 1
shares late

section 'two shares in one container'
kubectl delete pods -l app=test --wait=false > /dev/null
check 'no pod is left' eventually is '' kubectl get pods -o name
check 'vfrail is installed with two lanes' with_classes --set dra.lanes=2
check 'the device is two for claims' eventually is 2 how_many_lanes
RESOURCE=$shared pod double '' 2
shares double
kubectl delete pod double --wait=false > /dev/null
check 'it ends' eventually gone double

section 'the device plugin again'
ends_without_pods=yes
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
check 'vfrail is installed without DRA' installed
check 'the plugin has the units' eventually is 25 of_plugin
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
check 'the shared resource has no unit' eventually has '^0\?$' of_plugin
check 'the node has the Multus that it had' multus_is release
on_node "ip link set \$(netdev $device) down"
