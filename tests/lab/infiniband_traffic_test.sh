#!/bin/bash
# RDMA over InfiniBand between two pods that vfrail-cni has attached to VFs of two adapters: what programs of verbs do, with
# LIDs, partitions and GUIDs. The adapters are the lab's (module/): a packet is copied by the processor.
# Argument: exclusive (default) or shared. Programs: vfrail-cni, vfrail-check, static.
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 2 --fabric infiniband --rdma "$mode" || exit
declare -A device=([a]=0000:21:10.0 [b]=0000:41:10.2) address=([a]=10.9.0.1 [b]=10.9.0.2) guid=([a]=01 [b]=02) rdma

# cni VERB POD: as Multus calls it.
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni > "/tmp/$2.answer" << END || { cat "/tmp/$2.answer"; return 1; }
{"cniVersion": "1.0.0", "name": "ib", "type": "vfrail", "deviceID": "${device[$2]}", "guid": "00:11:22:33:44:55:66:${guid[$2]}",
 "ipam": {"type": "static", "addresses": [{"address": "${address[$2]}/24"}]}}
END
}
in_pod() { ip netns exec "$@"; }
# Not compared is what nobody set: the GUID of a VF that had none has ones alone afterwards, as ib-sriov-cni leaves it.
state() { node_state | sed -E 's/((00:){7}00|(ff:){7}ff)( |")/no GUID\4/g'; }
state > /tmp/before
for name in a b; do
    ip netns add $name
    ip -n $name link set lo up
    check "$name: ADD" cni ADD $name
    # The VF was bound anew for its GUID, so its RDMA device may have another name than before.
    if [ "$mode" = exclusive ]; then
        rdma[$name]=$(in_pod $name rdma dev show | grep -o 'mlx5_[0-9]*')
    else
        rdma[$name]=$(rdmadev "${device[$name]}")
    fi
    check "$name: the port is active" eventually has ACTIVE in_pod $name rdma link show "${rdma[$name]}/1"
done
check 'IPoIB from pod to pod' eventually in_pod a ping -c 1 -W 2 "${address[b]}"

# as_users PROGRAM SERVER CLIENT WORD...: PROGRAM in both pods, as users try a fabric.
as_users() {
    local program=$1 server=$2 client=$3 rc=0 process
    shift 3
    in_pod "$server" timeout "${limit:-60}" "$program" -d "${rdma[$server]}" "$@" > /tmp/server 2>&1 &
    process=$!
    # In state LISTEN: the server before this one may have left a connection in TIME_WAIT.
    eventually in_pod "$server" grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6 || { cat /tmp/server; return 1; }
    in_pod "$client" timeout "${limit:-60}" "$program" -d "${rdma[$client]}" "$@" "${address[$server]}" > /tmp/client 2>&1 || rc=$?
    wait $process || rc=$?
    [ $rc -eq 0 ] || { cat /tmp/server /tmp/client; return $rc; }
}
section "programs of libibverbs and perftest, $mode"
for ways in 'a b' 'b a'; do
    # shellcheck disable=SC2086
    for kind in rc uc ud; do check "ibv_${kind}_pingpong, server and client: $ways" as_users ibv_${kind}_pingpong $ways -n 100 -s 1024; done
    # shellcheck disable=SC2086
    check "ibv_rc_pingpong -c compares what arrives: $ways" as_users ibv_rc_pingpong $ways -n 100 -s 16384 -c
    # shellcheck disable=SC2086
    for program in ib_write_bw ib_read_bw ib_send_bw; do
        check "$program: $ways" as_users $program $ways -F -n 200 --use_old_post_send
        check '  over link layer InfiniBand' has ' IB' grep 'Link type' /tmp/client
    done
done

section 'vfrail-check, RDMA writes both ways'
for ways in 'a b' 'b a'; do
    read -r listener caller <<< "$ways"
    in_pod "$listener" vfrail-check --listen > /tmp/listener 2>&1 &
    eventually has listening cat /tmp/listener
    in_pod "$caller" vfrail-check --to "${address[$listener]}" --message 64K --seconds 1 -o json > /tmp/call.json
    wait $!
    # In shared mode each namespace has all RDMA devices, of which those without a pod have no GUID and no link: containers,
    # which are not here, keep their nodes from others.
    check "$caller to $listener" is true jq '[.traffic.rails[].alone | select(.failed != "port: the port is not ACTIVE")] | length > 0 and
        all(.sent.gbits > 0 and .received.gbits > 0 and .failed == null)' /tmp/call.json || cat /tmp/call.json /tmp/listener
done
jq -r '.traffic.rails[] | "\(.name): \(.alone.sent.gbits) Gbit/s sent, \(.alone.received.gbits) received"' /tmp/call.json

section 'a fabric that forbids it'
keys=/sys/module/ib_lab/parameters/pkeys
before=$(cat $keys)
echo 0xffff,0x8001,0x0002 > $keys
check 'one partition, not the default one' as_users ib_write_bw a b -F -n 200 --use_old_post_send --pkey_index=1
# in_partitions SERVER'S CLIENT'S: ib_write_bw with another index of the P_Key table on each side.
in_partitions() {
    local server rc=0
    in_pod a timeout 20 ib_write_bw -d "${rdma[a]}" -F -n 200 --use_old_post_send --pkey_index="$1" > /tmp/server 2>&1 &
    server=$!
    eventually in_pod a grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6 || return 0
    in_pod b timeout 20 ib_write_bw -d "${rdma[b]}" -F -n 200 --use_old_post_send --pkey_index="$2" "${address[a]}" > /tmp/client 2>&1 || rc=$?
    kill $server 2> /dev/null
    wait $server
    return $rc
}
check 'two partitions' refused in_partitions 0 1
check '  as the completion says' has 'ransport retry\|syndrom\|status 12' cat /tmp/client
check 'two limited members of one' refused in_partitions 2 2
echo "$before" > $keys
echo 0 > /sys/kernel/debug/ib_lab/0000:41:00.0/port1/cable
check 'without its cable the port is down' eventually has DOWN in_pod b rdma link show "${rdma[b]}/1"
limit=10 check 'and ibv_rc_pingpong fails' refused as_users ibv_rc_pingpong a b -n 100
echo 1 > /sys/kernel/debug/ib_lab/0000:41:00.0/port1/cable
check 'with it again' eventually has ACTIVE in_pod b rdma link show "${rdma[b]}/1"
check 'ibv_rc_pingpong works' as_users ibv_rc_pingpong a b -n 100

section 'afterwards'
for name in a b; do
    check "$name: DEL" cni DEL $name
    ip netns del $name
done
unchanged() { state > /tmp/after; diff /tmp/before /tmp/after; }
check 'everything is as it was before' eventually unchanged
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
