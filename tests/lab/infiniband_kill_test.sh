#!/bin/bash
# vfrail-cni with an InfiniBand VF, killed before each system call that may change something, and each call of some failed in
# turn; then DEL, as a runtime does. The rebind that a GUID needs, IPoIB's new interface and RDMA's moves are among them.
# Programs: vfrail-cni, inject, static.
#   tests/lab/run ... tests/lab/infiniband_kill_test.sh [exclusive|shared [STEP]]      STEP: each STEP-th point (default 1)
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
mode=${1:-exclusive} step=${2:-1}
lab_up 1 --fabric infiniband --rdma "$mode" && set_guids || exit
A=0000:21:10.0
# cni VERB [INJECTOR...]
cni() {
    local verb=$1
    shift
    CNI_COMMAND=$verb CNI_CONTAINERID=a CNI_NETNS=/run/netns/a CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        timeout 60 "$@" vfrail-cni << JSON
{"cniVersion": "1.0.0", "name": "ib", "type": "vfrail", "deviceID": "$A", "guid": "00:11:22:33:44:55:66:01", "mtu": 2000,
 "ipam": {"type": "static", "addresses": [{"address": "10.9.0.1/24"}]}}
JSON
}
# The number of an uverbs device is the lowest that is free: another card's may have become free in between.
state() { node_state | sed -E 's/(uverbs|umad|issm)[0-9]+/\1N/g'; }
unchanged() { state > /tmp/now; diff /tmp/before /tmp/now; }
# One ADD and DEL first: what a device was before its first attachment is recorded until the next boot.
ip netns add a; cni ADD > /dev/null; cni DEL; ip netns del a
state > /tmp/before

# hit VERB WHAT K: the verb with its K-th call hit, then what the runtime does; sets `call`, fails if something is lost.
hit() {
    ip netns add a
    [ "$1" = ADD ] || cni ADD > /tmp/answer || return
    cni "$1" "$(command -v inject)" "$3" "$2" /tmp/report > /tmp/answer 2> /tmp/error
    call=$(< /tmp/report)
    cni DEL > /tmp/answer 2> /tmp/error || { echo "DEL after $call: $(< /tmp/answer)"; return 1; }
    ip netns del a
    eventually unchanged || { echo "after $1, $2 at $3, $call"; return 1; }
}
for verb in ADD DEL; do
    for what in kill-before-change EBUSY ENOMEM; do
        section "$verb, $what"
        points=0 lost=0 every=$step
        # A fault at each seventh call: most are answers to reads, and a kill is at each change.
        [ $what = kill-before-change ] || every=$((step * 7))
        for ((k = 1 + RANDOM % every; ; k += every)); do
            hit $verb $what $k > /tmp/lost || { lost=$((lost + 1)); echo "LOST: $(tail -n 15 /tmp/lost)"; ip netns del a 2> /dev/null; vfrail-cni sweep > /dev/null; }
            [[ $call != -* ]] || break
            [[ $call != hung* ]] || { lost=$((lost + 1)); echo "LOST: $call"; }
            points=$((points + 1))
            [ $lost -lt 5 ] || break
        done
        check "$points points, nothing is lost" is 0 echo $lost
    done
done
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
