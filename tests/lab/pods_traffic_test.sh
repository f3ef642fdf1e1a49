#!/bin/bash
# RDMA between two pods, which vfrail-cni has attached to VFs of two NICs: what Soft-RoCE of Linux 7 can do, and that of 6.12
# cannot, since it has its sockets in the first namespace alone. Argument: exclusive (default) or shared; and how often (20).
# Programs: vfrail-cni, vfrail-check, static. Kernel: 7.
. /lab/lib.sh
mode=${1:-exclusive} times=${2:-20}
lab_up 1 --rdma "$mode"
ip netns attach host 1
declare -A device=([a]=0000:21:10.0 [b]=0000:41:10.0) address=([a]=10.9.0.1 [b]=10.9.0.2) rdma

# cni VERB POD: as Multus calls it.
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni > "/tmp/$2.answer" << END || { cat "/tmp/$2.answer"; return 1; }
{"cniVersion": "1.0.0", "name": "rail", "type": "vfrail", "deviceID": "${device[$2]}",
 "ipam": {"type": "static", "addresses": [{"address": "${address[$2]}/24"}]}}
END
}
in_pod() { ip netns exec "$@"; }
gid_index() { jq .inPod.gidIndex "/var/lib/cni/vfrail/attachments/$1:net1.json"; }
node_state > /tmp/before
for name in a b; do
    rdma[$name]=$(rdmadev "${device[$name]}")
    ip netns add $name
    ip -n $name link set lo up
    check "$name: ADD" cni ADD $name
    check "$name: the port is active" eventually has ACTIVE in_pod $name cat "/sys/class/infiniband/${rdma[$name]}/ports/1/state"
done
check 'the pods reach each other' eventually in_pod a ping -c 1 -W 2 "${address[b]}"

# pingpong KIND SERVER CLIENT: as users try a fabric.
pingpong() {
    local kind=$1 server=$2 client=$3 rc=0 process
    in_pod "$server" timeout 300 "ibv_${kind}_pingpong" -d "${rdma[$server]}" -g "$(gid_index "$server")" -n 100 -s 1024 > /tmp/server 2>&1 &
    process=$!
    # In state LISTEN: the server before this one may have left a connection in TIME_WAIT.
    eventually in_pod "$server" grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6 || return
    in_pod "$client" timeout 300 "ibv_${kind}_pingpong" -d "${rdma[$client]}" -g "$(gid_index "$client")" -n 100 -s 1024 "${address[$server]}" || rc=$?
    wait $process || rc=$?
    [ $rc -eq 0 ] || { cat /tmp/server; in_pod "$server" rdma statistic show; in_pod "$client" rdma statistic show; }
    return $rc
}
for kind in rc uc ud; do
    for ways in 'a b' 'b a'; do
        section "$kind, server and client: $ways, $times times"
        for ((i = 1; i <= times; i++)); do
            # shellcheck disable=SC2086
            check "$kind $ways: $i" pingpong $kind $ways
        done
    done
done

section 'vfrail-check, RDMA writes both ways'
# In shared mode each namespace has both RDMA devices; the nodes are kept from others by containers, which are not here.
rails=1
[ "$mode" = exclusive ] || rails=2
for ways in 'a b' 'b a'; do
    read -r listener caller <<< "$ways"
    for ((i = 1; i <= times; i++)); do
        in_pod "$listener" vfrail-check --listen > /tmp/listener 2>&1 &
        eventually has listening cat /tmp/listener
        in_pod "$caller" vfrail-check --to "${address[$listener]}" --message 64K --seconds 1 -o json > /tmp/call.json
        wait $!
        check "$caller to $listener: $i" is true jq --argjson rails $rails '.traffic.rails | length == $rails and
            all(.alone | .sent.gbits > 0 and .received.gbits > 0 and .failed == null)' /tmp/call.json || cat /tmp/call.json /tmp/listener
    done
done
jq -r '.traffic.rails[] | "\(.name): \(.alone.sent.gbits) Gbit/s sent, \(.alone.received.gbits) received"' /tmp/call.json

section 'afterwards'
for name in a b; do
    check "$name: DEL" cni DEL $name
    ip netns del $name
done
unchanged() { node_state > /tmp/after; diff /tmp/before /tmp/after; }
check 'everything is as it was before' eventually unchanged
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
