#!/bin/bash
# Networks with "mode": interfaces of pods upon one of the host, which stays there, each kind on the kernel that has it.
#   tests/lab/run --program .../vfrail-cni --program .../static tests/lab/shared_interface_test.sh [roce|infiniband]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

fabric=${1:-roce}
lab_up 1 --fabric "$fabric" --rdma shared || exit

# Two cards on one switch; pods a and b stand on the first, c on the second.
first=0000:21:00.0 second=0000:41:00.0
master=$(netdev $first | head -n 1) other=$(netdev $second | head -n 1)
ip link set "$master" up && ip link set "$other" up || exit
export CNI_PATH=/usr/local/bin
in_pod() { local pod=$1; shift; ip netns exec "$pod" "$@"; }
declare -A host=([a]=1 [b]=2 [c]=3)
# cni COMMAND POD MASTER KEYS
cni() {
    local out rc=0
    out=$(CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 vfrail-cni 2> "/tmp/$2.log" << END
{"cniVersion": "1.0.0", "name": "shared", "type": "vfrail", "deviceID": "7", "master": "$3", $4,
 "ipam": {"type": "static", "addresses": [{"address": "10.9.0.${host[$2]}/24"}]}}
END
    ) || rc=$?
    echo "$out"
    [ "$1" != ADD ] || echo "$out" > "/tmp/$2.answer"
    return $rc
}
unchanged() { node_state > /tmp/now; diff /tmp/before /tmp/now; }
pods() { local pod; for pod; do ip netns add "$pod"; done; }
gone() { local pod; for pod; do ip netns del "$pod"; done; }

node_state > /tmp/before
# story MODE KEYS TEXT: three pods, of which each reaches the others; TEXT is what ip says of such an interface.
story() {
    local mode=$1 keys="\"mode\": \"$1\"$2" text=$3 pod
    section "$mode$2"
    pods a b c
    check 'ADD, the master by its PCI address'    cni ADD a $first "$keys"
    check 'ADD of another, by its name'           cni ADD b "$master" "$keys"
    check 'ADD on the other card'                 cni ADD c "$other" "$keys"
    check 'the interface is of that kind'         has "$text" in_pod a ip -d link show net1
    check '  with its address'                    has '10.9.0.1/24' in_pod a ip addr show net1
    check 'the pod sees the RDMA device'          has 'mlx5_' in_pod a rdma dev show
    check 'a pod on the same card answers'        eventually in_pod a ping -c 1 -W 1 10.9.0.2
    check 'a pod on the other card answers'       eventually in_pod a ping -c 1 -W 1 10.9.0.3
    check 'and back'                              eventually in_pod c ping -c 1 -W 1 10.9.0.1
    check 'CHECK'                                 cni CHECK a $first "$keys, \"prevResult\": $(< /tmp/a.answer)"
    in_pod a ip link set net1 down
    in_pod a ip link set net1 name renamed
    check 'CHECK of one that the pod renamed'     refused cni CHECK a $first "$keys, \"prevResult\": $(< /tmp/a.answer)"
    check 'DEL of it'                             cni DEL a $first "$keys"
    check '  and it is no longer there'           lacks renamed in_pod a ip -o link
    check 'the others have theirs'                eventually in_pod b ping -c 1 -W 1 10.9.0.3
    gone b
    check 'DEL after the namespace has ended'     cni DEL b "$master" "$keys"
    gone c
    check 'sweep of the one that nobody ended'    vfrail-cni sweep
    check '  and a second one has nothing to do'    lacks net1 vfrail-cni sweep
    check 'DEL twice'                             cni DEL c "$other" "$keys"
    gone a
    check 'the node is as before'                 eventually unchanged
}

if [ "$fabric" = roce ]; then
    story macvlan '' 'macvlan mode bridge'
    story macvlan ', "mtu": 1400' 'mtu 1400'
    story ipvlan '' 'ipvlan *mode l2'

    section 'GIDs'
    vf=$(vfs $first)
    ip link set "$(netdev "$vf")" up
    gids() { cat "$pci/$vf/infiniband/$(rdmadev "$vf")/ports/1/gids/"*; }
    pods a
    check 'ADD on a VF with an RDMA device'       cni ADD a "$vf" '"mode": "macvlan", "rdma": "require"'
    check 'the device has a GID of the address'   eventually has ':ffff:0a09:0001' gids
    check 'DEL'                                   cni DEL a "$vf" '"mode": "macvlan", "rdma": "require"'
    check '  and no longer'                       eventually lacks ':ffff:0a09:0001' gids
    ip link set "$(netdev "$vf")" down
    gone a
    check 'the node is as before'                 eventually unchanged

    section 'refused'
    pods a
    check 'ipoib on Ethernet'                     refused_with 'needs an interface of InfiniBand' cni ADD a $first '"mode": "ipoib"'
    ip link add taken link "$master" type macvlan
    check 'ipvlan where there is a macvlan'       refused_with 'something else has taken the master over' cni ADD a $first '"mode": "ipvlan"'
    ip link del taken
    check 'an MTU that the card has not'          refused_with 'mtu: 9000 is more' cni ADD a $first '"mode": "macvlan", "mtu": 9000'
else
    story ipoib '' 'link/infiniband'
    story ipoib ', "pkey": "0x8001"' 'pkey *0x8001'
    # What a limited member writes; the interface is of the same partition.
    story ipoib ', "pkey": "0x1"' 'pkey *0x8001'

    section 'refused'
    pods a
    check 'macvlan on InfiniBand'                 refused_with 'needs an interface of Ethernet' cni ADD a $first '"mode": "macvlan"'
    check 'a P_Key that is none'                  refused_with pkey cni ADD a $first '"mode": "ipoib", "pkey": "0x18001"'
    check 'a P_Key that the port has not'         cni ADD a $first '"mode": "ipoib", "pkey": "0x8009"'
    check '  the interface has no carrier'        lacks LOWER_UP in_pod a ip link show net1
    check '  DEL'                                 cni DEL a $first '"mode": "ipoib", "pkey": "0x8009"'
fi
gone a
check 'the node is as before'                     eventually unchanged
