#!/bin/bash
# What can happen to a real VF and its RDMA device between ADD and DEL, exclusive RDMA namespaces: each case has one
# defined outcome, and the next pod gets the device. Programs: vfrail-cni, host-local.
. /lab/lib.sh
lab_up 4 --rdma exclusive

# The soft RDMA device of a VF ends with its driver, and the others' numbers change: so the last one goes first.
vf=0000:41:10.6
log=/tmp/vfrail-cni.log
cni() {
    local verb=$1 container=$2 device=$3 extra=${4:-}
    CNI_COMMAND=$verb CNI_CONTAINERID=$container CNI_NETNS=${netns-/run/netns/$container} CNI_IFNAME=net1 \
        CNI_PATH=/usr/local/bin CNI_ARGS='IgnoreUnknown=1' vfrail-cni > "/tmp/$container.answer" 2>> $log << END ||
{"cniVersion": "1.0.0", "name": "rails", "type": "vfrail", "deviceID": "$device",
 "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}$extra}
END
        { cat "/tmp/$container.answer"; return 1; }
}
in_pod() { ip netns exec "$@"; }
records() { ls /var/lib/cni/vfrail/attachments; }
leases() { ls /var/lib/cni/networks/rails | grep '^10' || true; }
nothing_left() { [ -z "$(records)" ] && [ -z "$(leases)" ]; }
# usable DEVICE: another pod gets it, with its RDMA device if it has one, and gives it back.
usable() { ip netns add next && cni ADD next "$1" && cni DEL next "$1" && ip netns del next; }

section 'the driver is unbound while the VF is in a pod'
ip netns add a
check 'ADD' cni ADD a $vf ', "vlan": 100'
driver=$(driver_of $vf)
echo $vf > "/sys/bus/pci/drivers/$driver/unbind"
check 'the pod has lost the interface' refused in_pod a ip link show net1
check 'DEL' cni DEL a $vf
check 'nothing is left' nothing_left
check 'the VLAN is off all the same' lacks 'vlan 100' ip link show "$(ls "$pci/$vf/physfn/net")"
check 'an ADD meanwhile says what is missing' refused_with 'has no driver bound' cni ADD a $vf
echo $vf > "/sys/bus/pci/drivers/$driver/bind"
eventually netdev $vf > /dev/null
check 'the next pod gets it' usable $vf
ip netns del a

section 'the pod changes what no attachment sets'
# What the kernel shows of the interface, without its index and what its carrier does.
settings() {
    ip -d link show "$1" | sed -n 's/^[0-9]*: [^<]*<\([^>]*\)>.* mode \([A-Z]*\) group \([^ ]*\).*/\1 \2 \3/p' |
        sed 's/,\?\(NO-CARRIER\|LOWER_UP\|UP\)//g'
    ip -d link show "$1" | grep -o 'gso_max_size [0-9]* gso_max_segs [0-9]*'
    cat "/sys/class/net/$1/queues/rx-0/rps_cpus"
}
name=$(netdev $vf)
before=$(settings "$name")
ip netns add a
check 'ADD' cni ADD a $vf
check 'it forgets ARP and multicast, stays dormant, in another group' \
    in_pod a sh -ec 'ip link set net1 arp off multicast off group 7; ip link set net1 mode dormant
        ip link set net1 gso_max_size 30000; ip link property add dev net1 altname of-the-pod
        echo 1 > /sys/class/net/net1/queues/rx-0/rps_cpus  # "ip netns exec" has mounted it'
check 'DEL' cni DEL a $vf
check 'the next pod finds nothing of it' is "$before" settings "$name"
check 'nor the name' refused ip link show of-the-pod
check 'it is not unclean' is '' ls /var/lib/cni/vfrail/unclean
ip netns del a

section 'the interface is moved on by the pod'
vf=0000:21:10.2
ip netns add a
unshare -n sleep 600 &
deep=$!
sleep 1
name=$(netdev $vf) rdma=$(rdmadev $vf)
check 'ADD' cni ADD a $vf
exec 8< /proc/$deep/ns/net
in_pod a ip link set net1 netns $deep
kill $deep                                  # only the descriptor holds the namespace
wait $deep
check 'DEL finds it' cni DEL a $vf
check 'it has its old name' is "$name" netdev $vf
exec 8<&-

section 'the interface is moved on by the pod, to where nobody finds it'
unshare -n sleep 600 &
deep=$!
sleep 1
check 'ADD' cni ADD a $vf
exec 8< /proc/$deep/net/dev                 # it holds the namespace, and is no way to it
in_pod a ip link set net1 netns $deep
kill $deep
wait $deep
check 'DEL says where it can be, and can be repeated' refused_with 'has not returned to the host' cni DEL a $vf
check 'that is code 11' is 11 jq .code /tmp/a.answer
check 'the record stays' is 'a:net1.json' records
check 'the next pod does not get it meanwhile' refused cni ADD next $vf
exec 8<&-
check 'DEL when that namespace has ended' cni DEL a $vf
check 'it has its old name' is "$name" netdev $vf
check 'its RDMA device is in the host' has "link $rdma/1.*netdev $name" rdma link show
check 'nothing is left' nothing_left
check 'the next pod gets it' usable $vf
ip netns del a

section 'the record is lost'
vf=0000:21:10.4
ip netns add a
check 'ADD' cni ADD a $vf
rm -r /var/lib/cni/vfrail
check 'DEL' cni DEL a $vf
check 'the interface is in the host, under a name of the kernel' has '^dev[0-9]' netdev $vf
check 'the address is released' is '' leases
ip netns del a
eventually rdmadev $vf > /dev/null
check 'the RDMA device is in the host' has . rdmadev $vf
check 'the next pod gets it' usable $vf

section 'the VFs are destroyed while one is in a pod'
vf=0000:41:10.0
ip netns add a; ip netns add b
check 'ADD' cni ADD a $vf ', "vlan": 100, "mac": "02:00:00:00:00:44"'
check 'ADD of another' cni ADD b 0000:41:10.2
echo 0 > "$pci/0000:41:00.0/sriov_numvfs"
check 'the VF is gone' refused ls "$pci/$vf"
check 'CHECK says that the interface is gone' refused_with 'is not in the pod' \
    cni CHECK a $vf ', "prevResult": {"cniVersion": "1.0.0"}'
check 'DEL' cni DEL a $vf
ip netns del b
check 'DEL of the other, its namespace gone, too' cni DEL b 0000:41:10.2
check 'nothing is left' nothing_left
check 'an ADD says that the device is gone' refused_with 'is not on this node' cni ADD a $vf
echo 4 > "$pci/0000:41:00.0/sriov_numvfs"
eventually netdev $vf > /dev/null
check 'a VF that was made anew is usable' usable $vf
ip netns del a

section 'the NIC is pulled from its slot'
vf=0000:21:10.6
ip netns add a
check 'ADD' cni ADD a $vf
unplug pf0
check 'DEL' cni DEL a $vf
check 'nothing is left' nothing_left
ip netns del a

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $log
