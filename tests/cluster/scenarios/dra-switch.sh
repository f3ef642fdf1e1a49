# A node goes from the device plugin to DRA and back while pods run; at no moment are devices offered both ways.
. "$here/dra.sh"
dra_can_run || return
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
check 'the node has a Multus that resolves claims' multus_is claims
had() { in_pod "$1" ip -brief address show net1; in_pod "$1" env | grep ^PCIDEVICE_ | sort; }
# one_each COUNT: so many devices are in use, and each pod has its own.
one_each() { is "$1 $1" bash -c 'wc -l <<< "$1" | tr "\n" " "; printf %s "$(sort -u <<< "$1" | wc -l)"' - "$(in_use)"; }

section 'from the device plugin'
pod plugin hostdev 1
works plugin
of_plugin=$(had plugin) device=$(in_use)
list_never_below 0          # what the pod has is kubelet's all the same
watch_both
check 'vfrail is installed with DRA' dra_installed
check 'the device plugin has none any more' eventually no_plugin
check 'a claim can get each device but the one in use' eventually is $((DEVICES - 1)) published
check 'devices were never offered both ways' is '' both_at_once
check 'the device in use was never published' lacks " $DEVICES\$" cat "$work/of-slices"
check 'the slices have begun' has ' [1-9]' cat "$work/of-slices"
check 'the pod runs' running plugin
check 'with what it had' is "$of_plugin" had plugin
for ((i = 1; i < DEVICES; i++)); do asks "d$i" hostdev 1; done
check 'pods by DRA get all the others' eventually is $DEVICES how_many_run
check 'and no pod the device of another' one_each $DEVICES
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pod plugin --wait=false > /dev/null
check 'the first pod ends' eventually gone plugin
check 'its device goes to a claim as well' eventually is $DEVICES published
asks last hostdev 1
works last
check 'it is that device' is "$device" bash -c 'sed -n "s/^PCIDEVICE_NVIDIA_COM_HOSTDEV=//p" <<< "$1"' - "$(in_pod last env)"

section 'and back'
kubectl delete pods -l app=test --field-selector metadata.name!=d1 --wait=false > /dev/null
check 'one pod stays' eventually is pod/d1 kubectl get pods -l app=test -o name
check 'the devices of the others are in the host' eventually is 1 how_many_allocated
of_dra=$(had d1)
watch_both
explained_here='warning devices are unhealthy .* code=claimed '
check 'vfrail drains DRA' dra_installed --set dra.drain=true
check 'no slice has a device' eventually is 0 in_slices
check 'the plugin has each device but the one in use' eventually is $((DEVICES - 1)) allocatable
check 'devices were never offered both ways' is '' both_at_once
check 'the pod runs' running d1
check 'with what it had' is "$of_dra" had d1
for ((i = 1; i < DEVICES; i++)); do pod "p$i" hostdev 1; done
# The scheduler takes what d1 asked for off the device plugin's as well, so that one device stays free for as long as it runs.
run=$DEVICES
! extended || run=$((DEVICES - 1))
check 'pods by the plugin get all the others, or but one' eventually is $run how_many_run
check 'and no pod the device of another' one_each $run
kubectl delete pod d1 --wait=false > /dev/null
check 'the pod of the claim ends' eventually gone d1
check 'its device can be had from the plugin' eventually is $DEVICES allocatable
check 'the pod that waited, if one did, has one, too' eventually is $((DEVICES - 1)) how_many_run
check 'and no pod the device of another' one_each $((DEVICES - 1))
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
check 'vfrail is installed without DRA' installed
check 'all pods run' is $((DEVICES - 1)) how_many_run
check 'the plugin has all devices' eventually is $DEVICES allocatable
check 'the node has the Multus that it had' multus_is release
