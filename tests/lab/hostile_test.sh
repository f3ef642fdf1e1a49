#!/bin/bash
# A pod with CAP_NET_ADMIN against its VF, its RDMA device and the pods after it, exclusive RDMA namespaces: DEL gives
# back a clean device, and the pod's accomplice receives nothing of the next pod. Durations are printed.
# Programs: vfrail-cni, host-local, attach_program.
. /lab/lib.sh
lab_up 4 --rdma exclusive

vf=0000:21:10.0 far=0000:41:10.0 bare=0000:41:10.6
log=/tmp/vfrail-cni.log
cni() {
    local verb=$1 container=$2 device=$3 ifname=${4:-net1}
    [[ $device == *:* ]] && device="\"deviceID\": \"$device\"" || device="\"device\": \"$device\""
    CNI_COMMAND=$verb CNI_CONTAINERID=$container CNI_NETNS=${netns-/run/netns/$container} CNI_IFNAME=$ifname \
        CNI_PATH=/usr/local/bin CNI_ARGS='IgnoreUnknown=1' vfrail-cni > "/tmp/$container.answer" 2>> $log << END ||
{"cniVersion": "1.0.0", "name": "rails", "type": "vfrail", $device${extra-}, "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}
END
        { cat "/tmp/$container.answer"; return 1; }
}
# timed WHAT COMMAND...: a check that says how long it took.
timed() {
    local begin=${EPOCHREALTIME/./}
    check "$@"
    echo "     $1: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
}
in_pod() { ip netns exec "$@"; }
pod_address() { in_pod "$1" ip -j addr show net1 | jq -r '.[0].addr_info[] | select(.family == "inet") | .local'; }
unchanged() { node_state > /tmp/after && diff /tmp/before /tmp/after; }
modprobe bonding max_bonds=0                       # or it makes a bond0
for one in a accomplice; do ip netns add $one; done
cni ADD a $vf && cni DEL a $vf                     # the folders that the first ADD makes stay
ip netns del a
node_state > /tmp/before

section 'everything at once'
ip netns add a
name=$(netdev $vf) rdma=$(rdmadev $vf)
check 'ADD' cni ADD a $vf
node=$(ls $pci/$vf/infiniband_verbs)
in_pod a bash -c 'exec 9<> "$1"; echo open > /tmp/holder; exec sleep 600' - "/dev/infiniband/$node" &
holder=$!
check 'a process of the pod has the RDMA device open' eventually has open cat /tmp/holder
in_pod a rdma dev set "$rdma" name evil0
check 'the pod has renamed its RDMA device' has 'evil0/1' in_pod a rdma link show
in_pod a bash -e << 'END' || echo 'the pod could not do all'
ip link set net1 down
ip link set net1 name evil1 address 02:00:00:00:66:66 mtu 1300 promisc on allmulticast on txqueuelen 7
ip link property add dev evil1 altname eth77 altname a-name-of-another-device
ip link set evil1 up
ip link add v7 link evil1 type vlan id 7
ip link add v7q link evil1 type vlan proto 802.1ad id 7
ip link add m0 link evil1 type macvlan mode bridge
ip link add m1 link evil1 type macvlan mode vepa
ip link add x0 type vxlan id 7 dev evil1 dstport 4789 group 239.1.1.1
for i in v7 m0 m1 x0; do ip link set $i up; done
tc qdisc add dev evil1 clsact
tc filter add dev evil1 ingress matchall action mirred egress redirect dev m0
tc filter add dev evil1 egress matchall action drop
tc qdisc add dev evil1 root tbf rate 8kbit burst 2k latency 50ms
ip neigh add 10.9.0.99 lladdr 02:00:00:00:66:01 dev evil1
ip maddr add 01:00:5e:00:66:66 dev evil1
bridge fdb add 02:00:00:00:66:55 dev evil1 self
for ((i = 0; i < 2000; ++i)); do
    echo "addr add 10.66.$((i / 250)).$((i % 250 + 1))/16 dev evil1"
    echo "route add 10.67.$((i / 250)).$((i % 250 + 1))/32 dev evil1"
    echo "rule add from 10.68.$((i / 250)).$((i % 250 + 1)) lookup 77"
done > /tmp/batch
ip -batch /tmp/batch
attach_program generic evil1
END
check 'it has a program on its device' has xdpgeneric in_pod a ip link show evil1
timed 'DEL' cni DEL a $vf
kill $holder
ip netns del a
check 'the node is as before' unchanged
check 'no program is left' lacks xdp ip -d link show "$name"
check 'no queue is left' lacks 'tbf\|clsact' tc qdisc show dev "$name"
check 'no address is left' lacks '66:' ip maddr show dev "$name"

section 'a name that is no file name'
# Nobody may list the folder of a device that is called so: the kernel warns (verify_dirent_name()).
ip netns add a; ip netns add far
check 'ADD' cni ADD a $vf
check 'the kernel lets the pod call its RDMA device a/b' in_pod a rdma dev set "$rdma" name a/b
check 'DEL' cni DEL a $vf
check 'its RDMA device has its name again' has "link $rdma/1.*netdev $name" rdma link show
check 'ADD again' cni ADD a $vf
in_pod a rdma dev set "$rdma" name a/b
ip netns del a
check 'the device is in the host, and is called so there' eventually has ' a/b:' rdma dev show
check 'ADD of another device' cni ADD far $far
check 'DEL of the other device' cni DEL far $far
check 'DEL when its namespace has ended' cni DEL a $vf
check 'its RDMA device has its own name then' has "link $rdma/1.*netdev $name" rdma link show
ip netns del far
check 'the node is as before' unchanged

# The end of the namespace returns the interface to the host under the name that the pod gave it, with both alternative names.
names_of_the_host() {
    ip netns add a; ip netns add far
    far_name=$(netdev $far)
    check 'ADD' cni ADD a $vf
    check 'ADD of another device' cni ADD far $far
    check 'the pod adds the names' in_pod a ip link property add dev net1 altname "$name" altname "$far_name"
    in_pod a ip link set net1 down; in_pod a ip link set net1 name evil1
    ip netns del a
    check 'the interface is in the host, under the name of the pod' eventually has ': evil1: ' ip -o link show
    for one in "$name" "$far_name"; do check "it has the alternative name $one" has "altname $one" ip link show evil1; done
    check 'DEL of the other device' cni DEL far $far
    check 'it has its own name' is "$far_name" netdev $far
    check 'DEL' cni DEL a $vf
    ip netns del far
    check 'the node is as before' unchanged
}
section 'a pod adds the names of two devices of the host as alternative names'
case $(uname -r) in
    5.*) echo 'left out: names in a namespace that ends, after which this kernel damages its memory' ;;
    *) names_of_the_host ;;
esac

section 'all the names that an interface can have'
ip netns add a; ip netns add next
printf -v long 'x%.0s' {1..123}
many_names() { for ((i = 1000; i < 1496; ++i)); do echo "link property add dev $1 altname $i$long"; done > /tmp/batch; }
check 'ADD' cni ADD a $vf
in_pod a ip link add spy link net1 type vlan id 7
in_pod a ip link set spy netns accomplice
many_names spy; ip -n accomplice -batch /tmp/batch
many_names net1; in_pod a ip -batch /tmp/batch
in_pod a ip link set net1 broadcast 02:00:00:00:66:66
timed 'DEL' cni DEL a $vf
check "nothing is left in the accomplice's namespace" is lo bash -c 'ip -n accomplice -j link | jq -r .[].ifname'
check 'ADD once more' cni ADD a $vf
case $(uname -r) in
    5.*) echo 'left out: names in a namespace that ends, after which this kernel damages its memory' ;;
    *) many_names net1; in_pod a ip -batch /tmp/batch ;;
esac
ip netns del a
timed 'DEL when its namespace has ended' cni DEL a $vf
check 'the next pod gets it' cni ADD next $vf
check 'with its broadcast address' has 'brd ff:ff:ff:ff:ff:ff' in_pod next ip link show net1
check 'DEL of the next pod' cni DEL next $vf
ip netns del next
check 'the node is as before' unchanged

section 'each kind of interface upon it'
# kind KIND COMMANDS: what a pod stacks, here and moved to its accomplice, is gone after DEL, and the next pod has traffic.
ip netns add far
check 'ADD of another pod' cni ADD far $far
kind() {
    ip netns add a; ip netns add next
    check "ADD, $1" cni ADD a $vf
    check "$1" in_pod a bash -ec "$2"
    timed "DEL, $1" cni DEL a $vf
    check "the next pod's ADD, $1" cni ADD next $vf
    check "the next pod has traffic, $1" eventually in_pod next ping -c 1 -W 2 "$(pod_address far)"
    check "nothing is left in the accomplice's namespace, $1" is lo bash -c 'ip -n accomplice -j link | jq -r .[].ifname'
    check "DEL of the next pod, $1" cni DEL next $vf
    ip netns del a; ip netns del next
}
for upper in 'vlan id 7' 'ipvlan mode l2' 'macvlan mode bridge' 'macvlan mode passthru nopromisc' 'macvtap mode bridge'; do
    kind "$upper" "ip link add spy link net1 type $upper; ip link set spy netns accomplice; ip -n accomplice link set spy up"
done
kind macsec 'ip link add spy link net1 type macsec; ip link set spy netns accomplice'
kind bond 'ip link add up0 type bond mode active-backup; ip link set net1 down; ip link set net1 master up0; ip link set up0 up'
kind team 'ip link add up0 type team; ip link set net1 down; ip link set net1 master up0; ip link set up0 up'
kind bridge 'ip link add up0 type bridge; ip link set net1 master up0; ip link set up0 up'
check 'DEL of the other pod' cni DEL far $far
ip netns del far
check 'the node is as before' unchanged

section 'a spy receives nothing of the next pod, and cannot answer in its place'
ip netns add a; ip netns add next; ip netns add far
check 'ADD of the peer' cni ADD far $far
check 'ADD' cni ADD a $vf
victim=$(pod_address a)
mac=$(in_pod a cat /sys/class/net/net1/address)
in_pod a ip link add spy link net1 type macvlan mode passthru
in_pod a ip link set spy netns accomplice
in_pod accomplice ip addr add "$victim/24" dev spy
in_pod accomplice ip link set spy up
check 'while the pod has the device, its accomplice answers' eventually in_pod far ping -c 1 -W 2 "$victim"
# The pod ends before anybody asks for DEL.
ip netns del a
timed 'DEL after the end of the namespace' cni DEL a $vf
check 'ADD of the next pod' cni ADD next $vf
check 'it has the same address on the wire' is "$mac" in_pod next cat /sys/class/net/net1/address
received() { in_pod accomplice cat /proc/net/dev | awk 'NR > 2 { sum += $3 } END { print sum + 0 }'; }
count=$(received)
check 'the next pod receives and answers' eventually in_pod far ping -c 1 -W 2 "$(pod_address next)"
check 'and goes on to' in_pod far ping -c 20 -i 0.2 -W 5 "$(pod_address next)"
check 'the accomplice has received nothing' is "$count" received
in_pod next ip addr flush dev net1
check 'nobody answers in its place' refused in_pod far ping -c 3 -W 2 "$(jq -r '.ips[0].address' /tmp/next.answer | cut -d/ -f1)"
check 'DEL of the next pod' cni DEL next $vf
check 'DEL of the peer' cni DEL far $far
ip netns del next; ip netns del far
check 'the node is as before' unchanged

section 'a spy on a free device, put there by another pod'
# As a pod with NET_ADMIN in the host's user namespace can (netns/user_namespace_test.cpp).
ip netns add evil; ip netns add far
check 'ADD of the peer' cni ADD far $far
spy_on_free() {
    ip link add link "$(netdev $vf)" name spy netns evil type $1 && { ip -n evil link set spy up || true; }  # a VLAN goes up with its device
}
for upper in 'vlan id 7' 'ipvlan mode l2' 'macvlan mode bridge' 'macvlan mode passthru'; do
    ip netns add next
    check "another pod puts one on the device, $upper" spy_on_free "$upper"
    timed "ADD, $upper" cni ADD next $vf
    check "the log names it, $upper" has 'removed interfaces.*cmd=ADD.*spy' tail -n 3 $log
    check "nothing is left of it, $upper" is lo bash -c 'ip -n evil -j link | jq -r .[].ifname'
    check "the pod has traffic, $upper" eventually in_pod far ping -c 1 -W 2 "$(pod_address next)"
    check "DEL, $upper" cni DEL next $vf
    ip netns del next
done
check 'DEL of the peer' cni DEL far $far
ip netns del far; ip netns del evil
check 'the node is as before' unchanged

section 'a spy in a namespace that no process is in'
# hidden HOW KIND: what a pod stacks there is gone after DEL.
hidden() {
    ip netns add a; ip netns add hidden
    case $1 in
        descriptor) exec 8< /run/netns/hidden ;;
        socket) ip netns exec hidden bash -c 'ip link set lo up; exec 7<> /dev/udp/127.0.0.1/9
            exec nsenter --net=/proc/1/ns/net sleep 600' & ;;
        mount) : > /tmp/kept; ip netns exec hidden bash -c 'mount --bind /proc/self/ns/net /tmp/kept
            exec nsenter --net=/proc/1/ns/net sleep 600' & ;;
    esac
    [ "$1" = descriptor ] || eventually has sleep cat /proc/$!/comm > /dev/null
    check "ADD, $2, $1" cni ADD a $vf
    check "$2, $1" in_pod a ip link add spy link net1 netns hidden type $2
    ip -n hidden link set spy up
    ip netns del hidden
    timed "DEL, $2, $1" cni DEL a $vf
    check "the log names it, $2, $1" has 'removed interfaces.*spy' tail -n 3 $log
    if [ "$1" = descriptor ]; then
        check "nothing is left in the hidden namespace, $2" lacks spy nsenter --net=/proc/$$/fd/8 ip link
        exec 8<&-
    else
        kill $!
    fi
    ip netns del a
}
rebinds() { grep -c 'rebinding the driver' $log || true; }
before=$(rebinds)
extra=', "podNetAdmin": true'
for upper in 'vlan id 7' 'ipvlan mode l2' 'macvlan mode bridge' 'macvlan mode vepa' 'macvlan mode passthru nopromisc'; do
    hidden descriptor "$upper"
done
hidden socket 'vlan id 7'
hidden mount 'vlan id 7'
extra=''
hidden descriptor 'macvlan mode passthru'          # leaves a trace
check 'no driver was bound again for them' is "$before" rebinds
check 'the node is as before' unchanged

section 'a spy that cannot be found is driven off by binding the driver again'
# Its soft RDMA device would not come back.
rdma link del "$(rdmadev $bare)"
bare_name=$(netdev $bare)
ip netns add a
unshare -n sleep 600 &
hidden=$!
eventually refused cmp -s <(readlink /proc/self/ns/net) <(readlink /proc/$hidden/ns/net) > /dev/null
exec 8< /proc/$hidden/net/dev
check 'ADD' cni ADD a $bare
in_pod a ip link add spy link net1 type macvlan mode passthru
in_pod a ip link set spy netns $hidden
nsenter --net=/proc/$hidden/ns/net ip link set spy up
kill $hidden; wait $hidden                         # now only that file holds the namespace, which has no way to it
timed 'DEL' cni DEL a $bare
check 'the log says why' has 'rebinding the driver.*\(cannot be removed\|promiscuous\)' cat $log
check 'nothing listens any more' lacks 'promiscuity [1-9]' ip -d link show "$bare_name"
check 'the next pod gets it' cni ADD a $bare
check 'and gives it back' cni DEL a $bare
exec 8<&-
ip netns del a

section 'the device is moved on, and returns to the host from there'
ip netns add a; ip netns add deep
check 'ADD' cni ADD a $vf
in_pod a ip link set net1 name evil9
in_pod a ip link set evil9 netns deep
in_pod a rdma dev set "$rdma" netns deep
check 'DEL while both namespaces exist' cni DEL a $vf
check 'its RDMA device is in the host' has "link $rdma/1.*netdev $name" rdma link show
check 'ADD again' cni ADD a $vf
in_pod a ip link set net1 netns deep
ip netns del a
check 'DEL when its own namespace has ended' cni DEL a $vf
check 'it has its old name' is "$name" netdev $vf
ip netns del deep

section 'the device is moved on to a namespace that no process is in'
ip netns add a; ip netns add hidden
exec 8< /run/netns/hidden
check 'ADD' cni ADD a $vf
in_pod a ip link set net1 netns hidden
in_pod a rdma dev set "$rdma" netns hidden
ip netns del hidden
timed 'DEL' cni DEL a $vf
check 'its RDMA device is in the host' has "link $rdma/1.*netdev $name" rdma link show
exec 8<&-
ip netns del a

section 'two VLANs of one parent in one pod'
ip netns add a
parent=$(netdev 0000:21:10.4)
ip link set "$parent" up
# Its driver asks the PF for the VLAN, which older kernels' igb refuses until the VF has come up.
check 'a VLAN upon it' eventually ip link add one link "$parent" type vlan id 11
check 'another' eventually ip link add two link "$parent" type vlan id 12
check 'ADD of the first' cni ADD a one net1
check 'ADD of the second' cni ADD a two net2
in_pod a ip link del net1
check 'DEL of the first, which the pod has ended' cni DEL a one net1
check 'the second is where it was' in_pod a ip link show net2
check 'DEL of the second' cni DEL a two net2
check 'it is in the host' ip link show two
ip link del two
ip link set "$parent" down
ip netns del a

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $log
