#!/bin/bash
# Many vfrail-cni at once on 14 real VFs and their RDMA devices (tests/stress). Arguments: exclusive (default) or
# shared, the RDMA namespace mode; seconds; seed.
# Programs: vfrail-cni, stress, host-local.
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 7 --rdma "$mode"
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
ln -s "$(command -v nsenter)" /usr/local/bin/    # the crowd has a PATH of its own

section "${#all[@]} VFs, $mode RDMA namespaces"
# As the crowd does: addresses that the kernel makes by itself would make every comparison a race.
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
# Without the names of device nodes, which go round among the VFs, and those of MAD nodes, which soft RDMA devices
# lose by their moves.
state() { node_state | sed -E 's/ (infiniband_verbs|infiniband_mad)\/[^ ]*//g'; }
state > /tmp/before
nodes=$(ls /sys/class/infiniband_verbs)

# The kernel's lists can lack a device while others move, and on a busy machine such a moment lasts long. No IPAM
# plugin: it would hold each attachment up for longer than the moves take.
log=/tmp/vfrail-cni.log
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni > "/tmp/$2.answer" 2>> $log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"vfrail\",
            \"deviceID\": \"$3\", \"rdma\": \"require\"}" || { cat "/tmp/$2.answer"; return 1; }
}
# at_once VERB: for every VF and its pod; each must succeed.
at_once() {
    local i pids=()
    for i in "${!all[@]}"; do cni "$1" "p$i" "${all[i]}" & pids[i]=$!; done
    for i in "${!all[@]}"; do
        wait "${pids[i]}"
        check "$1 of ${all[i]}" [ $? = 0 ]
    done
}
section "${#all[@]} pods at the same moment, twice, beside 8 processes that take all of the processors"
hogs=()
for ((i = 0; i < 8; i++)); do while :; do :; done & hogs+=($!); done
for round in 1 2; do
    for i in "${!all[@]}"; do ip netns add "p$i"; done
    at_once ADD
    for i in "${!all[@]}"; do
        check "pod $i has the interface" ip netns exec "p$i" ip link show net1
        [ "$mode" = shared ] || check "pod $i has its RDMA device and no other" \
            is "mlx5_$i" ip netns exec "p$i" ls /sys/class/infiniband
    done
    [ "$mode" = shared ] || check 'the host has no RDMA device' is '' rdma dev show
    at_once DEL
    check 'the node is as before, but for the pods' diff /tmp/before <(state | grep -v '^netns p')
    for i in "${!all[@]}"; do ip netns del "p$i"; done
done
kill "${hogs[@]}"
wait "${hogs[@]}" 2> /dev/null
check 'no list had a gap that anyone noticed' lacks 'interrupted\|not in the host\|has not returned' cat $log
check 'nothing went wrong on the way' lacks '^\(error\|warning\)' cat $log
check 'the device nodes are the same' is "$nodes" ls /sys/class/infiniband_verbs

devices=()
for vf in "${all[@]}"; do devices+=(--device "$vf"); done
stress --workers 64 --seconds "${2:-60}" --seed "${3:-1}" "${devices[@]}"
status=$?
check 'nothing is lost' [ $status = 0 ]
# What the crowd gives the VFs before it begins, and so leaves them.
for vf in "${all[@]}"; do
    name=$(netdev "$vf")
    ip link set "$name" mtu 1500 txqueuelen 1000 alias '' down
    ip link property del dev "$name" altname "a-long-altname-of-$name"
done
check 'the node is as before' diff /tmp/before <(state)
check 'so are the device nodes' is "$nodes" ls /sys/class/infiniband_verbs
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
