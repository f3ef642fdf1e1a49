# Two nodes on one InfiniBand fabric: addresses differ, pods reach each other by IPoIB and by RDMA, both ways.
if [ "$FABRIC" != infiniband ] || [ "$NODES" != 2 ]; then
    skip 'two nodes on one InfiniBand fabric: --fabric infiniband --nodes 2'
    return
fi
ends_without_pods=yes
lock='{"capabilities": {"add": ["IPC_LOCK"]}}'      # memory for RDMA
# The object is read by vfrail: nothing of the operator runs here.
check 'the network of the HostDeviceNetwork' bash -c \
    'build/release/bin/vfrail render manifests/host-device-network.yaml --type vfrail | kubectl apply -f -'
check 'vfrail runs on each node' is 2 kubectl -n kube-system get daemonset vfrail -o 'jsonpath={.status.numberReady}'
address_of() { network_status "$1" | jq -r '.[] | select(.interface == "net1").ips[0]'; }
node_of() { kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
lid_of() { in_pod "$1" bash -c 'cat /sys/class/infiniband/*/ports/1/lid | head -n 1'; }
pings() { in_pod "$1" ping -c 1 -W 5 "$(address_of "$2")"; }

section 'a pod on each'
pod one hostdevice-net 1 "$lock"
of_node 2 pod two hostdevice-net 1 "$lock"
check 'both run' eventually is 2 how_many_run
check 'on different nodes' is '127.0.0.2 localhost' eval 'echo $(node_of two) $(node_of one)'
check 'their addresses from one range differ' is 2 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'two addresses are assigned' is 2 addresses_assigned
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for name in one two; do check "the port of $name is active" eventually has 'state ACTIVE' in_pod $name rdma link; done
echo "     LIDs $(lid_of one) and $(lid_of two)"
check 'IPoIB, one to two' eventually pings one two
check 'IPoIB, two to one' eventually pings two one

# as_users PROGRAM SERVER CLIENT WORD...: PROGRAM in both pods, as users try a fabric.
as_users() {
    local program=$1 server=$2 client=$3 rc=0
    shift 3
    # shellcheck disable=SC2016
    in_pod "$server" bash -c 'cd /tmp; rm -f served; (timeout 300 "$0" "$@" > server.log 2>&1; echo $? > served) > /dev/null 2>&1 &
        until grep -qE ":4853 [0-9A-F:]+ 0A " /proc/net/tcp /proc/net/tcp6 || [ -s served ]; do sleep 0.1; done' "$program" "$@"
    in_pod "$client" timeout 300 "$program" "$@" "$(address_of "$server")" || rc=$?
    # shellcheck disable=SC2016
    [ "$(in_pod "$server" bash -c 'cd /tmp; until [ -s served ]; do sleep 0.1; done; cat served')" = 0 ] || rc=1
    [ $rc -eq 0 ] || in_pod "$server" cat /tmp/server.log
    return $rc
}
section 'RDMA between the nodes'
for ways in 'one two' 'two one'; do
    read -r server client <<< "$ways"
    for kind in rc uc ud; do
        check "ibv_${kind}_pingpong, $client to $server" as_users ibv_${kind}_pingpong "$server" "$client" -n 100 -s 1024
    done
    check "ibv_rc_pingpong -c compares what arrives" as_users ibv_rc_pingpong "$server" "$client" -n 50 -s 16384 -c
    for program in ib_write_bw ib_read_bw ib_send_bw; do
        check "$program, $client to $server" as_users $program "$server" "$client" -F -n 100 --use_old_post_send
    done
    in_pod "$server" bash -c 'vfrail-check --listen > /tmp/listener 2>&1 &
        until grep -q listening /tmp/listener; do sleep 0.1; done'
    check "vfrail-check, $client to $server: what it writes arrives, both ways" has ' sent, .* received' \
        in_pod "$client" bash -c 'vfrail-check --to "$0" --message 64K --seconds 1 | tee /tmp/measured' "$(address_of "$server")"
    in_pod "$client" cat /tmp/measured | sed 's/^/     /'
done
kubectl delete pods -l app=test > /dev/null

section 'as many pods on each as it has VFs, all at once'
all=$((2 * DEVICES)) began=$SECONDS creating=()
for ((i = 0; i < DEVICES; i++)); do
    pod "one-$i" hostdevice-net 1 "$lock" & creating+=($!)
    of_node 2 pod "two-$i" hostdevice-net 1 "$lock" & creating+=($!)
done
wait "${creating[@]}"
check "all $all run" eventually is $all how_many_run
echo "     after $((SECONDS - began)) s"
check 'each has an address of its own' is $all bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'each sees its own RDMA nodes and no others' each_sees_its_own
# What they all do at the same time: one on each node is the other's peer.
exchange() {
    local i failures=0 running=()
    for ((i = 0; i < DEVICES; i++)); do
        { eventually pings "one-$i" "two-$i" && as_users ib_write_bw "one-$i" "two-$i" -F -n 20 --use_old_post_send; } > "$work/exchange-$i" 2>&1 &
        running+=($!)
    done
    for i in "${running[@]}"; do wait "$i" || failures=$((failures + 1)); done
    [ $failures = 0 ] || { cat "$work"/exchange-*; return 1; }
}
check 'each reaches its peer on the other node, by IPoIB and by RDMA writes' exchange
kubectl delete pods -l app=test > /dev/null
