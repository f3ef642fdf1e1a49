# RDMA traffic between the two pods of a Job, both ways: RC, UC and UD ping-pong and ib_write_bw, 20 times each, and
# vfrail-check's writes.
if [ "$LAB_KERNEL" != 7 ]; then
    skip 'Soft-RoCE before Linux 7 sends in the first namespace alone: --kernel 7'
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
job traffic hostdev '{"capabilities": {"add": ["IPC_LOCK"]}}'
check 'both pods of the Job run' eventually is 2 how_many_run
nodes_of_pods() { kubectl get pods -l app=test -o json | jq -r '[.items[].spec.nodeName] | unique | length'; }
[ "$NODES" = 1 ] || check 'on different nodes' is 2 nodes_of_pods
read -r first second <<< "$(kubectl get pods -l app=test -o 'jsonpath={.items[*].metadata.name}')"
address_of() { network_status "$1" | jq -r '.[] | select(.interface == "net1").ips[0]'; }

# run PORT [SERVER]: once, as a server or as its client. In the container, with the kind as $0; as what follows.
run='run() {
    if [ "$0" = write_bw ]; then ib_write_bw -x 1 -n 100 -s 4096 -F -p "$@"; else "ibv_$0_pingpong" -g 1 -n 100 -s 1024 -p "$@"; fi
}
'
# 20 servers, each at a port of its own.
servers=$run'cd /tmp; rm -f server-*; for i in $(seq 20); do
    (run $((20000 + i)) > server-$i.log 2>&1; echo $? > server-$i) > /dev/null 2>&1 & done
    until [ "$(cat /proc/net/tcp /proc/net/tcp6 | grep -cE ":4E[23][0-9A-F] .* 0A ")" = 20 ]; do sleep 0.1; done'
clients=$run'for i in $(seq 20); do run $((20000 + i)) "$1" > /tmp/client.log 2>&1 || { cat /tmp/client.log; echo "number $i"; exit 1; }; done'
served='cd /tmp; for i in $(seq 20); do until [ -s server-$i ]; do sleep 0.1; done; cat server-$i; done | sort | uniq -c | tr -s " "'
for ways in "$first $second" "$second $first"; do
    read -r server client <<< "$ways"
    for kind in rc uc ud write_bw; do
        check "$kind, $server: 20 servers listen" in_pod "$server" bash -c "$servers" $kind
        check "$kind, $client: 20 times" in_pod "$client" bash -c "$clients" $kind "$(address_of "$server")"
        check "$kind, $server: each has ended well" is ' 20 0' in_pod "$server" bash -c "$served"
    done
    in_pod "$server" bash -c 'vfrail-check --listen > /tmp/listener 2>&1 &
        until grep -q listening /tmp/listener; do sleep 0.1; done'
    check "vfrail-check, $client to $server: what it writes arrives, both ways" has ' sent, .* received' \
        in_pod "$client" bash -c 'vfrail-check --to "$0" --message 64K --seconds 1' "$(address_of "$server")"
done
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete job traffic --cascade=foreground > /dev/null
