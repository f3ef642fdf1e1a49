# The VFs of a NIC are destroyed and made again while pods have some of them.
list_may_change=yes
explained_here='^pods/kube-system_vfrail-.* warning devices are unhealthy '
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for ((i = 0; i < DEVICES; i++)); do pod "p$i" hostdev 1; done
check 'a pod for each VF runs' eventually is $DEVICES how_many_run

on_node 'echo 0 > $pci/0000:21:00.0/sriov_numvfs'
check 'half of the devices are gone' eventually is "$VFS" allocatable
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods can be deleted all the same' eventually is '' kubectl get pods -l app=test -o name
check 'no address is assigned' eventually is 0 addresses_assigned

on_node 'echo '"$VFS"' > $pci/0000:21:00.0/sriov_numvfs; n=0
    for vf in $(vfs 0000:21:00.0); do rdma link add mlx5_$n type rxe netdev $(netdev $vf); n=$((n + 1)); done'
check 'the devices are back' eventually is $DEVICES allocatable
on_node 'baseline > /node/baseline'         # new VFs have new addresses
pod new hostdev 1
check 'a pod runs again' eventually running new
