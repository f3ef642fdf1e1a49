# CDI: kubelet names the device, the runtime reads vfrail's spec, so eight at once cannot get each other's nodes.
#
# With `oldest` the runtime knows nothing of CDI, and vfrail is to notice that nobody reads the spec.
stays_here='^/run/vfrail/promised/|^/var/run/cdi/vfrail-'   # cni/README.md: with CDI until the next Allocate
ends_without_pods=yes
specs=$DEVICES
check 'vfrail serves with CDI' installed --set cdi.enabled=true
check 'every device is allocatable' eventually is $DEVICES allocatable
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

if [ "$set" = oldest ]; then
    specs=1
    explained_here='^pods/kube-system_vfrail-.* warning no container runtime has read the CDI spec '
    pod p0 hostdev 1
    check 'a pod runs' eventually running p0
    check 'it has no RDMA node, because containerd 1.6 reads no spec' refused in_pod p0 ls /dev/infiniband
    check 'which vfrail says after some minutes' eventually has 'no container runtime has read the CDI spec .*VF-CDI-NOT-SUPPORTED' vfrail_log
else
    creating=()
    for ((i = 0; i < DEVICES; i++)); do pod "p$i" hostdev 1 & creating+=($!); done
    wait "${creating[@]}"
    check 'a pod for each device runs' eventually is $DEVICES how_many_run
    check 'each container sees its own RDMA nodes and no others' each_sees_its_own
    for ((i = 0; i < DEVICES; i++)); do
        check "the RDMA device of p$i can be opened" has PORT_ACTIVE in_pod "p$i" ibv_devinfo
    done
fi
check 'a spec for each of them is there' is $specs on_node 'ls /var/run/cdi/vfrail-* | wc -l'
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -l app=test -o name
check 'vfrail without CDI again' installed
# A plugin without CDI does not have their folder; `vfrail-cni uninstall` removes them.
check 'the specs stay with their devices' is $specs on_node 'ls /var/run/cdi/vfrail-* | wc -l'
on_node 'rm /var/run/cdi/vfrail-*'
