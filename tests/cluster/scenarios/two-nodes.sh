# Two nodes, their cards on one wire: addresses differ, pods reach each other by the VFs and by RDMA, both ways.
if [ "$NODES" != 2 ]; then
    skip 'a cluster of one node: --nodes 2'
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
check 'vfrail runs on each node' is 2 kubectl -n kube-system get daemonset vfrail -o 'jsonpath={.status.numberReady}'
address_of() { network_status "$1" | jq -r '.[] | select(.interface == "net1").ips[0]'; }
cluster_address_of() { kubectl get pod "$1" -o 'jsonpath={.status.podIP}'; }
node_of() { kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
lock='{"capabilities": {"add": ["IPC_LOCK"]}}'      # memory for RDMA

section 'a pod on each'
pod one hostdev 1 "$lock"
of_node 2 pod two hostdev 1 "$lock"
check 'both run' eventually is 2 how_many_run
check 'on different nodes' is '127.0.0.2 localhost' eval 'echo $(node_of two) $(node_of one)'
check 'their addresses from one range differ' is 2 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'two addresses are assigned' is 2 addresses_assigned
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for ways in 'one two' 'two one'; do
    read -r from to <<< "$ways"
    check "ping, $from to $to, by the VFs" eventually in_pod "$from" busybox ping -c 3 -W 5 -I net1 "$(address_of "$to")"
    check "and by eth0" eventually in_pod "$from" busybox ping -c 3 -W 5 -I eth0 "$(cluster_address_of "$to")"
done

if [ "$LAB_KERNEL" = 7 ]; then
    section 'RDMA between the nodes'
    for ways in 'one two' 'two one'; do
        read -r from to <<< "$ways"
        in_pod "$to" bash -c 'vfrail-check --listen > /tmp/listener 2>&1 &
            until grep -q listening /tmp/listener; do sleep 0.1; done'
        check "vfrail-check, $from to $to: what it writes arrives, both ways" has ' sent, .* received' \
            in_pod "$from" bash -c 'vfrail-check --to "$0" --message 64K --seconds 1 | tee /tmp/measured' "$(address_of "$to")"
        in_pod "$from" cat /tmp/measured | sed 's/^/     /'
    done
fi

section 'as many pods on each as it has VFs, all at once'
check 'each sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pods -l app=test > /dev/null
all=$((2 * DEVICES)) began=$SECONDS creating=()
for ((i = 0; i < DEVICES; i++)); do
    pod "one-$i" hostdev 1 & creating+=($!)
    of_node 2 pod "two-$i" hostdev 1 & creating+=($!)
done
wait "${creating[@]}"
check "all $all run" eventually is $all how_many_run
echo "     after $((SECONDS - began)) s"
check 'each has an address of its own' is $all bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for device in one-0 two-0; do check "the RDMA device of $device can be opened" has PORT_ACTIVE in_pod $device ibv_devinfo; done
