#!/bin/bash
# vfrail serve follows the node: VFs, drivers, RDMA devices, modules, cables, its configuration, its own death.
# Programs: vfrail, vfrail-cni, test-kubelet.
. /lab/lib.sh
lab_up 4

resource=nvidia.com/hostdev
other=nvidia.com/other
kubelet=/var/lib/kubelet
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry /run/t /run/t/map
mapfile -t pf < <(pfs)
mapfile -t all < <(for one in "${pf[@]}"; do vfs "$one"; done)

# ---- What the list is, and how soon ------------------------------------------------------------------------------

kubelet_list() { test-kubelet capacity --kubelet-root $kubelet --json | jq -S "del(.[].allocated)"; }
offered() { test-kubelet capacity --kubelet-root $kubelet --wait "$1" --timeout 120 > /dev/null; }
# follows WHAT N COMMAND...: after COMMAND kubelet has N devices. How soon is printed, not checked: the emulation is slow.
follows() {
    local what=$1 count=$2 begin end listed
    shift 2
    begin=${EPOCHREALTIME/./}
    "$@" || echo "FAIL $*"
    end=${EPOCHREALTIME/./}
    check "$what" offered "$resource=$count"
    listed=$(grep -e " $resource: $count devices" /run/t/kubelet.log | tail -n 1 | cut -d ' ' -f 1)
    echo "     listed $(((${listed:-0} - end) / 1000)) ms after it was done, which took $(((end - begin) / 1000)) ms"
}
serve() {
    vfrail serve --config-file /run/t/map/config.json --rescan-interval 86400 --log-level debug "$@" >> /run/t/serve.log 2>&1 &
    server=$!
}
more_than() { [ "$(logged 'kernel event')" -gt "$1" ]; }
logged() { grep -c -e "$1" /run/t/serve.log; }

# As kubelet's atomic writer mounts a ConfigMap: a folder for each version, and a link that is swapped.
versions=0
configure() {
    versions=$((versions + 1))
    mkdir "/run/t/map/..$versions"
    cat > "/run/t/map/..$versions/config.json"
    ln -s "..$versions" /run/t/map/..data_tmp
    mv -T /run/t/map/..data_tmp /run/t/map/..data
    [ -e /run/t/map/config.json ] || ln -s ..data/config.json /run/t/map/config.json
}
one() { echo "{\"resourcePrefix\": \"nvidia.com\", \"resourceName\": \"$1\", \"selectors\": {\"devices\": [\"10ca\"]$2}}"; }
configure <<< "{\"resourceList\": [$(one hostdev)]}"

test-kubelet run --kubelet-root $kubelet 2>&1 |
    while read -r line; do echo "${EPOCHREALTIME/./} $line"; done > /run/t/kubelet.log &
serve
check 'kubelet is offered eight devices' eventually offered "$resource=8"

section 'VFs come and go'
into() { echo "$2" > "$1"; }  # into FILE TEXT
follows 'the VFs of one NIC are destroyed' 4 into "$pci/${pf[0]}/sriov_numvfs" 0
follows 'and created again' 8 into "$pci/${pf[0]}/sriov_numvfs" 4

section 'drivers'
follows 'a driver is unbound' 7 into "$pci/${all[1]}/driver/unbind" "${all[1]}"
follows 'and bound' 8 into /sys/bus/pci/drivers_probe "${all[1]}"
follows 'the module of the VFs is removed' 0 rmmod igbvf
follows 'and loaded late' 8 modprobe igbvf

section 'RDMA devices'
# The RDMA devices died with the driver.
follows 'a configuration that asks for RDMA' 0 configure <<< "{\"resourceList\": [$(one hostdev ', "isRdma": true')]}"
add_rdma() { eventually netdev "${all[$1]}" > /dev/null && rdma link add "mlx5_$1" type rxe netdev "$(netdev "${all[$1]}")"; }
add_some() { local i; for i; do add_rdma "$i" || return; done; }
follows 'RDMA devices are added' 8 add_some "${!all[@]}"
follows 'one is removed' 7 rdma link del mlx5_3
follows 'and added' 8 add_rdma 3

section 'what is no event, and what is one'
before=$(logged 'kernel event')
for i in {1..20}; do ip link add "veth$i" type veth peer name "peer$i"; ip link del "veth$i"; done
ip link add br9 type bridge
ip link del br9
sleep 1
check 'veths and bridges do not matter' is "$before" logged 'kernel event'
lists=$(jq -r . $kubelet/node.json | md5sum)
cable pf0 out > /dev/null
check 'a cable that is pulled is an event' eventually more_than "$before"
check 'and is no reason to change the list' is "$lists" eval "jq -r . $kubelet/node.json | md5sum"
cable pf0 in > /dev/null
ip link set "$(netdev "${all[0]}")" up
follows 'a VF that carries the default route is taken back' 7 ip route add default dev "$(netdev "${all[0]}")"
follows 'and offered again' 8 ip route del default
ip link set "$(netdev "${all[0]}")" down

section 'configuration'
pid_before=$server
configure <<< "{\"resourceList\": [$(one hostdev ', "isRdma": true, "pciAddresses": ["'"${all[0]}"'", "'"${all[1]}"'"]'), $(one other)]}"
check 'another resource has what the first no longer selects' offered "$other=6"
check 'the first has what is left' offered "$resource=2"
check 'the difference is logged' has 'the devices changed resource=nvidia.com/hostdev change="\?-6 devices' cat /run/t/serve.log
configure <<< "{\"resourceList\": [$(one hostdev ', "isRdma": true')"
check 'a broken one is reported' eventually has 'the last good one stays' cat /run/t/serve.log
check 'and changes nothing' offered "$resource=2"
check 'nor for the other' offered "$other=6"
follows 'a good one is taken again' 8 configure <<< "{\"resourceList\": [$(one hostdev ', "isRdma": true')]}"
check 'the other resource has no device' eventually is 0 jq ".\"$other\".capacity" $kubelet/node.json
check 'and then no socket' eventually refused test -e $kubelet/plugins_registry/nvidia.com_other.sock
check 'kubelet was never registered with again' is 1 grep -c " registered $resource" /run/t/kubelet.log
check 'it is the same process' kill -0 "$pid_before"

section 'killed, with devices in pods'
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni 2>> /run/t/cni.log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"vfrail\", \"deviceID\": \"$3\"}"
}
test-kubelet allocate --kubelet-root $kubelet $resource --ids "${all[1]},${all[6]}" > /dev/null
kubelet_list > /run/t/list.before
for i in 1 6; do ip netns add "p$i"; cni ADD "p$i" "${all[i]}" > /dev/null || echo "FAIL ADD p$i"; done
(cd /var/run/k8s.cni.cncf.io/devinfo/dp && cat ./*) > /run/t/devinfo.before
check 'devices that went to pods are still offered' offered "$resource=8"
for round in 1 2 3; do
    kill -9 $server
    wait $server 2> /dev/null
    serve
    check "killed $round: eight devices" eventually has "$round" \
        bash -c "grep -c ' registered $resource' /run/t/kubelet.log | awk '{print \$1 - 1}'"
    check "killed $round: offered" offered "$resource=8"
    kubelet_list > /run/t/list.after
    check "killed $round: the list is identical" diff /run/t/list.before /run/t/list.after
done
check 'the files of pods are kept' diff /run/t/devinfo.before <(cd /var/run/k8s.cni.cncf.io/devinfo/dp && cat ./*)
for i in 1 6; do cni DEL "p$i" "${all[i]}" || echo "FAIL DEL p$i"; ip netns del "p$i"; done
check 'when the pods have ended, too' offered "$resource=8"

section 'destroyed, while kubelet counts one as a pod'"'"'s'
state_of() { jq -r --arg id "$1" ".\"$resource\".devices[] | select(.id == \$id) | .health" $kubelet/node.json; }
follows 'the VFs of one NIC are destroyed' 4 into "$pci/${pf[0]}/sriov_numvfs" 0
check 'the one that a pod has stays in the list, unhealthy' eventually is Unhealthy state_of "${all[1]}"
check 'with the reason' eventually has 'it has vanished from the node' cat /run/t/serve.log
check 'one that no pod has does not' is '' state_of "${all[0]}"
follows 'and created again' 8 eval "into $pci/${pf[0]}/sriov_numvfs 4; add_some 0 1 2 3"
check 'it is healthy' eventually is Healthy state_of "${all[1]}"
test-kubelet free --kubelet-root $kubelet --ids "${all[1]},${all[6]}" > /dev/null

section 'a port speaks for itself'
kill -TERM $server
wait $server
rdma link add port0 type rxe netdev "$(netdev "${pf[0]}")"
serve --verbs-events
check 'its device is listened to' eventually has 'receiving events of the RDMA device device=port0' cat /run/t/serve.log
ip link set "$(netdev "${pf[0]}")" down
check 'it reports that it is down' eventually has 'event="\?port0: port error' cat /run/t/serve.log
check 'devices of the other port are not opened' lacks 'receiving events of the RDMA device device=mlx5' cat /run/t/serve.log
check 'and can still be removed' timeout 120 rdma link del port0
check 'then it is closed' eventually refused bash -c "ls -l /proc/$server/fd | grep -q uverbs"
ip link set "$(netdev "${pf[0]}")" up

section 'as in its DaemonSet: a namespace of its own'
kill -TERM $server
wait $server
mkdir -p /host-root/{sys,proc,dev}
for folder in sys proc dev; do mount --bind /$folder /host-root/$folder; done
ip netns add plugin
ip link add to-plugin type veth peer name eth0 netns plugin
ip link set to-plugin up
ip -n plugin link set eth0 up
: > /run/t/serve.log
ip netns exec plugin vfrail serve --root /host-root --config-file /run/t/map/config.json --rescan-interval 86400 \
    --log-level debug >> /run/t/serve.log 2>&1 &
server=$!
check 'kubelet watches it' eventually has 'watches the devices' cat /run/t/serve.log
follows 'a driver is unbound' 7 into "$pci/${all[1]}/driver/unbind" "${all[1]}"
into /sys/bus/pci/drivers_probe "${all[1]}"
follows 'and bound, and has its RDMA device' 8 add_rdma 1
: > /run/t/serve.log
cable pf1 out > /dev/null
check 'the cable of a NIC of the host is an event' eventually has 'kernel event event="\?link ' cat /run/t/serve.log
cable pf1 in > /dev/null

section 'idle'
ticks() { awk '{print $14 + $15}' "/proc/$server/$1stat"; }
settled() { local before; before=$(ticks "task/$server/"); sleep 3; [ "$(ticks "task/$server/")" = "$before" ]; }
eventually settled
# How often it ran: its CPU time is that of an emulated processor, and of whatever else this machine does.
times_run() { awk '/ctxt_switches/ {sum += $2} END {print sum}' "/proc/$server/task/$server/status"; }
before=$(ticks '') before_runs=$(times_run)
sleep 60
runs=$(($(times_run) - before_runs))
echo "over 60 s of nothing vfrail serve took $((($(ticks '') - before) * 10)) ms of emulated CPU, and its owner thread ran $runs times"
check 'its owner thread slept' test $runs -lt 3
kill -TERM $server
wait $server

section 'on a machine with 128 processors'
echo 0-127 > /run/t/processors
for list in possible present online; do mount --bind /run/t/processors /sys/devices/system/cpu/$list; done
: > /run/t/serve.log
serve
check 'kubelet has its list' eventually has 'registered with kubelet' cat /run/t/serve.log
threads() { ls "/proc/$server/task" | wc -l; }
echo "it has $(threads) threads"
check 'it has no more threads than with two' test "$(threads)" -le 24
umount /sys/devices/system/cpu/{possible,present,online}

section 'asked to end while a pod waits for a device that another still has'
test-kubelet allocate --kubelet-root $kubelet $resource --ids "${all[1]}" > /dev/null
ip netns add p1
cni ADD p1 "${all[1]}" > /dev/null || echo 'FAIL ADD p1'
test-kubelet free --kubelet-root $kubelet --ids "${all[1]}" > /dev/null
test-kubelet allocate --kubelet-root $kubelet $resource --ids "${all[1]}" > /run/t/answer 2>&1 &
waits=$!
check 'it waits' eventually has 'waiting for a device to return' cat /run/t/serve.log
kill -TERM $server
wait $server
check 'the plugin ends as it should' is 0 echo $?
wait $waits
check 'the call was cancelled, and did not wait to its end' has 'Cancelling all calls' cat /run/t/answer
cni DEL p1 "${all[1]}" || echo 'FAIL DEL p1'
ip netns del p1

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 60 /run/t/serve.log /run/t/kubelet.log /run/t/cni.log
