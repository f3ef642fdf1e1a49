# The VFs of a NIC are destroyed while pods have all VFs of the node, and made again while the pods of the other NIC run.
list_never_below $DEVICES
explained_here='^pods/kube-system_vfrail-.* warning devices are unhealthy .*code=gone'
# Those of the other NICs: they must be as before when their pods have ended. New VFs have new addresses.
of_others() {
    on_node 'all=$(baseline); for pf in $(pfs); do
        [ $pf = 0000:21:00.0 ] || for vf in $(vfs $pf); do grep -E " ($vf|$(netdev $vf)) " <<< "$all"; done
    done'
}
others=$(of_others)
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for ((i = 0; i < DEVICES; i++)); do pod "p$i" hostdev 1; done
check 'a pod for each VF runs' eventually is $DEVICES how_many_run
on_nic=() on_others=()
for ((i = 0; i < DEVICES; i++)); do
    if has 'HOSTDEV=0000:21:' in_pod "p$i" env > /dev/null; then on_nic+=("p$i"); else on_others+=("p$i"); fi
done
check 'each NIC has its share of them' is "$VFS" echo ${#on_nic[@]}

on_node 'echo 0 > $pci/0000:21:00.0/sriov_numvfs'
check 'its devices are not allocatable' eventually is $((DEVICES - VFS)) allocatable
check 'they stay in the list: pods have them' is $DEVICES capacity
check 'vfrail says why' eventually has 'warning devices are unhealthy .*0000:21:.*it has vanished from the node' vfrail_log
check 'the pods run' is $DEVICES how_many_run
list_never_below $((DEVICES - VFS))
kubectl delete pods "${on_nic[@]}" --wait=false > /dev/null
check 'their pods can be deleted all the same' eventually is $((DEVICES - VFS)) bash -c 'kubectl get pods -o name | wc -l'
# vfrail asks kubelet who has what every five minutes; until then they stay, unhealthy.
check 'then they leave the list' eventually is $((DEVICES - VFS)) capacity
check 'their addresses are given back' eventually is $((DEVICES - VFS)) addresses_assigned

on_node 'echo '"$VFS"' > $pci/0000:21:00.0/sriov_numvfs; n=0
    for vf in $(vfs 0000:21:00.0); do rdma link add mlx5_$n type rxe netdev $(netdev $vf); n=$((n + 1)); done'
check 'the devices are back' eventually is $DEVICES allocatable
list_never_below $DEVICES
check 'the pods of the other NICs run' is $((DEVICES - VFS)) how_many_run
for name in "${on_nic[@]}"; do pod $name hostdev 1; done
check 'pods run on the new VFs' eventually is $DEVICES how_many_run
check 'with active RDMA devices' has PORT_ACTIVE in_pod "${on_nic[0]}" ibv_devinfo
check 'each container sees its own RDMA nodes and no others' each_sees_its_own

ends_without_pods=yes
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -o name
check 'the other VFs are in the host, as they were before' eventually is "$others" of_others
on_node 'baseline > /node/baseline'
