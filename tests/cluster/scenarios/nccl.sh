# NCCL's own transport in two pods of a Job with two rails each: which devices, interface and GID it takes, and that its messages
# arrive on each rail.
#
# The program is not built here: NCCL_TRANSPORT is what tests/nccl/build_transport makes of NCCL's source.
if [ "$LAB_KERNEL" != 7 ] || [ ! -x "${NCCL_TRANSPORT-}" ]; then
    skip 'it needs --kernel 7, and the program of tests/nccl/build_transport as NCCL_TRANSPORT'
    return
fi
list_never_below "$VFS"
stays_here='^/run/vfrail/(promised|none)/|^/var/run/cdi/vfrail-'    # README.md of cni and plugin: until the next Allocate
jq '.resourceList[0] += {bundle: true, podFiles: ["nccl"]}' examples/configs/igb-lab.json > "$work/nccl.json"
config=$work/nccl.json
check 'the devices are bundled, with a file of NCCL for each pod' installed --set cdi.enabled=true
check 'a unit is a VF of each NIC' eventually is "$VFS" allocatable
network rails '{"type": "vfrail", "sourceRouting": true, "ipam": {"type": "whereabouts"},
    "rails": {"ipam": [{"range": "192.168.140.0/24"}, {"range": "192.168.141.0/24"}]}}'
job nccl rails '{"capabilities": {"add": ["IPC_LOCK"]}}'
check 'both pods of the Job run' eventually is 2 how_many_run
read -r first second <<< "$(kubectl get pods -l app=test -o 'jsonpath={.items[*].metadata.name}')"

# transport POD ARGUMENT...: the program, with NCCL's log on its output.
transport() { in_pod "$1" env NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET /tmp/nccl_transport "${@:2}"; }
of_pod() { in_pod "$1" cat /run/vfrail/pod.json | jq -r "$2"; }
for name in $first $second; do
    kubectl exec -i "$name" -- bash -c 'cat > /tmp/nccl_transport && chmod +x /tmp/nccl_transport' < "$NCCL_TRANSPORT"
    taken=$(transport "$name" | tee "$work/$name.nccl")
    check "$name: NCCL takes both rails, in the order of pod.json" has \
        "NET/IB : Using \[0\]$(of_pod "$name" '[.interfaces[].rdma + ":1/RoCE"] | join(" \\[1\\]")')" echo "$taken"
    check "$name: and the interface of the pod network for what precedes" has 'OOB eth0:' echo "$taken"
done
for ways in "$first $second" "$second $first"; do
    read -r server client <<< "$ways"
    transport "$server" listen > "$work/to-$server.nccl" &
    check "$server listens on both rails" eventually is 2 grep -c "^handle" "$work/to-$server.nccl"
    handles=$(sed -n "s/^handle //p" "$work/to-$server.nccl")
    # shellcheck disable=SC2086
    transport "$client" connect $handles > "$work/from-$client.nccl"
    check "$client to $server: it sends on both rails" is 2 grep -c ': sent$' "$work/from-$client.nccl"
    wait $!
    check "$server: on both rails what was sent arrives" is 2 grep -c 'received what was sent' "$work/to-$server.nccl"
    check "$client: by the GID that pod.json names" is "$(of_pod "$client" '[.interfaces[].gid_index] | unique | join(" ")')" \
        bash -c 'sed -nE "s/.* GID ([0-9]+) .*/\1/p" "$1" | sort -u' - "$work/from-$client.nccl"
done
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete job nccl --cascade=foreground > /dev/null
config=examples/configs/igb-lab.json
check 'the devices are as before' installed
check 'every device is allocatable again' eventually is $DEVICES allocatable
on_node 'rm -f /var/run/cdi/vfrail-*'
