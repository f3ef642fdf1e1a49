#!/bin/bash
# vfrail-cni and the device plugin with adapters of two ports: one RDMA device and two IPoIB interfaces for each function.
#   tests/lab/run --program .../vfrail-cni --program .../vfrail --program .../static tests/lab/infiniband_ports_test.sh [exclusive|shared]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

mode=${1:-exclusive}
lab_up 2 --fabric infiniband --rdma "$mode" --hca ports=2 || exit
# The administrator sets those of the second port through the PF's second interface.
for pf in $(pfs); do
    for net in $(netdev "$pf"); do
        port=$(< "/sys/class/net/$net/dev_port")
        for vf in 0 1; do
            ip link set "$net" vf $vf node_guid "00:11:22:33:44:${pf:5:2}:00:0$vf" || exit
            ip link set "$net" vf $vf port_guid "00:11:22:33:44:${pf:5:2}:0$((port + 1)):0$vf" || exit
        done
    done
    for vf in $(vfs "$pf"); do rebind "$vf"; eventually rdmadev "$vf" > /dev/null || exit; done
done

A=0000:21:10.0 B=0000:41:10.0
export CNI_PATH=/usr/local/bin
in_pod() { local pod=$1; shift; ip netns exec "$pod" "$@"; }
declare -A host=([a]=1 [b]=2)
# cni COMMAND POD VF [, KEYS]
cni() {
    local out rc=0
    out=$(CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 vfrail-cni 2> "/tmp/$2.log" << END
{"cniVersion": "1.0.0", "name": "ib", "type": "vfrail", "deviceID": "$3"${4-},
 "ipam": {"type": "static", "addresses": [{"address": "10.9.0.${host[$2]}/24"}]}}
END
    ) || rc=$?
    echo "$out"
    [ "$1" != ADD ] || echo "$out" > "/tmp/$2.answer"
    return $rc
}
# What an interface keeps is the port it belongs to: a move makes both anew.
ports_of() { local net; for net in "$pci/$1/net/"*; do echo "$(< "$net/dev_port") $(< "$net/address")" | sed -E 's/ ..:..:..:../ /'; done | sort; }
# In shared mode, where nothing makes the interface anew, its MTU is what the fabric's multicast group has left.
state() { if [ "$mode" = shared ]; then node_state | sed -E '/^link ib/s/ mtu=[0-9]+//'; else node_state; fi; }
unchanged() { state > /tmp/now; diff /tmp/before /tmp/now; }

state > /tmp/before
ports_of $A > /tmp/ports
section "two ports, $mode"
check 'each VF has an interface of each port'   is 2 eval 'wc -l < /tmp/ports'
for port in 0 1; do
    ip netns add a; ip netns add b
    check "ADD, port $port"                     cni ADD a $A ", \"port\": $port"
    check 'ADD of another'                      cni ADD b $B ", \"port\": $port"
    check 'the pod has the interface of it'     is $port in_pod a cat /sys/class/net/net1/dev_port
    check 'its port is active'                  eventually has LOWER_UP in_pod a ip link show net1
    check 'IPoIB from pod to pod'               eventually in_pod a ping -c 1 -W 1 10.9.0.2
    [ "$mode" = shared ] || check 'both ports of the RDMA device are there' is 2 eval 'in_pod a rdma link show | grep -c mlx5_'
    check 'CHECK'                               cni CHECK a $A ", \"port\": $port, \"prevResult\": $(< /tmp/a.answer)"
    check 'DEL'                                 cni DEL a $A ", \"port\": $port"
    ip netns del b
    check 'DEL after the namespace has ended'   cni DEL b $B ", \"port\": $port"
    ip netns del a
    check 'the interfaces are those of the ports again' eventually is "$(< /tmp/ports)" ports_of $A
    check 'the node is as before'               eventually unchanged
done

section 'a GUID for the pod'
for port in 0 1; do
    keys=", \"port\": $port, \"guid\": \"00:11:22:33:44:55:66:01\""
    ip netns add a
    check "ADD with a GUID, port $port"         cni ADD a $A "$keys"
    check 'the pod has it'                      has '66:01 brd' in_pod a ip link show net1
    check 'DEL'                                 cni DEL a $A "$keys"
    ip netns del a
    check 'the node is as before'               eventually unchanged
done

section 'the device plugin and its reports'
echo '{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", "selectors": {"isRdma": true}}]}' > /tmp/config.json
check 'inspect: every VF is offered'            is 4 eval 'vfrail inspect --config-file /tmp/config.json -o json | jq "[.devices[] | tojson | select(contains(\"nvidia.com/hostdev\"))] | length"'
check '  and none is without a GUID'            lacks 'VF-GUID' vfrail inspect --config-file /tmp/config.json
check 'plan'                                    vfrail plan
