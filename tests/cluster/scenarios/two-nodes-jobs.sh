# Jobs over two nodes, as the operators for PyTorch and MPI make them: eight ranks with a device each, that find each other and
# write to each other by RDMA, all at once.
#
# No operator runs: the pods are those that it would make, with its variables. There is no DNS here, so that the master's name
# stands in their hosts file, and no ssh: the launcher is `kubectl exec`, as mpi-operator's own once was.
if [ "$NODES" != 2 ] || [ "$LAB_KERNEL" != 7 ]; then
    skip 'RDMA between two nodes takes both: --nodes 2 --kernel 7'
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
ends_without_pods=yes
ranks=$DEVICES lock='{"capabilities": {"add": ["IPC_LOCK"]}}'
# spec_of_rank RANK SCRIPT: each node has every other rank, so that all that is written goes from one to the other.
spec_of_rank() {
    if (($1 % 2)); then of_node 2 pod_spec 1 "$lock" "$2"; else pod_spec 1 "$lock" "$2"; fi
}
# succeeded, node_count: how many pods have ended well, and on how many nodes they are.
succeeded() { kubectl get pods -l app=test --field-selector status.phase=Succeeded -o name | wc -l; }
node_count() { kubectl get pods -l app=test -o json | jq -r '[.items[].spec.nodeName] | unique | length'; }

section 'as a PyTorchJob'
# Each rank asks the master for the addresses of all, writes to the next in the ring and is written to by the one before.
rank='address=$(ip -o -4 address show net1 | sed -E "s|.* inet ([0-9.]+)/.*|\1|")
cd /tmp
if [ "$RANK" = 0 ]; then
    busybox mkdir -p www/cgi-bin
    printf "%s\n" "#!/bin/bash" "echo \"\$QUERY_STRING\" >> /tmp/table" "echo; cat /tmp/table" > www/cgi-bin/join
    chmod +x www/cgi-bin/join
    busybox httpd -p "$MASTER_PORT" -h www
fi
ask() { busybox wget -q -O - "http://$MASTER_ADDR:$MASTER_PORT/cgi-bin/join?$1"; }
until ask "$RANK,$address" > /tmp/joined; do sleep 1; done
until [ "$(ask seen | grep , | cut -d, -f1 | sort -u | wc -l)" = "$WORLD_SIZE" ]; do sleep 1; done
next=$(ask seen | sed -n "s/^$(((RANK + 1) % WORLD_SIZE)),//p" | head -n 1)
ib_write_bw -x 1 -n 200 -s 65536 -F -p 20000 > before.log 2>&1 & before=$!
done=1
for try in $(seq 60); do ib_write_bw -x 1 -n 200 -s 65536 -F -p 20000 "$next" > next.log 2>&1 && done=0 && break; sleep 1; done
wait $before || done=1
grep -h "^ 65536" next.log || cat next.log before.log
[ "$RANK" != 0 ] || until [ "$(ask seen | grep -c over)" -ge $((WORLD_SIZE - 1)) ]; do sleep 1; done
[ "$RANK" = 0 ] || ask over > over.log
exit $done'
# rank_pod RANK ADDRESS: ADDRESS is the master's.
rank_pod() {
    local name=train-worker-$(($1 - 1))
    [ "$1" != 0 ] || name=train-master-0
    jq -n --arg name "$name" --arg rank "$1" --arg size "$ranks" --arg address "$2" --argjson spec "$(spec_of_rank "$1" "$rank")" '
        {apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {app: "test"}, annotations: {"k8s.v1.cni.cncf.io/networks": "hostdev"}},
         spec: ($spec | .restartPolicy = "Never" | .containers[0].env = [{name: "MASTER_ADDR", value: "train-master-0"},
             {name: "MASTER_PORT", value: "23456"}, {name: "RANK", value: $rank}, {name: "WORLD_SIZE", value: $size}] |
             .hostAliases = if $address == "" then [] else [{ip: $address, hostnames: ["train-master-0"]}] end)}' | kubectl apply -f - > /dev/null
}
rank_pod 0 ''
check 'the master runs' eventually running train-master-0
master=$(kubectl get pod train-master-0 -o 'jsonpath={.status.podIP}')
for ((i = 1; i < ranks; i++)); do rank_pod $i "$master"; done
check "all $ranks ranks have written to the next, and have ended" eventually is $ranks succeeded
check 'they were on both nodes' is 2 node_count
for ((i = 0; i < ranks - 1; i++)); do kubectl logs "train-worker-$i" | sed 's/^/     /'; done
kubectl delete pods -l app=test > /dev/null
check 'every device is in the host, as it was before' each_node eventually at_baseline

section 'as an MPIJob'
for ((i = 0; i < ranks; i++)); do
    jq -n --arg name "mpi-worker-$i" --argjson spec "$(spec_of_rank $i '')" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name,
        labels: {app: "test"}, annotations: {"k8s.v1.cni.cncf.io/networks": "hostdev"}}, spec: $spec}' | kubectl apply -f - > /dev/null
done
check "all $ranks workers run" eventually is $ranks how_many_run
check 'on both nodes' is 2 node_count
check 'each has an address of its own' is $ranks bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
address_of() { network_status "$1" | jq -r '.[] | select(.interface == "net1").ips[0]'; }
# exchange STEP: each worker writes to the one that is STEP after it, at the same time.
exchange() {
    local i peer failures=0 running=()
    for ((i = 0; i < ranks; i++)); do
        peer=$(((i + $1) % ranks))
        in_pod "mpi-worker-$i" bash -c 'cd /tmp
            ib_write_bw -x 1 -n 100 -s 65536 -F -p 20000 > before.log 2>&1 & before=$!
            for try in $(seq 60); do ib_write_bw -x 1 -n 100 -s 65536 -F -p 20000 "$0" > next.log 2>&1 && break; sleep 1; done
            wait $before && grep "^ 65536" next.log' "$(address_of "mpi-worker-$peer")" > "$work/exchange-$i" 2>&1 &
        running+=($!)
    done
    for i in "${running[@]}"; do wait "$i" || failures=$((failures + 1)); done
    [ $failures = 0 ] || { cat "$work"/exchange-*; return 1; }
}
for ((step = 1; step < ranks; step++)); do check "each writes to the one $step after it" exchange $step; done
check 'each sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pods -l app=test > /dev/null
