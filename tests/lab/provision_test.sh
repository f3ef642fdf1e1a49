#!/bin/bash
# vfrail provision: a node without VFs gets them, keeps them, and loses none that a pod has. Programs: vfrail, vfrail-cni.
. /lab/lib.sh
lab_up 0 --rdma none

mkdir -p /run/t
pf=$(pfs | head -n 1)
link=$(netdev "$pf")
configure() { cat > /run/t/config.yaml; }
provision() { vfrail provision --config-file /run/t/config.yaml "$@"; }
# exits CODE COMMAND...: with its output, which stays for the checks behind it.
exits() {
    local wanted=$1 rc=0
    shift
    "$@" > /run/t/out 2>&1 || rc=$?
    cat /run/t/out
    [ "$rc" -eq "$wanted" ]
}
printed() { cat /run/t/out; }
autoprobe() { cat "$pci/$1/sriov_drivers_autoprobe"; }
bound() { local vf; for vf in $(vfs "$1"); do driver_of "$vf"; done | sort | uniq -c | tr -s ' '; }
mac_of() { ip -j link show "$link" | jq -r ".[0].vfinfo_list[$1].address"; }

configure << END
vfs:
- {pf: "$pf", count: 7, spoofChk: false, trust: true}
END

section 'from 0 to 7'
check '--dry-run prints the writes' exits 0 provision --dry-run
check 'in their order' has "write 7 to $pci/$pf/sriov_numvfs" printed
check 'and makes none' is 0 cat "$pci/$pf/sriov_numvfs"
check 'provision makes them' exits 0 provision
check 'says that it is done' has '^done: ' printed
check 'all seven are bound' is ' 7 igbvf' bound "$pf"
check 'autoprobe is as before' is 1 autoprobe "$pf"
check 'nothing is recorded of autoprobe any more' is '' find /run/vfrail/provision -maxdepth 1 -name '*.json'
check 'serve can read that it is done' is done jq -r .state "/run/vfrail/provision/progress/$pf.json"
check 'each has a derived MAC address' has '^[0-9a-f][26ae]:00:' mac_of 0
check 'that of VF 6 has its index' has '^[0-9a-f][26ae]:06:' mac_of 6
check 'which the VF itself has' eventually is "$(mac_of 3)" cat "$pci/$pf/virtfn3/net/$(netdev "$(vfs "$pf" | sed -n 4p)")/address"
check 'spoofchk and trust are set' is 7 sh -c "ip link show $link | grep -c 'spoof checking off, .*trust on'"

section 'again'
mac_of 2 > /run/t/mac
check 'the second run has nothing to do' exits 0 provision
check 'and says so' has '^nothing to do$' printed
check 'strace sees no write' lacks 'sriov_numvfs.*O_WRONLY\|drivers_probe' \
    strace -f -e trace=openat -o /dev/stdout vfrail provision --config-file /run/t/config.yaml

section 'the same addresses when they are made anew'
echo 0 > "$pci/$pf/sriov_numvfs"
check 'provision makes them again' exits 0 provision
check 'with the address of before' is "$(cat /run/t/mac)" mac_of 2

section 'killed'
for after in 1 2 3 4 6 10; do
    echo 0 > "$pci/$pf/sriov_numvfs"
    # At the AFTERth write to the PF's own files or the probes.
    strace -f -o /dev/null -e trace=clone,clone3,vfork,fork -e inject=clone,clone3,vfork,fork:signal=KILL:when=$after \
        vfrail provision --config-file /run/t/config.yaml > /dev/null 2>&1
    check "the run after a kill (at process $after) finishes" exits 0 provision
    check 'all seven are bound' is ' 7 igbvf' bound "$pf"
    check 'autoprobe is as before' is 1 autoprobe "$pf"
done
echo 0 > "$pci/$pf/sriov_drivers_autoprobe"
echo '{"schema":1,"boot_id":"'"$(cat /proc/sys/kernel/random/boot_id)"'","autoprobe":true}' > "/run/vfrail/provision/$pf.json"
check 'what a killed run has recorded is restored' exits 0 provision
check 'autoprobe is as before it' is 1 autoprobe "$pf"

section 'a VF in a pod'
configure << END
vfs:
- {pf: "$link", count: 4}
END
vf=$(vfs "$pf" | sed -n 3p)
ip netns add pod
attach() {
    echo "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"vfrail\", \"deviceID\": \"$vf\", \"rdma\": \"off\"${2-}}" |
        CNI_COMMAND=$1 CNI_CONTAINERID=c1 CNI_NETNS=/run/netns/pod CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
            CNI_ARGS='K8S_POD_NAMESPACE=demo;K8S_POD_NAME=trainer-0' vfrail-cni
}
check 'is attached' attach ADD
check 'the shrink is refused' exits 4 provision
check 'and names VF and pod' has "$vf is in pod demo/trainer-0" printed
check 'with the id' has VF-PROVISION-REFUSED printed
check 'all seven are there' is 7 cat "$pci/$pf/sriov_numvfs"
check 'is detached' attach DEL
ip netns exec pod true
ip link set "$(netdev "$vf")" netns pod
check 'one that somebody else has moved is not removed either' exits 4 provision
check 'and named' has "$vf is in another network namespace, with its interface or its RDMA device" printed
ip netns del pod
eventually netdev "$vf" > /dev/null
modprobe vfio-pci
# Enabled once more than its driver knows: the kernel counts, and VFIO, which enables a function when it is opened, does alike.
echo "$vf" > "$pci/$vf/driver/unbind"
echo 1 > "$pci/$vf/enable"
rebind "$vf" vfio-pci
check 'nor one that is bound to vfio-pci and open' exits 4 provision
check 'which is named' has "$vf is bound to vfio-pci and in use by a VM or another process" printed
echo "$vf" > "$pci/$vf/driver/unbind"
echo 0 > "$pci/$vf/enable"
rebind "$vf" vfio-pci
check 'free, they become four' exits 0 provision
check 'all bound' is ' 4 igbvf' bound "$pf"
check 'autoprobe is as before' is 1 autoprobe "$pf"

section 'drivers'
drivers() {
    configure << END
vfs:
- {pf: "$link", count: 4, driver: $1}
END
}
driver_of_vf() { driver_of "$(vfs "$pf" | sed -n $(($1 + 1))p)"; }
drivers '["vfio-pci#1-2", "default#0,3"]'
check 'two are bound to vfio-pci' exits 0 provision
check 'the first of them' is vfio-pci driver_of_vf 1
check 'the second' is vfio-pci driver_of_vf 2
check 'no other' is igbvf driver_of_vf 3
check 'a second run has nothing to do' exits 0 provision
check 'and says so' has '^nothing to do$' printed
# As Kata, or a VM that was killed, leaves it.
rebind "$(vfs "$pf" | sed -n 4p)" vfio-pci
check 'one that was left with vfio-pci is brought back' exits 0 provision
check 'by one unbind' is 1 grep -c unbind /run/t/out
check 'to its own driver' is igbvf driver_of_vf 3
drivers 'default'
check 'with default all are brought back' exits 0 provision
check 'to their own driver' is ' 4 igbvf' bound "$pf"
check 'each has an interface' eventually is 4 sh -c "ls -d $pci/$pf/virtfn*/net/* | wc -l"
check 'autoprobe is as before' is 1 autoprobe "$pf"

# The RDMA devices of the lab's module do not come back with a driver, so this is where there are none.
section 'a reset before the next pod'
vf=$(vfs "$pf" | sed -n 3p)
check 'the VF can be reset alone' has flr cat "$pci/$vf/reset_method"
ip link set "$(netdev "$vf")" mtu 1400 txqueuelen 500
of_vf() { ip -j -d link show "$(netdev "$vf")" | jq -c '.[0] | [.ifname, .mtu, .txqlen, .address, .flags, .altnames]'; }
at_pf() { ip -j link show "$link" | jq -c '.[0].vfinfo_list[2] | del(.address)'; }
settings=', "vlan": 100, "trust": "off", "mac": "02:00:00:00:00:43", "mtu": 1450, "reset": true'
of_vf > /run/t/of_vf
at_pf > /run/t/at_pf
for ends in 'DEL first' 'the namespace first'; do
    ip netns add pod
    check "ADD, $ends" attach ADD "$settings"
    index=$(ip netns exec pod cat /sys/class/net/net1/ifindex)
    [ "$ends" = 'DEL first' ] || ip netns del pod
    check 'DEL' exits 0 attach DEL "$settings"
    check 'says that the function was reset' has 'the function was reset' printed
    [ "$ends" != 'DEL first' ] || ip netns del pod
    check 'its driver was bound anew' refused is "$index" cat "$pci/$vf/net/$(netdev "$vf")/ifindex"
    check 'its interface is as before' is "$(cat /run/t/of_vf)" of_vf
    check 'and its settings at the PF' is "$(cat /run/t/at_pf)" at_pf
done
ip netns add pod
check 'the next pod can have it' exits 0 attach ADD
check 'without reset' exits 0 attach DEL
check 'it is not reset' lacks 'the function was reset' printed
ip netns del pod

section 'what the host needs, what the firmware lacks'
ip addr add 10.77.0.1/24 dev "$link"
configure << END
vfs:
- {pf: "$pf", count: 2}
END
check 'a PF with an address keeps its VFs' exits 4 provision
check 'because of it' has '10.77.0.1/24' printed
ip addr del 10.77.0.1/24 dev "$link"
configure << END
vfs:
- {pf: "$pf", count: 8}
END
check 'more than sriov_totalvfs is no failure of the node' exits 3 provision
check 'and says the limit' has 'can have 7 VFs by its firmware' printed
configure << END
vfs:
- {pf: "$pf", count: 4, linkState: enable}
END
echo 0 > "$pci/$pf/sriov_numvfs"
check 'a setting that the driver does not have fails by name' exits 1 provision
check 'with the setting' has 'refused: link_state enable' printed
check 'the VFs are there and bound' is ' 4 igbvf' bound "$pf"
check 'autoprobe is as before' is 1 autoprobe "$pf"

section 'two at once'
echo 0 > "$pci/$pf/sriov_numvfs"
configure << END
vfs:
- {pf: "$pf", count: 5}
END
provision > /run/t/one 2>&1 & one=$!
provision > /run/t/two 2>&1 & two=$!
codes=''
for run in "$one" "$two"; do wait "$run"; codes+="$? "; done
check 'both end well' is '0 0 ' echo "$codes"
check 'one has made the VFs, the other had nothing to do' is 1 sh -c "grep -l '^nothing to do' /run/t/one /run/t/two | wc -l"
check 'all are bound' is ' 5 igbvf' bound "$pf"
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
