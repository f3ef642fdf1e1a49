#!/bin/bash
# An InfiniBand pod by the real ib-sriov-cni and rdma-cni, and by vfrail-cni with the same network: what the pod has, and what
# becomes of the node; then vfrail-cni takes over what the peers have attached. Not in tests/run, which cannot fetch the peers:
# build them from their repositories (cmd/ib-sriov-cni, cmd/rdma), and name them by path.
#   tests/lab/run --program .../vfrail-cni --program .../static --program PATH/ib-sriov-cni --program PATH/rdma
#       tests/lab/infiniband_peers_test.sh
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
for peer in ib-sriov-cni rdma; do
    [ -x /usr/local/bin/$peer ] || { echo "infiniband_peers_test: no /usr/local/bin/$peer: give it by --program"; exit 2; }
done
lab_up 3 --fabric infiniband && set_guids || exit
A=0000:21:10.0 PF=0000:21:00.0
ours=/opt/ours theirs=/opt/theirs work=/run/t
mkdir -p $ours $theirs $work
cp /usr/local/bin/static $ours/ && cp /usr/local/bin/static $theirs/
cp /usr/local/bin/ib-sriov-cni $theirs/ib-sriov && cp /usr/local/bin/rdma $theirs/rdma
# iproute2's is needed below.
rm /usr/local/bin/rdma && hash -r
vfrail-cni install --as ib-sriov $ours > $work/install.log && vfrail-cni install --as rdma $ours >> $work/install.log
GUID=00:11:22:33:44:55:66:01
in_pod() { ip netns exec a "$@"; }
# one FOLDER TYPE VERB KEYS: one plugin of the list.
one() {
    CNI_COMMAND=$3 CNI_CONTAINERID=a CNI_NETNS=/run/netns/a CNI_IFNAME=net1 CNI_PATH=$1 "$1/$2" 2>> $work/cni.log \
        <<< "{\"cniVersion\": \"0.4.0\", \"name\": \"ib\", \"type\": \"$2\", \"deviceID\": \"$A\"$4}"
}
keys=", \"link_state\": \"enable\", \"rdmaIsolation\": true, \"runtimeConfig\": {\"infinibandGUID\": \"$GUID\"}"
keys+=", \"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.9.0.1/24\"}]}"
# As runtimes and Multus do it (cachedInfo, libcni/api.go).
cache() {
    local config="{\"cniVersion\": \"0.4.0\", \"name\": \"ib\", \"type\": \"ib-sriov\", \"deviceID\": \"$A\"$keys}"
    mkdir -p /var/lib/cni/results
    jq -n --arg config "$(base64 -w 0 <<< "$config")" --slurpfile result $work/result '{kind: "cniCacheV1", containerId: "a",
        config: $config, ifName: "net1", networkName: "ib", netns: "/run/netns/a", result: $result[0]}' > /var/lib/cni/results/ib-a-net1
}
add() { one "$1" ib-sriov ADD "$keys" > $work/result || { cat $work/result; return 1; }; }
del() { one "$1" ib-sriov DEL "$keys, \"prevResult\": $(< $work/result)"; }
facts_of_pod() {
    in_pod ip -j -d address show net1 | jq -r '.[] | "net1 mtu \(.mtu) up \(.flags | index("UP") != null) guid \(.address | .[36:])",
        (.addr_info[] | select(.scope != "link") | "address \(.local)/\(.prefixlen)")'
    in_pod rdma -j dev show | jq -r '.[] | "rdma \(.ifname) \(.node_guid)"'
    ip -j link show "$(netdev $PF | head -n 1)" | jq -r '.[0].vfinfo_list[0] | "vf 0 \(."port guid") \(.link_state)"'
}
state() { node_state | grep -v '^file /var/lib/cni/' | sed -E 's/(uverbs|umad|issm)[0-9]+/\1N/g'; }
unchanged() { state > $work/now; diff $work/before $work/now; }
# What the peers leave is not ours to count.
restore_by_hand() {
    local kind link
    link=$(netdev $PF | head -n 1)
    for kind in node_guid port_guid; do ip link set "$link" vf 0 $kind 00:11:22:33:44:55:01:00; done
    ip link set "$link" vf 0 state auto
    rebind $A
    eventually rdmadev $A > /dev/null
    eventually netdev $A > /dev/null
    state > $work/before
}
state > $work/before

for who in theirs ours; do
    section "the pod of $who"
    ip netns add a
    begin=${EPOCHREALTIME/./}
    check 'ADD' add ${!who}
    echo "ADD took $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    facts_of_pod | tee $work/$who.facts
    begin=${EPOCHREALTIME/./}
    check 'DEL' del ${!who}
    echo "DEL took $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    ip netns del a
    if [ $who = ours ]; then
        check 'the node is as before' eventually unchanged
    else
        sleep 3
        echo "what differs afterwards on the node:"; unchanged
        restore_by_hand
    fi
done
section 'the same pod'
check 'has the same by both' diff $work/theirs.facts $work/ours.facts

# ib-sriov-cni without its own isolation, and rdma-cni behind it. Before Linux 6.17 IPoIB's interface ends when its RDMA device
# moves, and with it the pod's net1: what the peers do then is printed, ours attaches both by the first entry.
section 'ib-sriov and rdma in one list'
with_isolation=$keys keys=${keys/\"rdmaIsolation\": true, /}
for who in theirs ours; do
    ip netns add a
    add ${!who} && one ${!who} rdma ADD ", \"prevResult\": $(< $work/result)" > $work/second || cat $work/second
    facts_of_pod > $work/$who.facts
    sed "s/^/$who: /" $work/$who.facts
    one ${!who} rdma DEL ", \"prevResult\": $(< $work/result)"
    del ${!who}
    ip netns del a
    [ $who = ours ] || { sleep 3; restore_by_hand; }
done
check 'ours has its interface' has "^net1 .* guid $GUID" cat $work/ours.facts
check 'and its RDMA device' has '^rdma mlx5_2' cat $work/ours.facts
check 'the node is as before' eventually unchanged
keys=$with_isolation

section 'what the peers have attached'
ip netns add a
check 'ADD of the peers' add $theirs
check 'and the cache of the runtime' cache
check 'a sweep reports it' has "$A .*ib-sriov-cni" vfrail-cni sweep
check 'and takes it over on demand' has "^taken over: $A" vfrail-cni sweep --adopt
check 'DEL of ours' del $ours
ip netns del a
# ib-sriov-cni does not write down the MTU: it stays what it was in the pod, which the fabric's multicast group bounds.
unchanged_but_mtu() { state > $work/now; diff <(sed '/^link ib2/s/ mtu=[0-9]*//' $work/before) <(sed '/^link ib2/s/ mtu=[0-9]*//' $work/now); }
check 'the node is as before' eventually unchanged_but_mtu
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $work/cni.log
