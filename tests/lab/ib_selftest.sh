#!/bin/bash
# Proves what the lab offers with "lab_up N --fabric infiniband".
#   tests/lab/run tests/lab/ib_selftest.sh [exclusive|shared [1|2]]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

mode=${1:-exclusive} ports=${2:-1}
lab_up 2 --fabric infiniband --rdma "$mode" --hca "ports=$ports" || exit

PF0=0000:21:00.0 PF1=0000:41:00.0
A=0000:21:10.0 B=0000:41:10.0
parameters=/sys/module/ib_lab/parameters
P=$(netdev $PF0 | head -n 1) Q=$(netdev $PF1 | head -n 1)

in_pod() { ip netns exec pod "$@"; }
write() { echo "$1" > "$2"; }
port() { cat "$pci/$1/infiniband/"*"/ports/1/$2"; }          # port ADDRESS FILE
address() { cat "$pci/$1/net/"*/address | head -n 1; }
debug() { echo "/sys/kernel/debug/ib_lab/$1/port1/$2"; }
warnings() { dmesg | grep -E 'WARNING:|BUG:|Call Trace|Oops'; }
ping_from() { ${1:+ip netns exec "$1"} ping -c 1 -W 1 "$2"; }
set_guid() { ip link set "$1" vf 0 node_guid "$2" && ip link set "$1" vf 0 port_guid "$2"; }
# Where IPoIB makes its interface again when the device moves: since Linux 6.17 beside it, before in the host.
beside() { [ "$(printf '6.17\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.17 ]; }

ip netns attach host 1
section "devices"
check 'two PFs'                          is "$PF0"$'\n'"$PF1" pfs
check 'drivers'                          is 'ib_lab ib_lab' echo "$(driver_of $PF0)" "$(driver_of $A)"
check 'in the order of addresses'        is 'mlx5_0 mlx5_1' echo "$(rdmadev $PF0)" "$(rdmadev $PF1)"
check 'a child of the VF'                has '^mlx5_' rdmadev $A
check 'link layer'                       is InfiniBand port $A link_layer
check 'IPoIB: the interface of a VF'     eventually has '^ib' netdev $A
check "$ports ports"                     is "$ports" eval "ls $pci/$A/infiniband/*/ports | wc -l"
check '  and interfaces'                 is "$ports" eval "netdev $A | wc -l"
check 'its address has 20 bytes'         is 20 eval "address $A | tr : '\n' | wc -l"
check 'P_Keys'                           is '0xffff 0x8001' echo "$(port $A pkeys/0)" "$(port $A pkeys/1)"
check 'uverbs and umad'                  test -d $pci/$A/infiniband_verbs -a -d $pci/$A/infiniband_mad

section "GUIDs and link state, set at the PF"
check 'a PF is ACTIVE'                   eventually has ACTIVE port $PF0 state
check 'with a LID and that of the SM'    eval "has '^0x[0-9a-f]*[1-9a-f]' port $PF0 lid && is 0x1 port $PF0 sm_lid"
check 'a VF without GUID is down'        has DOWN port $A state
check 'a GUID'                           set_guid "$P" 00:11:22:33:44:55:66:01
check 'the PF reports it'                has '00:11:22:33:44:55:66:01' ip link show "$P"
check 'the VF has it not yet'            lacks '6601$' port $A gids/0
rebind $A
check 'after its driver was bound: GID'  eventually is fe80:0000:0000:0000:0011:2233:4455:6601 port $A gids/0
check '  the end of the address'         eventually has '00:11:22:33:44:55:66:01$' address $A
check '  port ACTIVE'                    eventually has ACTIVE port $A state
check 'link state disable'               ip link set "$P" vf 0 state disable
check '  the port is down'               eventually has DOWN port $A state
check '  the PF reports it'              has 'vf 0 .*link-state disable' ip link show "$P"
check 'link state auto'                  ip link set "$P" vf 0 state auto
check '  the port is ACTIVE'             eventually has ACTIVE port $A state
write 0 "$(debug $PF0 cable)"
check 'the cable of the PF: down'        eventually has DOWN port $A state
write 1 "$(debug $PF0 cable)"
check '  and up'                         eventually has ACTIVE port $A state
write $((0x00112233445566ff)) $parameters/refused_guid
check 'a GUID that the PF refuses'       refused_with 'Invalid argument' set_guid "$P" 00:11:22:33:44:55:66:ff
write 1 $parameters/live_guid
check 'one that the VF has at once'      set_guid "$P" 00:11:22:33:44:55:66:02
check '  is in its GID'                  eventually has '6602$' port $A gids/0
write 0 $parameters/live_guid

section "what the fabric does late or not at all"
write 0 $parameters/sm
check 'no subnet manager: INIT'          eventually has INIT port $A state
check '  no LID, no SM'                  is '0x0 0x0' echo "$(port $A lid)" "$(port $A sm_lid)"
write 1 $parameters/sm
check 'a subnet manager: ACTIVE'         eventually has ACTIVE port $A state
write 10000 $parameters/configure_ms
rebind $A
check 'a GUID that is new to it: INIT'   eventually has INIT port $A state
check '  then ACTIVE'                    eventually has ACTIVE port $A state
write 0 $parameters/configure_ms
write 5000 $parameters/event_ms
ip link set "$(netdev $A | head -n 1)" up
ip link set "$P" vf 0 state disable
check 'a late event: the port is down'   has DOWN port $A state
check '  IPoIB does not know yet'        is 1 cat "/sys/class/net/$(netdev $A | head -n 1)/carrier"
check '  and then does'                  eventually is 0 cat "/sys/class/net/$(netdev $A | head -n 1)/carrier"
write 0 $parameters/event_ms
ip link set "$P" vf 0 state auto
write 0xffff $parameters/pkeys
check 'a P_Key less'                     eventually is 0x0000 port $A pkeys/1
write 0xffff,0x8001 $parameters/pkeys
check '  and again'                      eventually is 0x8001 port $A pkeys/1
write 1 $parameters/fail_probes
rebind $A > /dev/null 2>&1
check 'a probe that fails: no driver'    refused driver_of $A
rebind $A
check '  and the next succeeds'          eventually has . netdev $A
check 'counters of errors'               write 7 "$(debug $A symbol_error)"
check '  in sysfs'                       is 7 port $A counters/symbol_error

section "traffic"
set_guid "$Q" 00:11:22:33:44:55:66:77
rebind $B
eventually has . netdev $B > /dev/null
i=0
for function in $A $B; do
    i=$((i + 1))
    eventually has ACTIVE port $function state > /dev/null
    name=$(netdev $function | head -n 1)
    ip netns add t$i
    ip link set "$name" netns t$i
    ip -n t$i link set "$name" name ib0
    ip -n t$i addr add 10.9.0.$i/24 dev ib0
    ip -n t$i link set ib0 up
done
check 'VF to VF'                         eventually ping_from t1 10.9.0.2
check 'counted'                          refused is 0 port $A counters/port_xmit_packets
ip -n t1 link add link ib0 name child type ipoib pkey 0x8001
ip -n t2 link add link ib0 name child type ipoib pkey 0x8001
for i in 1 2; do ip -n t$i addr add 10.9.1.$i/24 dev child; ip -n t$i link set child up; done
check 'within a P_Key'                   eventually ping_from t1 10.9.1.2
for i in 1 2; do ip netns exec t$i bash -c 'echo connected > /sys/class/net/ib0/mode; ip link set ib0 mtu 65520'; done
check 'connected mode'                   has connected ip netns exec t1 cat /sys/class/net/ib0/mode
for i in 1 2; do ip netns del t$i; done
check 'back from ended namespaces'       eventually has . netdev $A

section "network namespaces, $mode"
ip netns add pod
device=$(rdmadev $A)
if [ "$mode" = shared ]; then
    check 'a pod sees all devices'       has "$device" in_pod rdma dev show
    check 'none can move'                refused_with 'not supported' rdma dev set "$device" netns pod
else
    check 'a device moves'               rdma dev set "$device" netns pod
    check '  and is in the pod'          has "$device" in_pod rdma dev show
    if beside; then
        check '  its interface, too'     eventually has '^[0-9]+: ib' in_pod ip -o link
    else
        check '  its interface is not'   eventually has . netdev $A
        check '  nor any'                lacks ': ib' in_pod ip -o link
    fi
fi
ip netns del pod
check 'back'                             eventually has "$device" rdmadev $A
check '  with its interface'             eventually has . netdev $A

section "the end"
rebind $A
check 'bound again'                      eventually has . netdev $A
check 'VFs go'                           write 0 $pci/$PF0/sriov_numvfs
check 'VFs come'                         write 1 $pci/$PF0/sriov_numvfs
check '  without a GUID'                 eventually has DOWN port $A state
check 'unload IPoIB'                     rmmod ib_ipoib
check '  no interface'                   refused netdev $A
check 'no warning of the kernel'         refused warnings
