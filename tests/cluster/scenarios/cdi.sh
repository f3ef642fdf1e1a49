# CDI: kubelet names the device, the runtime reads vfrail's spec, so eight at once cannot get each other's nodes.
if [ "$set" = oldest ]; then
    skip 'containerd 1.6 has no CDI'
    return
fi
check 'vfrail serves with CDI' installed --set cdi.enabled=true
check 'every device is allocatable' eventually is $DEVICES allocatable
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

creating=()
for ((i = 0; i < DEVICES; i++)); do pod "p$i" hostdev 1 & creating+=($!); done
wait "${creating[@]}"
check 'a pod for each device runs' eventually is $DEVICES how_many_run
check 'a spec for each of them is there' is $DEVICES on_node 'ls /var/run/cdi/vfrail-* | wc -l'
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for ((i = 0; i < DEVICES; i++)); do
    check "the RDMA device of p$i can be opened" has PORT_ACTIVE in_pod "p$i" ibv_devinfo
done
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -l app=test -o name
check 'vfrail without CDI again' installed
# A plugin without CDI does not have their folder; `vfrail-cni uninstall` removes them.
check 'the specs stay with their devices' is $DEVICES on_node 'ls /var/run/cdi/vfrail-* | wc -l'
on_node 'rm /var/run/cdi/vfrail-*'
