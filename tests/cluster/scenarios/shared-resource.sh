# A resource of configList: two pods have the same device at once, beside devices that a pod has for itself.
if [ "$RDMA" != shared ]; then
    skip 'in exclusive mode a pod cannot open a device of the host: --rdma shared'
    return
fi
device=0000:21:10.0
on_node "ip link set \$(netdev $device) up"
jq --arg name "$(on_node "netdev $device" | tr -d '\n')" \
    '.configList = [{resourceName: "one_shared", rdmaHcaMax: 3, setLinksUp: false, devices: [$name]}]' \
    examples/configs/igb-lab.json > "$work/shared.json"
config=$work/shared.json
check 'a resource with a shared device' installed
shared() { kubectl get node "$NODE" -o 'jsonpath={.status.allocatable.rdma/one_shared}'; }
check 'it has its units' eventually is 3 shared
check 'the other resource has each device' is $DEVICES allocatable
for name in a b; do RESOURCE=rdma/one_shared pod $name '' 1; done
check 'two pods run' eventually is 2 how_many_run
nodes=$(on_node "nodes_of $device | cut -d' ' -f1")
for name in a b; do
    check "$name has the nodes of the device" is "$nodes" in_pod $name ls /dev/infiniband
    check "$name can open it" has PORT_ACTIVE in_pod $name ibv_devinfo -d "$(on_node "rdmadev $device" | tr -d '\n')"
done
RESOURCE=rdma/one_shared pod more '' 2
check 'there are no two units more' eventually has Insufficient events more
kubectl delete pod a more --wait=false > /dev/null
check 'one ends' eventually gone a
check 'the other can still open it' has PORT_ACTIVE in_pod b ibv_devinfo -d "$(on_node "rdmadev $device" | tr -d '\n')"
ends_without_pods=yes
kubectl delete pod b --wait=false > /dev/null
check 'the other ends' eventually gone b
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
check 'the shared resource has no unit' eventually is 0 shared
on_node "ip link set \$(netdev $device) down"
