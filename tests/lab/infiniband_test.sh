#!/bin/bash
# vfrail-cni with InfiniBand VFs and the kernel's IPoIB: what it does, and what goes wrong on the way.
#   tests/lab/run --program .../vfrail-cni --program .../static tests/lab/infiniband_test.sh [exclusive|shared]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

mode=${1:-exclusive}
lab_up 3 --fabric infiniband --rdma "$mode" || exit

A=0000:21:10.0 B=0000:41:10.2
P=$(netdev 0000:21:00.0)
parameters=/sys/module/ib_lab/parameters
export CNI_PATH=/usr/local/bin
pod() { ip netns add "$1"; }
in_pod() { local pod=$1; shift; ip netns exec "$pod" "$@"; }
write() { echo "$1" > "$2"; }
host_of() { if [ "$1" = a ]; then echo 1; else echo 2; fi; }
# conf VF POD [, KEYS [TYPE]]
conf() {
    echo "{\"cniVersion\": \"1.0.0\", \"name\": \"ib\", \"type\": \"${4:-vfrail}\", \"deviceID\": \"$1\"${3-}," \
        "\"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.9.0.$(host_of "$2")/24\"}]}}"
}
# cni COMMAND POD VF [, KEYS [TYPE]]
cni() {
    local command=$1 pod=$2 out rc=0
    out=$(CNI_COMMAND=$command CNI_CONTAINERID=$pod CNI_NETNS=/run/netns/$pod CNI_IFNAME=net1 \
        vfrail-cni 2> "/tmp/$pod.log" <<< "$(conf "$3" "$pod" "${4-}" "${5-}")") || rc=$?
    echo "$out"
    [ "$command" != ADD ] || echo "$out" > "/tmp/$pod.answer"
    return $rc
}
# Not compared is what nobody set: the GUID of a VF that had none has ones alone afterwards, as ib-sriov-cni leaves it.
state() { node_state | sed -E 's/((00:){7}00|(ff:){7}ff)( |")/no GUID\4/g'; }
unchanged() {
    state > /tmp/now
    diff /tmp/before /tmp/now
}
GUID_A=', "guid": "00:11:22:33:44:55:66:01"' GUID_B=', "guid": "00:11:22:33:44:55:66:02"'

state > /tmp/before
pod a; pod b
section "two pods, $mode"
check 'ADD'                              cni ADD a $A "$GUID_A"
check 'ADD of another'                   cni ADD b $B "$GUID_B"
check 'the pod has its interface'        has '10.9.0.1/24' in_pod a ip addr show up dev net1
check '  with the GUID'                  has '00:11:22:33:44:55:66:01 brd' in_pod a ip link show net1
check '  and no other of the VF'         lacks ': ib' in_pod a ip -o link
[ "$mode" = shared ] || check '  and its RDMA device' has 'mlx5_' in_pod a rdma dev show
check 'the fabric knows it'              eventually has 'LOWER_UP' in_pod a ip link show net1
check 'IPoIB from pod to pod'            eventually in_pod a ping -c 1 -W 1 10.9.0.2
check 'CHECK'                            cni CHECK a $A "$GUID_A, \"prevResult\": $(< /tmp/a.answer)"
check 'DEL'                              cni DEL a $A "$GUID_A"
check 'the namespace ends before DEL'    ip netns del b
check '  DEL'                            cni DEL b $B "$GUID_B"
check 'the node is as before'            eventually eval 'ip netns del a; unchanged'

section 'what the pod did'
pod a
check 'ADD'                              cni ADD a $A "$GUID_A"
in_pod a ip link add link net1 name child type ipoib pkey 0x8001
in_pod a bash -c 'echo connected > /sys/class/net/net1/mode'
in_pod a ip link set net1 down
in_pod a ip link set net1 name other mtu 1280 multicast off
in_pod a ip link set other up
check 'DEL'                              cni DEL a $A "$GUID_A"
check '  and no child remains'           lacks 'child' in_pod a ip -o link
ip netns del a
check 'the node is as before'            eventually unchanged

section 'a sweep'
pod a
check 'ADD'                              cni ADD a $A "$GUID_A"
ip netns del a
check 'sweep'                            vfrail-cni sweep
check 'the node is as before'            eventually unchanged

section 'refused'
pod a
check 'no GUID'                          refused_with 'guid' cni ADD a $A
write $((0x00112233445566ff)) $parameters/refused_guid
check 'a GUID that the PF refuses'       refused_with 'GUID 00:11:22:33:44:55:66:ff.*take guid out' cni ADD a $A ', "guid": "00:11:22:33:44:55:66:ff"'
write 0 $parameters/refused_guid
check 'the node is as before'            eventually eval 'ip netns del a; unchanged'

section 'a driver that cannot be bound'
pod a
write 1 $parameters/fail_probes
check 'ADD'                              refused cni ADD a $A "$GUID_A"
write 0 $parameters/fail_probes
check 'DEL'                              cni DEL a $A "$GUID_A"
check 'the VF has its driver'            eventually is ib_lab driver_of $A
check 'the node is as before'            eventually eval 'ip netns del a; unchanged'

section 'no subnet manager'
write 0 $parameters/sm
pod a
check 'ADD'                              cni ADD a $A "$GUID_A"
check 'no carrier, and the log says so'  lacks LOWER_UP in_pod a ip link show net1
check 'DEL'                              cni DEL a $A "$GUID_A"
write 1 $parameters/sm
check 'the node is as before'            eventually eval 'ip netns del a; unchanged'

section 'where a GUID comes from'
# guid_of_pod KEYS: what a pod of a network with these keys has.
guid_of_pod() {
    pod a
    cni ADD a $A ", $1" > /tmp/guid.log && in_pod a ip link show net1 || { cat /tmp/guid.log; ip netns del a; return 1; }
    cni DEL a $A ", $1" && ip netns del a
}
from_network='"guid": "00:11:22:33:44:55:66:01"'
from_args='"args": {"cni": {"guid": "00:11:22:33:44:55:66:02"}}'
from_runtime='"runtimeConfig": {"infinibandGUID": "00:11:22:33:44:55:66:03"}'
from_ib_kubernetes='"runtimeConfig": {"infinibandGUID": "00:11:22:33:44:55:66:04"}, "ibKubernetesEnabled": true,
    "args": {"cni": {"mellanox.infiniband.app": "configured", "guid": "00:11:22:33:44:55:66:04"}}'
check 'the network'                      has '66:01 brd' guid_of_pod "$from_network"
check 'args.cni, before the network'     has '66:02 brd' guid_of_pod "$from_network, $from_args"
check 'the runtime, before both'         has '66:03 brd' guid_of_pod "$from_network, $from_args, $from_runtime"
check 'ib-kubernetes'                    has '66:04 brd' guid_of_pod "$from_ib_kubernetes"
check '  which has not answered yet'     refused_with 'ib-kubernetes' guid_of_pod '"ibKubernetesEnabled": true'
check 'a P_Key that is none'             refused_with 'pkey' guid_of_pod "$from_network, \"pkey\": \"0x18001\""
check 'a P_Key'                          has '66:01 brd' guid_of_pod "$from_network, \"pkey\": \"0x8001\""
check 'the node is as before'            eventually unchanged

section 'GC'
pod a; pod b
check 'ADD'                              cni ADD a $A "$GUID_A"
check 'ADD of another'                   cni ADD b $B "$GUID_B"
ip netns del a
gc() {
    CNI_COMMAND=GC CNI_PATH=/usr/local/bin vfrail-cni <<< '{"cniVersion": "1.1.0", "name": "ib", "type": "vfrail",
        "cni.dev/valid-attachments": [{"containerID": "b", "ifname": "net1"}], "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}'
}
check 'GC of the pod that has ended'     gc
check 'its VF is back'                   eventually rdmadev $A
check 'the other is attached'            in_pod b ip link show net1
check 'DEL'                              cni DEL b $B "$GUID_B"
ip netns del b
check 'the node is as before'            eventually unchanged

section 'in the place of ib-sriov'
pod a
if [ "$mode" = exclusive ]; then
    keys="$GUID_A, \"link_state\": \"enable\", \"rdmaIsolation\": true, \"pkey\": \"0x8001\""
    check 'ADD'                          cni ADD a $A "$keys" ib-sriov
    check 'the PF has the link state'    has 'vf 0 .*link-state enable' ip link show "$P"
    check 'DEL'                          cni DEL a $A "$keys" ib-sriov
else
    check 'isolation needs the other mode' refused_with 'rdmaIsolation' cni ADD a $A "$GUID_A, \"rdmaIsolation\": true" ib-sriov
fi
check 'the node is as before'            eventually eval 'ip netns del a; unchanged'

# Without a GUID in the network nothing rebinds the VF, and in shared mode nothing moves its RDMA device.
section 'interfaces of other partitions'
check 'GUIDs of the administrator'       set_guids 1
# The MTU of IPoIB is what the fabric's multicast group has left, until the next bind.
unchanged_but_mtu() { state > /tmp/now; diff <(sed '/^link ib2/s/ mtu=[0-9]*//' /tmp/before) <(sed '/^link ib2/s/ mtu=[0-9]*//' /tmp/now); }
state > /tmp/before
for ended in no yes; do
    pod a
    check 'ADD'                          cni ADD a $A
    in_pod a ip link add link net1 name evil1 type ipoib pkey 0x8001
    in_pod a ip link add link net1 name evil2 type ipoib pkey 0x8002
    check 'the pod has two'              has 'evil2' in_pod a ip -o link
    [ $ended = no ] || ip netns del a
    check "DEL, the namespace has ended: $ended" cni DEL a $A
    [ $ended = yes ] || check '  and none remains' lacks 'evil' in_pod a ip -o link
    [ $ended = yes ] || ip netns del a
    check 'the node is as before'        eventually unchanged_but_mtu
done
if [ "$mode" = shared ]; then
    pod a
    check 'ADD with podNetAdmin'             cni ADD a $A ', "podNetAdmin": true'
    check 'DEL: the pod can have hidden one, and the VF is rebound' eval 'cni DEL a $A ", \"podNetAdmin\": true" && grep -q "in namespaces that the pod made" /tmp/a.log'
    ip netns del a
    check 'the node is as before'            eventually unchanged_but_mtu
fi
