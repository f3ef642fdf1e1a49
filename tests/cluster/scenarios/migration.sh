# From the real sriov-network-device-plugin and sriov-cni to vfrail and back, while pods run, by manifests/MIGRATION.md.
#
# Their programs are not built here: PEERS is a folder that has them, as `sriovdp` and `sriov`, each linked statically
# (CGO_ENABLED=0 go build ./cmd/...). Tried with 3.9.0 and 2.9.0.
if [ ! -x "${PEERS-}/sriovdp" ] || [ ! -x "$PEERS/sriov" ]; then
    skip 'PEERS is not a folder with the programs sriovdp and sriov'
    return
fi
list_never_below $DEVICES
# The peer ends its stream without a word.
explained_here='^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" err=".*EOF"'
# A configuration of the peer has no keys of vfrail. The peer names PCI devices by the table of hwdata, and ends without it.
jq 'del(.resourceList[].mountCheck)' "$config" > "$work/peer.json"
config=$work/peer.json
mkdir -p "$node_share/peers"
cp "$PEERS/sriovdp" "$PEERS/sriov" "$work/peer.json" /usr/share/misc/pci.ids "$node_share/peers/"

peer_serves() {
    on_node 'mkdir -p /usr/share/hwdata && cp /host/peers/pci.ids /usr/share/hwdata/ &&
        service_start sriovdp /host/peers/sriovdp --config-file /host/peers/peer.json -logtostderr'
    check 'the peer serves the devices' eventually is $DEVICES allocatable
}
# kubelet says for some seconds after the end of a plugin what there was, and would fail pods that come then.
none_left() { check 'kubelet has no device any more' eventually is 0 allocatable; }

check 'vfrail is removed' helm uninstall vfrail --namespace kube-system --wait
none_left
peer_serves
on_node 'cp /host/peers/sriov /opt/cni/bin/sriov'
network rail '{"type": "sriov", "spoofchk": "off", "ipam": {"type": "whereabouts", "range": "192.168.120.0/24"}}'
for name in a b; do pod $name rail 1; done
check 'two pods of the peers run' eventually is 2 how_many_run
old_address=$(in_pod b ip -brief address show net1)
# What a pod's programs, and others by the network status, see of its device: without the numbers, which are others each time.
without_numbers() { sed -E 's/0000:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/FUNCTION/g; s/(uverbs|umad|issm|mlx5_)[0-9]+/\1N/g'; }
# (The peer has rdma_dev after 3.9.0.)
variables() { in_pod "$1" env | grep ^PCIDEVICE_ | sort | without_numbers | sed 's/"rdma_dev":"mlx5_N",//'; }
device_info() { network_status "$1" | jq -cS '.[] | select(.interface == "net1")["device-info"]' | without_numbers; }
old_variables=$(variables b) old_info=$(device_info b)
check 'pods of the peer have variables, and a device-info' has '_HOSTDEV=FUNCTION.*"pci-address":"FUNCTION"' echo $old_variables "$old_info"

section 'to vfrail'
on_node 'service_stop sriovdp'
none_left
check 'vfrail is installed, with the configuration of the peer' installed
check 'it serves the devices' eventually is $DEVICES allocatable
on_node 'cp /opt/cni/bin/sriov /opt/cni/sriov.original'
check 'a dry run names the attachments of both' is 2 on_node '/opt/cni/bin/vfrail sweep --dry-run --adopt | grep -c "attached by sriov-cni"'
check 'vfrail is installed as sriov' on_node '/opt/cni/bin/vfrail install --as sriov /opt/cni/bin'
check 'it takes both over' has '2 taken over' on_node '/opt/cni/bin/vfrail sweep --adopt'
check 'the pods run' is 2 how_many_run
check 'a pod has what it had' is "$old_address" in_pod b ip -brief address show net1
pod c rail 1
check 'a new pod runs' eventually running c
check 'with a device that no other has' is 3 bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'and an address that no other has' is 3 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'its RDMA device is active' has PORT_ACTIVE in_pod c ibv_devinfo
check 'it has the variables that pods of the peer have' is "$old_variables" variables c
check 'and the device-info' is "$old_info" device_info c
# (Those of the peer can have the nodes of others: it does not notice that a move renumbers them.)
check 'it sees its own RDMA nodes and no others' each_sees_its_own c
kubectl delete pod a c --wait=false > /dev/null
check 'a pod of each ends' eventually is 1 how_many_run
check 'their addresses are released' eventually is 1 addresses_assigned

section 'and back'
check 'vfrail is removed again' helm uninstall vfrail --namespace kube-system --wait
none_left
on_node 'cp /opt/cni/sriov.original /opt/cni/bin/sriov'
peer_serves
check 'a pod has what it had' is "$old_address" in_pod b ip -brief address show net1
pod d rail 1
check 'a new pod of the peers runs' eventually running d
ends_without_pods=yes
kubectl delete pod b d --wait=false > /dev/null
check 'both end' eventually is 0 how_many_run
check 'the sweep removes the record of the pod that vfrail had taken over' has '1 released' on_node '/opt/cni/bin/vfrail sweep'

on_node 'service_stop sriovdp; rm -rf /opt/cni/bin/sriov /opt/cni/sriov.original /var/lib/cni/sriov'
config=examples/configs/igb-lab.json
check 'vfrail serves again' installed
