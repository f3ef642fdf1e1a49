# A node without VFs gets them by the configuration alone, a pod that waits for one runs; fewer while a pod has one; a driver that is
# loaded again. RDMA devices are emulated, so the test makes those of new VFs, as hardware would.
list_never_below 0
stays_here+='|^/run/vfrail/provision/'      # how far it is, until the next boot
# The VFs that the pods of before had are gone, and the driver's refusals are this scenario's.
explained_here='^pods/kube-system_vfrail-.* warning (devices are unhealthy .*code=(gone|provisioning)|configuration|VFs are not configured)'
explained_here+='|^pods/kube-system_vfrail-.* warning .*VF-PROVISION-'
# As in the scenario power: kubelet finds the socket of before the boot.
explained_here+='|^kubelet.log: .*RegisterPlugin error -- dial failed at socket'
explained_here+='|^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(the client connection is closing|use of closed network connection)'
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
num_vfs() { on_node "cat \$pci/$1/sriov_numvfs"; }
provision_log() { kubectl -n kube-system logs daemonset/vfrail-provision "$@"; }
# with_count N: the configuration with an entry for both PFs, installed.
with_count() {
    jq --argjson count "$1" '.vfs = [{pf: ["0000:21:00.0", "0000:41:00.0"], count: $count}]' examples/configs/igb-lab.json > "$work/vfs.json"
    config=$work/vfs.json installed --set provision.enabled=true
}
# new_rdma_devices: each VF that has none gets one.
new_rdma_devices() {
    on_node 'for pf in $(pfs); do for vf in $(vfs $pf); do
        [ -e $pci/$vf/infiniband ] || [ ! -e $pci/$vf/net ] || rdma link add mlx5_p${vf//[:.]/_} type rxe netdev $(netdev $vf)
    done; done; true'
}
devices_with_rdma() { new_rdma_devices > /dev/null; allocatable; }

section 'from zero'
on_node 'for pf in $(pfs); do echo 0 > $pci/$pf/sriov_numvfs; done'
check 'the node has no device' eventually is 0 allocatable
pod one hostdev 1
check 'a pod waits' has Pending phase one
check 'the configuration wants VFs' with_count $VFS
check 'they are made' eventually is $VFS num_vfs 0000:21:00.0
check 'and advertised' eventually is $DEVICES devices_with_rdma
check 'the pod runs, without a hand' eventually running one
check 'the log says so' has 'VFs are configured pf=0000:21:00.0' provision_log
device=$(in_use) used=0000:21:00.0 other=0000:41:00.0
[[ $device == 0000:21:* ]] || { used=0000:41:00.0; other=0000:21:00.0; }

section 'fewer'
check 'two are wanted of each PF' with_count 2
check 'the PF that no pod uses has two' eventually is 2 num_vfs $other
check 'that of the pod keeps its VFs' is $VFS num_vfs $used
check 'which are not allocated any more' eventually has "devices are unhealthy .*${used%:*}.*provisioning" vfrail_log
check 'the log says for whom it waits' eventually has "one" provision_log
check 'allocatable are the two of the other PF, and the one that the pod has' eventually is 3 devices_with_rdma
check 'the pod runs, with its device' is "$device" in_use
kubectl delete pod one --wait=false > /dev/null
check 'when it has ended, its PF has two, too' eventually is 2 num_vfs $used
check 'all are allocatable' eventually is 4 devices_with_rdma

section 'the driver is loaded again'
check 'as many as before are wanted' with_count $VFS
check 'they are made' eventually is $DEVICES devices_with_rdma
on_node 'echo 0000:21:00.0 > /sys/bus/pci/drivers/igb/unbind && echo 0000:21:00.0 > /sys/bus/pci/drivers/igb/bind'
check 'the VFs come back' eventually is $VFS num_vfs 0000:21:00.0
check 'and are advertised' eventually is $DEVICES devices_with_rdma
pod two hostdev 1
check 'a pod runs' eventually running two
check 'with an active RDMA device' has PORT_ACTIVE in_pod two ibv_devinfo

section 'a boot without VFs'
# Bound to the node, it fails if kubelet admits it before the plugin has registered, as with any device plugin.
on_node sync
node_ends
came=0
boot_vfs=0 node_up > "$logs/node-comes-back.log" 2>&1 || came=$?
check 'the node comes back' is 0 echo "$came"
check 'its VFs are made again' eventually is "$VFS $VFS" eval 'echo $(num_vfs 0000:21:00.0; num_vfs 0000:41:00.0)'
check 'and advertised' eventually is $DEVICES devices_with_rdma
kubectl delete pod two --wait=false > /dev/null
check 'the pod of before can be deleted' eventually gone two
pod three hostdev 1
check 'a pod runs' eventually running three
check 'with an active RDMA device' has PORT_ACTIVE in_pod three ibv_devinfo

section 'as before'
ends_without_pods=yes
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -o name
check 'without provision' installed
check 'its pods are gone' eventually is '' kubectl -n kube-system get daemonset vfrail-provision --ignore-not-found -o name
check 'the VFs stay' is $VFS num_vfs 0000:21:00.0
on_node 'baseline > /node/baseline'
