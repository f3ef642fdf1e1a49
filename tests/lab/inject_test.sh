#!/bin/bash
# vfrail-cni killed, and failed, at each of its system calls, with a real VF and its RDMA device. Arguments: exclusive
# (default) or shared, the RDMA namespace mode; then words for inject_sweep: which sweeps, --in-turn.
# Programs: vfrail-cni, inject, inject_sweep, host-local.
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 2 --rdma "$mode"

vf=0000:21:10.0
ln -s "$(command -v nsenter)" /usr/local/bin/    # the sweep has a PATH of its own

section "one VF, $mode RDMA namespaces"
# As the sweep does: addresses that the kernel makes by itself would make every comparison a race.
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
node_state > /tmp/before
inject_sweep --device $vf "${@:2}"    # one line "ok" or "FAIL" for each sweep
status=$?
check 'nothing is lost, at no point' [ $status = 0 ]
# What the sweep gives the VF before it begins, and so leaves it.
ip link set "$(netdev $vf)" mtu 1500 txqueuelen 1000 alias '' down
ip link property del dev "$(netdev $vf)" altname a-name-of-more-than-fifteen-bytes
check 'the node is as before' diff /tmp/before <(node_state)
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
