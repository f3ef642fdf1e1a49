#!/bin/bash
# Proves that the lab offers what tests may rely on, and has the limits that README.md says it has.
#   tests/lab/run tests/lab/selftest.sh
# shellcheck disable=SC2046,SC2086      # addresses and names here hold no blanks
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

begin=$(cut -d. -f1 /proc/uptime)
lab_up 4 || exit
section "lab_up took $(($(cut -d. -f1 /proc/uptime) - begin)) s"

PF0=0000:21:00.0 PF1=0000:41:00.0
A=0000:21:10.0 B=0000:21:10.2 C=0000:21:10.4 D=0000:21:10.6    # VFs 0 to 3 of the first PF
E=0000:41:10.0                                                # VF 0 of the second
P=$(netdev $PF0) N=$(netdev $A) ND=$(netdev $D)

# What the kernel answers differs from 6.12 to 7.
no_switchdev='not supported' name_taken='File exists'
[ "$(uname -r | cut -d. -f1)" -lt 7 ] || no_switchdev='No such file' name_taken='same name exists'

link_name() { basename "$(readlink "$1")"; }
in_pod() { ip netns exec pod "$@"; }
carrier() { cat "/sys/class/net/$1/carrier"; }
mac() { cat "/sys/class/net/$1/address"; }
vf_mac() { ip -j link show "$P" | jq -r ".[0].vfinfo_list[$1].address"; }
number() { basename "$pci/$1/infiniband_$2/"*; }              # number ADDRESS verbs|mad
opens() { : < "/dev/infiniband/$1"; }
write() { echo "$1" > "$2"; }
warnings() { dmesg | grep -E 'WARNING:|BUG:|Call Trace|Oops'; }

# The namespace of this script by a name, for "rdma dev set": it takes no process id.
ip netns attach host 1
section "PCI"
check 'two PFs'                          is "$PF0"$'\n'"$PF1" pfs
check '7 VFs possible'                   is 7 cat $pci/$PF0/sriov_totalvfs
check '4 VFs made'                       is "$A"$'\n'"$B"$'\n'"$C"$'\n'"$D" vfs $PF0
check 'offset and stride'                is '128 2' echo $(cat $pci/$PF0/sriov_{offset,stride})
check 'ids of a PF'                      is '0x8086 0x10c9' echo $(cat $pci/$PF0/{vendor,device})
check 'ids of a VF'                      is '0x8086 0x10ca' echo $(cat $pci/$A/{vendor,device})
check 'drivers'                          is 'igb igbvf' echo "$(driver_of $PF0)" "$(driver_of $A)"
check 'a VF knows its PF'                is $PF0 link_name $pci/$A/physfn
check 'a PF knows its VFs'               is $B link_name $pci/$PF0/virtfn1
check 'NUMA nodes'                       is '0 1' echo $(cat $pci/{$A,$E}/numa_node)
check 'CPUs of the NUMA nodes'           is '0 1' echo $(cat $pci/{$A,$E}/local_cpulist)
check 'an IOMMU group for each VF'       is $A ls $pci/$A/iommu_group/devices
check 'a VF has no remove'               refused_with 'ermission denied' write 1 $pci/$A/remove
check 'change of the number is refused'  refused_with 'busy' write 5 $pci/$PF0/sriov_numvfs
check 'an 8th VF is refused'             refused_with 'out of range' write 8 $pci/$PF1/sriov_numvfs
check 'no devlink devices'               is '' devlink dev show
check 'no switchdev'                     refused_with "$no_switchdev" cat "/sys/class/net/$P/phys_switch_id"

section "node_state, on VF 3"
node_state > /tmp/before
ip link set "$P" vf 3 vlan 7
ip link set "$ND" mtu 1400 txqueuelen 500
ip link property add dev "$ND" altname other
ip netns add pod
rdma dev set mlx5_3 netns pod
node_state > /tmp/during
changed() { diff /tmp/before /tmp/during | grep -c "$1"; }      # busybox: lines begin with + and -
for line in 'vf .*"vlan":7' "link $ND .*mtu=1400 txqlen=500.*altnames=other" 'netns pod' 'rdma mlx5_3/1 .*in pod'; do
    check "shows $line"                  is 1 changed "^+$line"
done
check 'shows what is gone'               is 1 changed "^-function $D .*infiniband/mlx5_3"
ip netns del pod
ip link set "$P" vf 3 vlan 0
ip link set "$ND" mtu 1500 txqueuelen 1000
ip link property del dev "$ND" altname other
eventually has mlx5_3 rdma dev show
check 'shows that all is as before'      eventually eval 'node_state | diff /tmp/before -'

section "VF properties, on VF 3"
# Not on a VF that is to send afterwards: with a new MAC it cannot before its driver is bound anew.
for good in 'mac 02:00:00:00:00:01' 'mac 00:00:00:00:00:00' 'vlan 100' 'vlan 100 qos 3' 'vlan 0' 'spoofchk off' \
    'spoofchk on' 'trust on' 'trust off' 'max_tx_rate 100' 'max_tx_rate 0' 'rate 50' 'rate 0'; do
    check "$good"                        ip link set "$P" vf 3 $good
done
while read -r reason bad; do
    check "$bad is refused"              refused_with "${reason//_/ }" ip link set "$P" vf 3 $bad
done << 'END'
Invalid_argument min_tx_rate 10
not_supported state auto
not_supported state enable
not_supported state disable
not_supported query_rss on
not_supported node_guid 00:11:22:33:44:55:66:77
not_supported port_guid 00:11:22:33:44:55:66:77
Protocol_not_supported vlan 5 proto 802.1ad
END
check 'there is no VF 7'                 refused_with 'Invalid argument' ip link set "$P" vf 7 mac 02:00:00:00:00:01

section "MAC address, on VF 3"
check 'the VF may set its own'           ip link set "$ND" address 02:00:00:00:00:03
check 'the PF sees it'                   is 02:00:00:00:00:03 vf_mac 3
check 'the administrator sets the same'  ip link set "$P" vf 3 mac 02:00:00:00:00:03
check 'then the VF may not any more'     refused_with 'Cannot assign' ip link set "$ND" address 02:00:00:00:00:04
check 'a trusted VF may'                 ip link set "$P" vf 3 trust on
check '  and does'                       ip link set "$ND" address 02:00:00:00:00:04
ip link set "$P" vf 3 trust off
ip link set "$P" vf 3 mac 02:00:00:00:00:05
check 'the VF does not see a change'     is 02:00:00:00:00:04 mac "$ND"
rebind $D
check 'before its driver is bound anew'  eventually is 02:00:00:00:00:05 mac "$(netdev $D)"
check 'MTU 9216'                         ip link set "$(netdev $D)" mtu 9216
rdma link add mlx5_3 type rxe netdev "$(netdev $D)"     # it went with the netdev

section "RDMA"
check 'exclusive mode'                   has 'netns exclusive' rdma system show
ip netns add pod
check 'fixed while there are namespaces' refused_with 'busy' rdma system set netns shared
check 'a pod sees nothing'               is '' in_pod rdma dev show
ip netns del pod
check 'shared mode'                      eventually rdma system set netns shared
ip netns add pod
check 'a pod sees all devices'           is 8 eval 'in_pod rdma dev show | wc -l'
check 'none can move'                    refused_with 'not supported' rdma dev set mlx5_0 netns pod
check 'a pod opens any of them'          in_pod bash -c ': < /dev/infiniband/uverbs0'
check 'a netdev moves, its device stays' eval 'ip link set $N netns pod && has "link mlx5_0/1" rdma link show'
ip netns del pod
check 'and they find each other again'   eventually has "mlx5_0/1.*netdev $N" rdma link show
check 'exclusive mode again'             eventually rdma system set netns exclusive
check 'a child of the PCI function'      is "../../devices/pci0000:20/0000:20:00.0/$PF0/../$A/infiniband/mlx5_0" \
    echo "$(readlink /sys/class/infiniband/mlx5_0 | sed "s#/$A/#/$PF0/../$A/#")"
check 'its uverbs and umad'              is 'uverbs0 umad0' echo "$(number $A verbs)" "$(number $A mad)"
check 'character devices'                is '' find /dev/infiniband/{uverbs0,umad0,rdma_cm} ! -type c
check 'ibv_devices lists it'             has mlx5_0 ibv_devices
check 'ibv_devinfo opens it'             has 'hca_id:.*mlx5_0' ibv_devinfo -d mlx5_0

for order in 'netdev, RDMA' 'RDMA, netdev'; do
    ip netns add pod
    if [ "$order" = 'netdev, RDMA' ]; then
        check "$order: netdev in"        ip link set "$N" netns pod
        check "$order: RDMA waits"       has 'mlx5_0/1 state DOWN' rdma link show
        check "$order: RDMA in"          rdma dev set mlx5_0 netns pod
    else
        check "$order: RDMA in"          rdma dev set mlx5_0 netns pod
        check "$order: netdev waits"     lacks netdev in_pod rdma link show
        check "$order: netdev in"        ip link set "$N" netns pod
    fi
    check "$order: not on the host"      lacks mlx5_0 rdma dev show
    check "$order: nor in its sysfs"     is '' find $pci/$A/infiniband $pci/$A/net -mindepth 1 -maxdepth 1
    check "$order: but uverbs is"        is uverbs0 number $A verbs
    check "$order: together in the pod"  has "mlx5_0/1.*netdev $N" in_pod rdma link show
    check "$order: opens in the pod"     in_pod bash -c ': < /dev/infiniband/uverbs0'
    check "$order: not on the host"      refused_with 'not permitted' opens uverbs0
    if [ "$order" = 'netdev, RDMA' ]; then
        in_pod ip link set "$N" name inside
        check "$order: a rename shows"   has 'netdev inside' in_pod rdma link show
        in_pod ip link set inside name "$N"
        check "$order: RDMA out"         in_pod rdma dev set mlx5_0 netns host
        check "$order: netdev out"       in_pod ip link set "$N" netns host
        ip netns del pod
    else
        ip netns del pod
    fi
    check "$order: back"                 eventually has "mlx5_0/1.*netdev $N" rdma link show
done

ip netns add pod
ip netns exec pod sleep 100 &
ip link set "$N" netns pod
rdma dev set mlx5_0 netns pod
ip netns del pod
sleep 0.5
check 'a process keeps the pod'          lacks mlx5_0 rdma dev show
kill $!
check 'its end gives both back'          eventually has "mlx5_0/1.*netdev $N" rdma link show

ip netns add pod
ip link set "$N" netns pod
ip link add "$N" type dummy
check 'no way to a taken name in the host' refused_with "$name_taken" in_pod ip link set "$N" netns host
ip netns del pod
check 'the kernel finds another name'    eventually has '^dev[0-9]*$' netdev $A
ip link del "$N"
ip link set "$(netdev $A)" name "$N"

ip netns add pod
exec 5< /dev/infiniband/uverbs0
check 'a move does not mind an open fd'  rdma dev set mlx5_0 netns pod
exec 5<&-
ip link set "$N" netns pod
echo $A > $pci/$A/driver/unbind
check 'unbind: the netdev is gone'       eventually lacks "$N" in_pod ip -o link
check 'unbind: the RDMA device is gone'  eventually is '' in_pod rdma dev
ip netns del pod
rebind $A
check 'bind: a netdev'                   eventually has . netdev $A
N=$(netdev $A)
rdma link add mlx5_0 type rxe netdev "$N"

ip netns add pod
rdma link del mlx5_0
check 'uverbs0 is free, C has uverbs2'   is uverbs2 number $C verbs
rdma dev set mlx5_2 netns pod
check 'a move renumbers uverbs'          is uverbs0 number $C verbs
check 'a move renumbers umad'            eventually in_pod test -d "$pci/$C/infiniband_mad/umad0"
ip netns del pod
eventually has mlx5_2 rdma dev show
rdma link add mlx5_0 type rxe netdev "$N"
check 'data flows (first namespace)'     eval '
    ip addr add 10.8.0.1/24 dev "$N"; ip link set "$N" up
    eventually has "state ACTIVE" rdma link show mlx5_0/1 &&
    { ibv_rc_pingpong -d mlx5_0 -g 1 -n 20 > /dev/null & sleep 0.5; ibv_rc_pingpong -d mlx5_0 -g 1 -n 20 127.0.0.1; }'
ip addr flush dev "$N"
ip link set "$N" down

section "traffic"
i=0
for function in $A $B $E; do
    i=$((i + 1))
    name=$(netdev $function)
    ip netns add t$i
    ip link set "$name" netns t$i
    ip -n t$i addr add 10.9.0.$i/24 dev "$name"
    ip -n t$i link set "$name" up
done
ping_from() { ip netns exec "$1" ping -c 1 -W 1 "$2"; }
check 'VF to VF of the same PF'          eventually ping_from t1 10.9.0.2
check 'VF to VF of the other PF'         eventually ping_from t1 10.9.0.3
ip link set "$P" vf 0 vlan 100
check 'a VLAN separates'                 refused ping_from t1 10.9.0.2
ip link set "$P" vf 1 vlan 100
check 'a VLAN joins'                     eventually ping_from t1 10.9.0.2
ip link set "$P" vf 1 mac 02:00:00:00:00:01
check 'spoofchk stops a wrong MAC'       refused ping_from t2 10.9.0.1
for i in 1 2 3; do ip netns del t$i; done
ip link set "$P" vf 0 vlan 0
ip link set "$P" vf 1 vlan 0

section "vfio"
modprobe -a vfio-pci vfio_iommu_type1
rebind $B vfio-pci
check 'bound'                            is vfio-pci driver_of $B
check 'device of the group'              test -c "/dev/vfio/$(link_name $pci/$B/iommu_group)"
check 'no netdev any more'               refused netdev $B

section "health"
eventually test -d "$pci/$A/net/$N"
ip link set "$N" up
check 'a VF has carrier'                 eventually is 1 carrier "$N"
ip link set "$N" down
check 'VF down: port disabled'           eventually has 'state DOWN physical_state DISABLED' rdma link show mlx5_0/1
ip link set "$N" up
check 'VF up: port active'               eventually has 'state ACTIVE' rdma link show mlx5_0/1
ip link set "$P" down
check 'PF down: its VF has no carrier'   eventually is 0 carrier "$N"
check 'PF down: port is down'            eventually has 'state DOWN' rdma link show mlx5_0/1
ip link set "$P" up
check 'PF up'                            eventually is 1 carrier "$P"
# igbvf often misses that its PF is back, until the VF is opened anew.
ip link set "$N" down
ip link set "$N" up
check 'the VF, opened: carrier'          eventually is 1 carrier "$N"
check 'function level reset'             write 1 $pci/$A/reset
check 'the VF, opened: carrier'          eval 'ip link set "$N" down; ip link set "$N" up; eventually is 1 carrier "$N"'
check 'pull the cable'                   cable pf0 out
check 'the PF has no carrier'            eventually is 0 carrier "$P"
check 'a running VF does not notice'     is 1 carrier "$N"
check 'put the cable in'                 cable pf0 in
check 'the PF has carrier'               eventually is 1 carrier "$P"
check 'PFs do not see each other down'   is 1 carrier "$(netdev $PF1)"

section "hotplug, with VF and RDMA device in a pod"
ip netns add pod
ip link set "$N" netns pod
rdma dev set mlx5_0 netns pod
check 'unplug'                           unplug pf0
check 'PF and VFs are gone'              refused test -e $pci/$PF0 -o -e $pci/$A
check 'also from the pod'                is '' in_pod rdma dev show
check '  both of them'                   lacks "$N" in_pod ip -o link
check 'the other NIC stays'              is mlx5_4 rdmadev $E
check 'plug in'                          plug pf0
check 'there is a PF'                    eventually has . netdev $PF0
check 'without VFs'                      is 0 cat $pci/$PF0/sriov_numvfs
write 0 $pci/$PF0/sriov_drivers_autoprobe
ip link set "$(netdev $PF0)" up
write 2 $pci/$PF0/sriov_numvfs
check 'new VFs'                          is "$A"$'\n'"$B" vfs $PF0
check 'without a driver, as asked'       refused test -e $pci/$A/driver -o -e $pci/$B/driver

section "the kernel"
check 'no warning'                       refused warnings
