#!/bin/bash
# Many vfrail-cni at once on 14 real VFs and their RDMA devices (tests/stress). Arguments: exclusive (default) or
# shared, the RDMA namespace mode; seconds; seed.
# Programs: vfrail-cni, stress, host-local.
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 7 --rdma "$mode"
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
ln -s "$(command -v nsenter)" /usr/local/bin/    # the crowd has a PATH of its own

section "${#all[@]} VFs, $mode RDMA namespaces"
# As the crowd does: addresses that the kernel makes by itself would make every comparison a race.
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
# Without the names of device nodes, which go round among the VFs, and those of MAD nodes, which soft RDMA devices
# lose by their moves.
state() { node_state | sed -E 's/ (infiniband_verbs|infiniband_mad)\/[^ ]*//g'; }
state > /tmp/before
nodes=$(ls /sys/class/infiniband_verbs)
devices=()
for vf in "${all[@]}"; do devices+=(--device "$vf"); done
stress --workers 64 --seconds "${2:-60}" --seed "${3:-1}" "${devices[@]}"
status=$?
check 'nothing is lost' [ $status = 0 ]
# What the crowd gives the VFs before it begins, and so leaves them.
for vf in "${all[@]}"; do
    name=$(netdev "$vf")
    ip link set "$name" mtu 1500 txqueuelen 1000 alias '' down
    ip link property del dev "$name" altname "a-long-altname-of-$name"
done
check 'the node is as before' diff /tmp/before <(state)
check 'so are the device nodes' is "$nodes" ls /sys/class/infiniband_verbs
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
