#!/bin/bash
# vfrail-cni with real VFs and real RDMA devices. Argument: exclusive (default) or shared, the RDMA namespace mode.
# Programs: vfrail-cni, host-local, static, kernel_contract_tests.
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 4 --rdma "$mode"

vf=0000:21:10.0
log=/tmp/vfrail-cni.log
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)

# cni VERB CONTAINER DEVICE [EXTRA JSON]: runs the plugin as Multus does; the pod's namespace is named like the
# container. The answer is in /tmp/CONTAINER.answer.
cni() {
    local verb=$1 container=$2 device=$3 extra=${4:-}
    CNI_COMMAND=$verb CNI_CONTAINERID=$container CNI_NETNS=${netns-/run/netns/$container} CNI_IFNAME=net1 \
        CNI_PATH=/usr/local/bin CNI_ARGS='IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod' \
        vfrail-cni > "/tmp/$container.answer" 2>> $log << END || { cat "/tmp/$container.answer"; return 1; }
{"cniVersion": "1.0.0", "name": "rails", "type": "vfrail", "deviceID": "$device", "pciBusID": "$device",
 "logLevel": "debug", "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}$extra}
END
}
answer() { jq -r "$2" "/tmp/$1.answer"; }
in_pod() { ip netns exec "$@"; }
unchanged() { node_state > /tmp/after; diff /tmp/before /tmp/after; }
pod() { ip netns add "$1"; }
# check runs its command in a subshell, which has no children to wait for.
finished() { wait "$1"; }

# open_node NETNS NODE: whether a process of that namespace can open the device node.
open_node() { in_pod "$1" bash -c ": < /dev/infiniband/$2"; }
node_of() { ls "$pci/$1/infiniband_verbs"; }

# The index of the RoCE v2 GID of the pod's address: as the record has it, and as the pod sees it.
recorded_index() { jq .inPod.gidIndex "/var/lib/cni/vfrail/attachments/$1:net1.json"; }
gid_index() {
    local ip
    ip=$(answer "$1" '.ips[0].address')
    IFS=. read -r -a bytes <<< "${ip%/*}"
    in_pod "$1" grep -l "$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${bytes[@]}")" -r \
        "/sys/class/infiniband/$2/ports/1/gids/" | sed 's,.*/,,'
}

# The IPAM plugin keeps the last address it assigned, and the folders it made; they are not compared.
ip link set "$(netdev $vf)" mtu 1400 txqueuelen 500 alias 'rail 0' up
ip link property add dev "$(netdev $vf)" altname enp33s16f0-rail-0
pod warm; cni ADD warm $vf; cni DEL warm $vf; ip netns del warm
eventually node_state > /dev/null
node_state > /tmp/before

section "one pod, $mode RDMA namespaces"
rdma=$(rdmadev $vf) node=$(node_of $vf) mac=$(< "$pci/$vf/net/$(netdev $vf)/address")
pod a
check 'ADD' cni ADD a $vf ', "mtu": 1450'
check 'the answer names the interface' is net1 answer a '.interfaces[0].name'
check 'the answer has no field of a later version' is 'name mac sandbox' answer a '.interfaces[0] | keys_unsorted | join(" ")'
check 'the pod has the MTU' has 'mtu 1450' in_pod a ip link show dev net1
check 'the answer has the MAC' is "$mac" answer a '.interfaces[0].mac'
check 'the netdev has left the host' is '' ls "$pci/$vf/net"
check 'it is up in the pod with its address' has 'inet 10.9.0' in_pod a ip addr show up dev net1
if [ "$mode" = exclusive ]; then
    check 'the RDMA device is in the pod' has "link $rdma/1.*netdev net1" in_pod a rdma link show
    check 'the RDMA device has left the host' lacks "$rdma" rdma dev show
    check 'its node opens in the pod' open_node a "$node"
    check 'its node does not open in the host' refused bash -c ": < /dev/infiniband/$node"
else
    check 'the RDMA device is still visible in the host' has "$rdma" rdma dev show
    check 'its node opens in the pod' open_node a "$node"
fi
check 'the GID of its address is the first behind the default one' is 1 recorded_index a
check 'the record has the index that the pod sees' is 1 gid_index a "$rdma"
check 'the pod has an nccl.conf' is "# vfrail: net1 NCCL_IB_HCA==$rdma:1 NCCL_IB_GID_INDEX=1" \
    paste -sd ' ' /run/vfrail/pods/a/nccl.conf
jq --argjson p "$(< /tmp/a.answer)" -n '$p' > /tmp/prev
check 'CHECK' cni CHECK a $vf ", \"mtu\": 1450, \"prevResult\": $(< /tmp/prev)"
in_pod a ip link set net1 mtu 1300
check 'CHECK names a changed MTU' refused_with 'net1 has MTU 1300, expected 1450' \
    cni CHECK a $vf ", \"mtu\": 1450, \"prevResult\": $(< /tmp/prev)"
check 'DEL' cni DEL a $vf
check 'the files of the pod are gone' refused ls /run/vfrail/pods/a
ip netns del a
check 'the node is as before' unchanged

section 'what goes wrong'
pod a; pod b
in_pod b ip link add net1 type veth peer name other
check 'a name that is taken in the pod is refused' refused_with 'already has an interface' cni ADD b $vf
check 'a device in use is refused (first pod)' cni ADD a $vf
in_pod b ip link del net1
check 'a device in use is refused (second pod)' refused_with 'is attached to net1 of container a' cni ADD b $vf
check 'the refusal is code 11' is 11 answer b .code
in_pod a ip link set net1 down
in_pod a ip link set net1 name eth7 up
check 'DEL after a rename in the pod' cni DEL a $vf
check 'DEL again' cni DEL a $vf
check 'DEL of what was never attached' cni DEL b $vf
ip netns del a; ip netns del b
check 'the node is as before' unchanged

section 'a MAC address'
pod a
check 'ADD' cni ADD a $vf ', "mac": "02:00:00:00:00:42"'
check 'the pod has it' has 'link/ether 02:00:00:00:00:42' in_pod a ip link show net1
check 'DEL' cni DEL a $vf
ip netns del a
check 'the node is as before' unchanged

section 'interrupts and packet steering'
# Of those that the driver has requested; the others have no such file.
affinities() { for irq in "$pci/$vf/msi_irqs"/*; do cat "/proc/irq/${irq##*/}/smp_affinity" 2> /dev/null; done; }
steered() { affinities | tr -d '0,' | sort -u; }
was=$(affinities)
pod a
check 'ADD' cni ADD a $vf ', "irqs": "2", "rps": "2"'
check 'every interrupt of the VF is on the CPU of the mask' is 2 steered
check 'the packets too' is 2 in_pod a bash -c "cat /sys/class/net/net1/queues/rx-*/rps_cpus | tr -d '0,' | sort -u"
check 'DEL' cni DEL a $vf
check 'the interrupts are where they were' is "$was" affinities
ip netns del a
check 'the node is as before' unchanged

section 'settings of the VF at its PF'
vf_line() { ip link show "$(pf_of $vf)" | grep "^ *vf 0 "; }
pf_of() { ls "$pci/$1/physfn/net"; }
vf_settings=', "vlan": 100, "vlanQoS": 3, "spoofchk": "off", "trust": "on", "max_tx_rate": 100, "mac": "02:00:00:00:00:43"'
pod a
check 'ADD' cni ADD a $vf "$vf_settings"
check 'the PF has the address and the VLAN' has '02:00:00:00:00:43.* vlan 100, qos 3' vf_line
check 'the PF has the rest' has 'tx rate 100.*spoof checking off.*trust on' vf_line
check 'the pod has the address' has 'link/ether 02:00:00:00:00:43' in_pod a ip link show net1
cp /tmp/a.answer /tmp/vf.answer
check 'CHECK' cni CHECK a $vf "$vf_settings, \"prevResult\": $(< /tmp/vf.answer)"
ip link set "$(pf_of $vf)" vf 0 spoofchk on
check 'CHECK names what was changed behind its back' refused_with 'VF 0 of .* has spoofchk on, expected spoofchk off' \
    cni CHECK a $vf "$vf_settings, \"prevResult\": $(< /tmp/vf.answer)"
check 'DEL' cni DEL a $vf
ip netns del a
check 'the node is as before' unchanged
pod a
check 'ADD' cni ADD a $vf "$vf_settings"
ip netns del a
check 'DEL after the end of the namespace' cni DEL a $vf
check 'the node is as before' unchanged
pod a
check 'a setting that the driver does not have is refused by name' \
    refused_with 'set VF 0 of .*: min_tx_rate 5 max_tx_rate 10: ' cni ADD a $vf ', "vlan": 7, "min_tx_rate": 5, "max_tx_rate": 10'
check 'a GUID is refused for an Ethernet interface' refused_with 'is not an InfiniBand interface' cni ADD a $vf ', "guid": "00:11:22:33:44:55:66:77"'
ip netns del a
check 'the node is as before' unchanged

section 'the namespace ends first'
# Not what the VF had, so that a restore which does nothing shows.
settings=', "mtu": 1450, "mac": "02:00:00:00:00:42"'
pod a
check 'ADD' cni ADD a $vf "$settings"
ip netns del a
check 'DEL with a path that is gone' cni DEL a $vf
check 'the node is as before' unchanged
pod a
check 'ADD' cni ADD a $vf "$settings"
ip netns del a
netns='' check 'DEL without a namespace' cni DEL a $vf
check 'the node is as before' unchanged
pod a; pod b
check 'ADD' cni ADD a $vf "$settings"
ip netns del a
check 'ADD of the next pod, without a DEL of the first' cni ADD b $vf
check 'the late DEL of the first' cni DEL a $vf
check 'the second pod still has the device' in_pod b ip link show net1
check 'DEL of the second' cni DEL b $vf
ip netns del b
check 'the node is as before' unchanged

section 'a name for the RDMA device'
# Whether the kernel lets a device of the host have the name of one in a pod, rdma0: since Linux 7 it does.
names_by_netns() {
    local other
    other=$(rdmadev "${all[2]}")
    rdma dev set "$other" name rdma0 2> /dev/null && rdma dev set rdma0 name "$other"
}
info=/var/run/k8s.cni.cncf.io/devinfo/cni/a
mkdir -p "${info%/*}"
named=', "rdmaName": "rdma0", "runtimeConfig": {"CNIDeviceInfoFile": "'$info'"}'
pod a; pod b
if [ "$mode" = exclusive ]; then
    echo "{\"type\": \"pci\", \"pci\": {\"pci-address\": \"$vf\", \"rdma-device\": \"$rdma\"}}" > $info
    check 'ADD' cni ADD a $vf "$named"
    check 'the RDMA device has the name in the pod' has 'link rdma0/1.*netdev net1' in_pod a rdma link show
    check 'the device-info file has it' is rdma0 jq -r '.pci["rdma-device"]' $info
    check 'its node opens in the pod' open_node a "$node"
    check 'CHECK' cni CHECK a $vf "$named, \"prevResult\": $(< /tmp/a.answer)"
    if names_by_netns; then
        check 'a second one can have the name in its pod' cni ADD b "${all[1]}" "$named"
        check 'it has' has 'link rdma0/1.*netdev net1' in_pod b rdma link show
        check 'DEL of the second' cni DEL b "${all[1]}" "$named"
    else
        check 'a second one cannot have the name' refused_with 'another RDMA device of the node' cni ADD b "${all[1]}" "$named"
    fi
    check 'DEL' cni DEL a $vf "$named"
    ip netns del a; ip netns del b
    check 'the node is as before' unchanged
    pod a
    check 'ADD' cni ADD a $vf "$named"
    ip netns del a
    check 'DEL after the end of the namespace' cni DEL a $vf "$named"
else
    check 'refused in shared mode' refused_with 'shared namespace mode' cni ADD a $vf "$named"
    ip netns del a; ip netns del b
fi
check 'the node is as before' unchanged

section 'an entry of a plugin chain'
# chained VERB CONTAINER [KEYS]: the entry of rdma-cni's name, which has no IPAM.
chained() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni > "/tmp/$2.chained" 2>> $log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"rdma\"${3:-}}"
}
pod a
name=$(netdev $vf)
ip link set "$name" netns a name net1       # what sriov-cni does
in_pod a ip link set net1 up
previous='{"cniVersion": "1.0.0", "interfaces": [{"name": "net1", "sandbox": "/run/netns/a"}]}'
check 'ADD behind another plugin, without deviceID' chained ADD a ", \"prevResult\": $previous"
check 'the result is the one before' is "$(jq -cS . <<< "$previous")" jq -cS . /tmp/a.chained
if [ "$mode" = exclusive ]; then
    check 'the RDMA device is in the pod' has "link $rdma/1.*netdev net1" in_pod a rdma link show
fi
check 'CHECK' chained CHECK a ", \"prevResult\": $previous"
check 'DEL' chained DEL a ", \"deviceID\": \"$vf\", \"prevResult\": $previous"
check 'DEL again' chained DEL a ", \"deviceID\": \"$vf\", \"prevResult\": $previous"
check 'the RDMA device is in the host' has "$rdma" rdma dev show
check 'the interface is left to the other plugin' has 'state UP\|state UNKNOWN\|,UP' in_pod a ip link show net1
in_pod a ip link set net1 down
in_pod a ip link set net1 netns 1 name "$name"
ip link set "$name" up
ip netns del a
check 'the node is as before' unchanged
pod a
check 'ADD as the first entry' cni ADD a $vf
check 'ADD as the second' chained ADD a ", \"deviceID\": \"$vf\", \"prevResult\": $(< /tmp/a.answer)"
check 'the result is the same' is "$(jq -cS . /tmp/a.answer)" jq -cS . /tmp/a.chained
check 'DEL of the second' chained DEL a ", \"deviceID\": \"$vf\""
check 'DEL of the first' cni DEL a $vf
ip netns del a
check 'the node is as before' unchanged

section 'a sweep'
sweep() { vfrail-cni sweep "$@"; }
records() { find /var/lib/cni/vfrail ! -type d ! -path "*/baselines/*"; }
kill_all() {
    for process in /proc/[0-9]*; do
        [ "$(cat "$process/comm" 2> /dev/null)" != vfrail-cni ] || kill -9 "${process#/proc/}"
    done
}
settings="$settings, \"vlan\": 100, \"trust\": \"on\""
check 'of a node without attachments' is 'nothing to do' sweep
pod a
check 'ADD' cni ADD a $vf "$settings"
check 'a running pod is left alone' has 'its pod still exists' sweep
check 'it still has the interface' in_pod a ip link show net1
ip netns del a
check 'a dry run reports a pod that ended without DEL' has "would be released: $vf (net1 of container a" sweep --dry-run
check 'a sweep gives its device back' has "^released: $vf .*has ended" sweep
check 'the node is as before' unchanged
check 'no record is left' is '' records
for ms in 004 008 012 016 020 030 040 060 080; do
    pod a
    cni ADD a $vf "$settings" & adding=$!
    sleep 0.$ms
    kill_all
    finished $adding
    check "a sweep after an ADD that was killed after $ms ms" sweep
    ip netns del a
    check 'and one after its namespace has ended' sweep
    check 'the node is as before' unchanged
    check 'no record is left' is '' records
done

section 'taking over from sriov-cni'
# attach_as_sriov_cni PF NETDEV: what sriov-cni does to the VF and writes down, by hand.
attach_as_sriov_cni() {
    local pf=$1 name=$2 admin mac
    admin=$(ip -j link show "$pf" | jq -r '.[0].vfinfo_list[0].address')
    mac=$(< "$pci/$vf/net/$name/address")
    mkdir -p /var/lib/cni/sriov/pci
    ip link set "$pf" vf 0 vlan 100 && ip link set "$pf" vf 0 trust on || return
    ip link set "$name" down && ip link set "$name" name net1 netns a && in_pod a ip link set net1 mtu 1450 up || return
    printf /run/netns/a > "/var/lib/cni/sriov/pci/$vf"
    cat > /var/lib/cni/sriov/a-net1 << END
{"cniVersion": "1.0.0", "name": "rails", "type": "sriov", "ipam": {}, "dns": {}, "Master": "$pf", "VFID": 0, "MTU": 1450,
 "deviceID": "$vf", "vlan": 100, "vlanQoS": 0, "vlanProto": "802.1q", "trust": "on", "min_tx_rate": null,
 "OrigVfState": {"HostIFName": "$name", "SpoofChk": true, "Trust": false, "AdminMAC": "$admin", "EffectiveMAC": "$mac",
                 "Vlan": 0, "VlanQoS": 0, "VlanProto": 33024, "MinTxRate": 0, "MaxTxRate": 0, "LinkState": 0, "MTU": 1400}}
END
}
name=$(netdev $vf)
pod a
check 'a VF of sriov-cni' attach_as_sriov_cni "$(pf_of $vf)" "$name"
check 'a sweep reports it' has "kept: $vf .*attached by sriov-cni" sweep
check 'and takes it over on demand' has "^taken over: $vf" sweep --adopt
check 'DEL' cni DEL a $vf
ip netns del a
# sriov-cni leaves an interface down, and so do we: nobody wrote down that it was up. Its files are its own.
ip link set "$name" up
rm -r /var/lib/cni/sriov
check 'the node is as before' unchanged
check 'no record is left' is '' records

section "eight pods at the same moment"
for ((i = 0; i < 8; i++)); do pod "p$i"; node_of "${all[i]}" > "/tmp/p$i.node"; done
for ((i = 0; i < 8; i++)); do cni ADD "p$i" "${all[i]}" & pids[i]=$!; done
for ((i = 0; i < 8; i++)); do finished "${pids[i]}"; check "pod $i is attached" [ $? = 0 ]; done
for ((i = 0; i < 8; i++)); do
    check "pod $i opens the node it was allocated" open_node "p$i" "$(< "/tmp/p$i.node")"
    if [ "$mode" = exclusive ]; then
        for ((j = 0; j < 8; j++)); do
            [ "$i" = "$j" ] || open_node "p$i" "$(< "/tmp/p$j.node")" 2> /dev/null && [ "$i" != "$j" ] && echo "pod $i opens $j"
        done > "/tmp/p$i.others"
        check "pod $i opens no other" is '' cat "/tmp/p$i.others"
    fi
done
for ((i = 0; i < 8; i++)); do cni DEL "p$i" "${all[i]}" & pids[i]=$!; done
for ((i = 0; i < 8; i++)); do finished "${pids[i]}"; check "pod $i is detached" [ $? = 0 ]; done
for ((i = 0; i < 8; i++)); do ip netns del "p$i"; done
if [ "$mode" = exclusive ]; then
    # Moves to the host come in any order, and each takes the lowest free number, so the numbers may be dealt anew.
    numbers() { sed -E 's/(uverbs|umad)[0-9]+/\1N/g' "$1"; }
    node_state > /tmp/after
    check 'the node is as before, but for the numbers of device nodes' diff <(numbers /tmp/before) <(numbers /tmp/after)
else
    check 'the node is as before' unchanged
fi

section "the peers' network definitions, as their users write them, under the peers' names"
# peer TYPE VERB KEYS: what Multus sends for a network of that type; deviceID and pciBusID are Multus'.
peer() {
    CNI_COMMAND=$2 CNI_CONTAINERID=a CNI_NETNS=/run/netns/a CNI_IFNAME=net1 CNI_PATH=/opt/cni/bin:/usr/local/bin \
        CNI_ARGS='IgnoreUnknown=true;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod' \
        "/opt/cni/bin/$1" > /tmp/a.answer 2>> $log <<< "{\"cniVersion\": \"0.3.1\", \"name\": \"rails\", \"type\": \"$1\",
            \"deviceID\": \"$vf\", \"pciBusID\": \"$vf\", \"ipam\": {\"type\": \"host-local\", \"subnet\": \"10.9.0.0/24\"}$3}" ||
        { cat /tmp/a.answer; return 1; }
}
mkdir -p /opt/cni/bin
peer_keys() {
    case $1 in
        host-device) ;;         # what a HostDeviceNetwork renders to: the name, the type and ipam
        sriov) echo ', "vlan": 100, "vlanQoS": 2, "spoofchk": "off", "trust": "on", "max_tx_rate": 50, "mac": "02:00:00:00:00:45",
            "logLevel": "debug"' ;;
        ib-sriov) echo ', "pkey": "0x2000", "rdmaIsolation": '"$([ "$mode" = exclusive ] && echo true || echo false)" ;;
    esac
}
for type in host-device sriov ib-sriov; do
    check "install as $type" vfrail-cni install --as $type /opt/cni/bin
    pod a
    check "ADD by $type" peer $type ADD "$(peer_keys $type)"
    check 'the pod has its address' has 'inet 10.9.0' in_pod a ip addr show up dev net1
    [ "$mode" = shared ] || check 'the pod has the RDMA device' has "$rdma" in_pod a rdma link show
    check "DEL by $type" peer $type DEL "$(peer_keys $type)"
    ip netns del a
done
rm -r /opt/cni
check 'the node is as before' unchanged

section 'the kernel contract on a VF'
VFRAIL_CONTRACT_PF=$(pf_of 0000:41:10.6) VFRAIL_CONTRACT_LINK=$(netdev 0000:41:10.0) VFRAIL_CONTRACT_RDMA=$(rdmadev 0000:41:10.0) \
    check 'the contract suite' kernel_contract_tests 'the real kernel keeps the contract'

section 'cost'
pod t
# plain VERB: without IPAM, so that only vfrail-cni itself is counted.
plain() {
    local verb=$1
    shift
    CNI_COMMAND=$verb CNI_CONTAINERID=t CNI_NETNS=/run/netns/t CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        "$@" vfrail-cni > /tmp/t.answer 2>> $log \
        <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"vfrail\", \"deviceID\": \"$vf\"${extra-}}"
}
# The exact numbers are the kernel's floor and what vfrail-cni has to know before it acts; more of either is a decision.
# 13 of ADD are the netdev, the host's addresses on it, default routes over it in both families, the RDMA mode, the list of RDMA devices, its name and
# its alternative name in the pod, both moves, the netdev as the pod sees it, and the pod's default routes in both families,
# for the pod's files. 15 of DEL: the RDMA devices in the pod,
# their move, and the devices in the host; the netdev in the pod, its old name in the host, the renaming, which is done before
# the move so that udev sees one name, the move; what it is in the host now (what stands on it is asked of the kernel by bpf(2)),
# and the six groups of ethtool's settings that igbvf has, to compare with the baseline. In shared mode
# the RDMA device stays where it is.
# A kernel before 6.2 renames no interface that is up: two messages more on the way back, down and up again, and a few calls.
renames() { ip link add renamed type dummy && ip link set renamed up && ip link set renamed name again; }
down=0
renames 2> /dev/null || down=2
ip link del again 2> /dev/null || ip link del renamed
declare -A messages=([exclusive ADD]=13 [exclusive DEL]=$((15 + down)) [shared ADD]=11 [shared DEL]=$((12 + down)))
declare -A set_links=([ADD]=1 [DEL]=$((2 + down))) link_dumps=([ADD]=0 [DEL]=0)
declare -A most_calls=([exclusive ADD]=$((300 + 5 * down)) [exclusive DEL]=$((295 + 5 * down)) [shared ADD]=$((270 + 5 * down))
    [shared DEL]=$((245 + 5 * down)))
dumps() { grep -cE '^(0x12|RTM_GETLINK).*(0x300|DUMP)' /tmp/kinds || true; }
# strace cannot tell the protocol of a socket of another namespace, so it prints the type as a number and attributes as
# bytes: 0x12 RTM_GETLINK, 0x13 RTM_SETLINK, 0x14NN RDMA_NLDEV command NN; 0x300 NLM_F_DUMP; IFLA_EXT_MASK is 0x1d, its
# lowest bit RTEXT_FILTER_VF; IFLA_NET_NS_FD is 0x1c.
sent() { grep -E '^send(msg|to)\(.*nlmsg_type=' /tmp/trace; }
kinds() { sent | grep -o 'nlmsg_type=[^,]*, nlmsg_flags=[^,]*' | sed -E 's,nlmsg_type=|nlmsg_flags=| /\* NLMSG_\?\?\? \*/,,g'; }
for verb in ADD DEL; do
    check "$verb under strace" plain "$verb" strace -qq -s 512 -o /tmp/trace
    sent > /tmp/sent
    calls=$(grep -cE '^[a-z][a-z0-9_]*\(' /tmp/trace)
    echo "netlink messages of $verb with an RDMA device ($mode): $(wc -l < /tmp/sent), system calls: $calls"
    kinds | tee /tmp/kinds | sed 's/^/     | /'
    check "$verb sends ${messages[$mode $verb]} messages" [ "$(wc -l < /tmp/sent)" = "${messages[$mode $verb]}" ]
    check "$verb sends so many RTM_SETLINK: ${set_links[$verb]}" is "${set_links[$verb]}" grep -cE '^(0x13|RTM_SETLINK)' /tmp/kinds
    check "$verb moves one netdev once" is 1 grep -cE 'IFLA_NET_NS_FD|\\x08\\x00\\x1c\\x00' /tmp/sent
    check "$verb dumps links so often: ${link_dumps[$verb]}" is "${link_dumps[$verb]}" dumps
    check "$verb asks for no VF data" lacks 'RTEXT_FILTER_VF\|\\x08\\x00\\x1d\\x00\\x[0-9a-f][13579bdf]' cat /tmp/sent
    check "$verb makes at most ${most_calls[$mode $verb]} system calls" [ "$calls" -le "${most_calls[$mode $verb]}" ]
done
# Two more with a setting of the VF: one query of the PF's VFs, one message to the PF; on the way back the latter alone.
vf_queries() { grep -cE 'RTEXT_FILTER_VF|\\x08\\x00\\x1d\\x00\\x[0-9a-f][13579bdf]' /tmp/sent || true; }
declare -A queries=([ADD]=1 [DEL]=0) settings_sent=([exclusive ADD]=15 [exclusive DEL]=$((16 + down)) [shared ADD]=13
    [shared DEL]=$((13 + down)))
for verb in ADD DEL; do
    extra=', "vlan": 100' check "$verb with a VLAN under strace" plain "$verb" strace -qq -s 512 -o /tmp/trace
    sent > /tmp/sent
    check "$verb with a VLAN sends ${settings_sent[$mode $verb]} messages" \
        is "${settings_sent[$mode $verb]}" grep -c . /tmp/sent
    check "$verb with a VLAN asks for VF data so often: ${queries[$verb]}" \
        is "${queries[$verb]}" vf_queries
done
check 'the program is smaller than 3 MB' [ "$(stat -c %s "$(command -v vfrail-cni)")" -lt 3000000 ]
for round in 1 2 3; do
    for verb in ADD DEL; do
        begin=${EPOCHREALTIME/./}
        plain "$verb"
        echo "round $round, $verb without IPAM: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    done
done
ip netns del t

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $log
