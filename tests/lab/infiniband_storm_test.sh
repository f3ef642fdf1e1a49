#!/bin/bash
# Seven InfiniBand pods at once, round after round, without CDI: kubelet has the numbers of the device nodes from Allocate,
# and the rebind that a GUID needs and RDMA's moves must leave each pod its own. Counted: ADDs that are refused, and pods
# that started although their nodes have other numbers.
# Programs: vfrail, vfrail-cni, test-kubelet, static.
#   tests/lab/run ... tests/lab/infiniband_storm_test.sh [exclusive|shared [ROUNDS]]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh

mode=${1:-exclusive} rounds=${2:-5}
lab_up 7 --fabric infiniband --rdma "$mode" || exit

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
work=/run/t
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry $work
mapfile -t pods < <(vfs 0000:21:00.0)
all=("${!pods[@]}")
cat > $work/config.json << 'JSON'
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                   "selectors": {"drivers": ["ib_lab"], "isRdma": true}}]}
JSON
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=p$2 CNI_NETNS=/run/netns/p$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni > "$work/answer.$1.$2" 2>> $work/cni.log << JSON
{"cniVersion": "1.0.0", "name": "ib", "type": "vfrail", "deviceID": "${pods[$2]}", "guid": "00:11:22:33:44:55:77:0$2",
 "ipam": {"type": "static", "addresses": [{"address": "10.9.0.1$2/24"}]}}
JSON
}
# each VERB: of all pods at once; the verb's status of each in $work/VERB.I.
each() {
    local i running=()
    for i in "${all[@]}"; do { cni "$1" "$i"; echo $? > "$work/$1.$i"; } & running+=($!); done
    wait "${running[@]}"
}
failed() { grep -Lx 0 "$work/$1".? | wc -l; }
nodes_of() { (cd "$pci/$1" && ls infiniband_verbs infiniband_mad) 2> /dev/null | grep -E '^(uverbs|umad|issm)' | sort | paste -sd ' '; }
allocated_nodes() { jq -r '.devices[].host_path' "$1" | sed 's,.*/,,' | grep -v rdma_cm | sort | paste -sd ' '; }
state() { node_state | sed -E 's/((00:){7}00|(ff:){7}ff)( |")/no GUID\4/g; s/(uverbs|umad|issm)[0-9]+/\1/g'; }
unchanged() { state > $work/now; diff $work/before $work/now; }

test-kubelet run --kubelet-root $kubelet > $work/kubelet.log 2>&1 &
vfrail serve --config-file $work/config.json --use-cdi=false > $work/serve.log 2>&1 &
serve=$!
check 'kubelet is offered 14 devices' eventually test-kubelet capacity --kubelet-root $kubelet --wait "$resource=14" --timeout 60
state > $work/before

refused=0 wrong=0 kept=0
for ((round = 1; round <= rounds; round++)); do
    section "round $round, $mode"
    for i in "${all[@]}"; do
        test-kubelet allocate --kubelet-root $kubelet $resource --ids "${pods[i]}" > "$work/allocated.$i" || echo "FAIL Allocate $i"
        ip netns add "p$i"
    done
    begin=${EPOCHREALTIME/./}
    each ADD
    took=$(((${EPOCHREALTIME/./} - begin) / 1000))
    now=$(failed ADD)
    for i in "${all[@]}"; do
        [ "$(< "$work/ADD.$i")" = 0 ] || { jq -r .msg "$work/answer.ADD.$i" | cut -c1-240; continue; }
        [ "$(nodes_of "${pods[i]}")" != "$(allocated_nodes "$work/allocated.$i")" ] || continue
        wrong=$((wrong + 1))
        echo "p$i has $(nodes_of "${pods[i]}"), allocated $(allocated_nodes "$work/allocated.$i")"
    done
    refused=$((refused + now))
    echo "ADD of ${#pods[@]} at once: $now refused, $took ms"
    begin=${EPOCHREALTIME/./}
    each DEL
    echo "DEL of ${#pods[@]} at once: $(failed DEL) failed, $(((${EPOCHREALTIME/./} - begin) / 1000)) ms"
    kept=$((kept + $(failed DEL)))
    for i in "${all[@]}"; do ip netns del "p$i"; done
    test-kubelet free --kubelet-root $kubelet --ids "$(IFS=,; echo "${pods[*]}")" > $work/free.log 2>&1
    check 'the node is as before' eventually unchanged
done

section 'result'
echo "$mode, without CDI: of $((rounds * ${#pods[@]})) ADDs $refused refused, $wrong started with other numbers"
check 'no pod is refused' is 0 echo $refused
check 'none started with other numbers' is 0 echo $wrong
check 'no DEL failed' is 0 echo $kept
kill -TERM $serve
check 'TERM stops the plugin' eventually refused kill -0 $serve
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $work/cni.log
