#!/bin/bash
# RDMA over both rails of two pods, which vfrail-cni has attached to a VF of each of two NICs on one switch. With sourceRouting the
# messages of each rail arrive, whatever the neighbours' table was before. Without it a pod answers ARP for its address of one rail
# on the other as well; who has taken that answer sends to an RDMA device that does not know the queue pair, and repeats itself until
# the neighbour is asked again: printed beside it. Argument: how often each (10).
# Programs: vfrail-cni, static. Kernel: 7.
. /lab/lib.sh
times=${1:-10}
lab_up 2 --rdma exclusive
ip netns attach host 1
mapfile -t cards < <(pfs)
declare -A device rdma
pod_number=0
for name in a b; do
    for rail in 0 1; do device[$name$rail]=$(vfs "${cards[$rail]}" | sed -n $((pod_number + 1))p); done
    pod_number=$((pod_number + 1))
done

# cni VERB POD RAIL: as Multus calls it, with $routing.
cni() {
    local number=1
    [ "$2" = a ] || number=2
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net$3 CNI_PATH=/usr/local/bin \
        vfrail-cni > /tmp/answer << END_OF_CONFIGURATION || { cat /tmp/answer; return 1; }
{"cniVersion": "1.0.0", "name": "rail$3", "type": "vfrail", "deviceID": "${device[$2$3]}"$routing,
 "ipam": {"type": "static", "addresses": [{"address": "10.9.$3.$number/24"}]}}
END_OF_CONFIGURATION
}
in_pod() { ip netns exec "$@"; }
both() {
    local name rail
    for name in a b; do for rail in 0 1; do cni "$1" $name $rail || return; done; done
}
gid_index() { jq .inPod.gidIndex "/var/lib/cni/vfrail/attachments/$1:net$2.json"; }
mac_of() { ip -n "$1" -o link show "net$2" | sed -nE 's,.*link/ether ([^ ]*).*,\1,p'; }
neighbour() { ip -n a neigh show "10.9.$1.2" dev "net$1" | sed -nE 's/.*lladdr ([^ ]*).*/\1/p'; }
statistic() { in_pod "$1" rdma statistic show link "${rdma[$1$2]}/1" | sed -nE "s/.* $3 ([0-9]+).*/\1/p"; }
learn() {
    ip -n a neigh flush all && ip -n b neigh flush all
    in_pod a ping -c 1 -W 2 "10.9.$1.2" > /dev/null
}
learns_right() { learn "$1"; is "$(mac_of b "$1")" neighbour "$1"; }
# pingpong RAIL: b is the server.
pingpong() {
    local rail=$1 rc=0 process
    in_pod b timeout 40 ibv_rc_pingpong -d "${rdma[b$rail]}" -g "$(gid_index b "$rail")" -n 20 -s 1024 > /tmp/server 2>&1 &
    process=$!
    eventually in_pod b grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6 || return
    in_pod a timeout 30 ibv_rc_pingpong -d "${rdma[a$rail]}" -g "$(gid_index a "$rail")" -n 20 -s 1024 "10.9.$rail.2" > /tmp/client 2>&1 || rc=$?
    wait $process || rc=$?
    [ $rc -eq 0 ] || cat /tmp/server /tmp/client
    return $rc
}
attached() {
    local name
    for name in a b; do ip netns add $name; ip -n $name link set lo up; done
    check 'ADD of both rails in both pods' both ADD
    for name in a0 a1 b0 b1; do
        check "$name: the port is active" eventually has ACTIVE in_pod ${name%?} cat "/sys/class/infiniband/${rdma[$name]}/ports/1/state"
    done
    for rail in 0 1; do check "rail $rail: the pods reach each other" eventually in_pod a ping -c 1 -W 2 10.9.$rail.2; done
}
released() {
    check 'DEL' both DEL
    ip netns del a; ip netns del b
}
for name in "${!device[@]}"; do rdma[$name]=$(rdmadev "${device[$name]}"); done
node_state > /tmp/before

section 'with sourceRouting'
routing=', "sourceRouting": true'
attached
for ((i = 1; i <= times; i++)); do
    for rail in 0 1; do
        check "rail $rail, $i: the neighbour is that of the rail" learns_right $rail
        check "rail $rail, $i: the messages arrive" pingpong $rail
    done
done
released

section 'without'
routing=
attached
for rail in 0 1; do
    learn $rail
    wrong=$(mac_of b $((1 - rail)))
    echo "rail $rail: the neighbour is $(neighbour $rail), that of the rail is $(mac_of b $rail), that of the other $wrong"
    # Who comes first is another each time, so the answer of the other rail is taken by hand.
    ip -n a neigh replace "10.9.$rail.2" lladdr "$wrong" dev net$rail nud permanent
    check "rail $rail: by the other rail's neighbour IP arrives" in_pod a ping -c 1 -W 2 10.9.$rail.2
    sent=$(statistic a $rail sent_pkts) received=$(statistic b $rail rcvd_pkts)
    check "rail $rail: and RDMA does not" refused pingpong $rail
    echo "rail $rail: sent $(($(statistic a $rail sent_pkts) - sent)), received $(($(statistic b $rail rcvd_pkts) - received))"
    ip -n a neigh replace "10.9.$rail.2" lladdr "$(mac_of b $rail)" dev net$rail nud permanent
    check "rail $rail: by its own the messages arrive" pingpong $rail
done
released

section 'afterwards'
unchanged() { node_state > /tmp/after; diff /tmp/before /tmp/after; }
check 'everything is as it was before' eventually unchanged
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
