# CDI: kubelet names the device, the runtime reads vfrail's spec, so eight at once cannot get each other's nodes.
mkdir -p "$work/cdi"
sed 's|^  - ../../manifests$|  - ../manifests|' examples/cdi/kustomization.yaml > "$work/cdi/kustomization.yaml"
check 'vfrail serves with CDI' vfrail_rolled_out "$work/cdi"
check 'every device is allocatable' eventually is $((2 * VFS)) allocatable
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

creating=()
for ((i = 0; i < 2 * VFS; i++)); do pod "p$i" hostdev 1 & creating+=($!); done
wait "${creating[@]}"
check 'a pod for each device runs' eventually is $((2 * VFS)) how_many_run
check 'a spec for each of them is there' is $((2 * VFS)) on_node 'ls /var/run/cdi/vfrail-* | wc -l'
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for ((i = 0; i < 2 * VFS; i++)); do
    check "the RDMA device of p$i can be opened" has PORT_ACTIVE in_pod "p$i" ibv_devinfo
done
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is 0 bash -c 'kubectl get pods -l app=test -o name | wc -l'
check 'vfrail without CDI again' vfrail_rolled_out "$work/manifests"
check 'no spec is left' eventually is 0 on_node 'ls /var/run/cdi | wc -l'
