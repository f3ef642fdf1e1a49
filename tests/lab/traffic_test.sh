#!/bin/bash
# vfrail-check's test of traffic: RDMA writes on real queue pairs of Soft-RoCE, by the program that is shipped. Both
# processes are in the VM's first namespace: rxe of Linux 6.12 sends and listens there only. In a pod's namespace its queue
# pairs connect, and writes end with Work Request Flushed Error (of 5.10 with status 4), which is shown as a message here. With
# Linux 7 they complete.
# Programs: vfrail-check.
. /lab/lib.sh
lab_up 1

work=/run/t
mkdir -p $work
ip link set lo up
subnet=0
for pf in $(pfs); do
    vf=$(vfs "$pf")
    ip link set "$(netdev "$vf")" up
    ip addr add "10.8.$subnet.1/24" dev "$(netdev "$vf")"
    subnet=$((subnet + 1))
done
check 'the ports are active' eventually is 2 bash -c "cat /sys/class/infiniband/*/ports/1/state | grep -c ACTIVE"
check 'they have GIDs of their addresses' eventually is 2 bash -c \
    "cat /sys/class/infiniband/*/ports/1/gids/* | grep -c 'ffff:0a08'"
quick=(--message 64K --seconds 1)

# A job of a script without job control ignores INT.
start() { set -m; vfrail-check "$@" > $work/out 2> $work/err & started=$!; set +m; }
stopped() { kill -"$1" $started; wait $started; ended="$? $(tail -n 1 $work/err)"; }
pairs() { rdma resource show qp | grep 'comm vfrail-check' | wc -l; }

section 'each rail with itself'
vfrail-check --loopback "${quick[@]}" -o json > $work/loop.json
check 'writes complete on both' is true jq '.traffic.rails | length == 2 and all(.alone.sent.bytes > 0 and .alone.sent.gbits > 0)' $work/loop.json
check 'and so do small ones, one at a time, which are timed' is true jq '.traffic.rails | all(.alone.sent.round_trip |
    .count > 0 and .typical_us > 0 and (.p99_us == null or .p99_us >= .typical_us))' $work/loop.json || cat $work/loop.json
check 'which is no fault' is '["note"]' jq -c '[.checks[0].finding] | unique' $work/loop.json ||
    cat $work/loop.json
check 'for people, too' has 'mlx5_0 with itself: [0-9.]* Gbit/s: [0-9]* % of .*; a write of 8 bytes is acknowledged in [0-9.]* us' vfrail-check --loopback "${quick[@]}"
check 'nothing is left of it' is 0 pairs

section 'two processes'
start --listen
check 'the listener says how to call it' eventually has 'port 18517, for 600 s; in the other pod: vfrail-check --to ' cat $work/err
check 'who is no caller does not end it' has error bash -c 'exec 3<> /dev/tcp/127.0.0.1/18517 && echo "GET / HTTP/1.0" >&3 && head -n 1 <&3'
vfrail-check --to 127.0.0.1 "${quick[@]}" -o json > $work/call.json
check 'each rail sends and receives' is true jq '.traffic.rails | length == 2 and
    all((.alone, .together) | .sent.gbits > 0 and .received.gbits > 0 and .failed == null)' $work/call.json || cat $work/call.json
check 'both ways are timed, each rail alone' is true jq '.traffic.rails | all(.alone.sent.round_trip.count > 0 and
    .alone.received.round_trip.count > 0 and .together.sent.round_trip == null)' $work/call.json
check 'and is compared with its rate' is true jq 'all(.checks[0]; .id == "VF-P24") and (.traffic.rails | all(.rate_gbits > 0))' $work/call.json
wait $started
check 'the listener ends by itself after one test' is 0 echo $?
check 'and has said who called' is '127.0.0.1: no test: a line of the peer;127.0.0.1: test done' \
    bash -c "sed -n 's/\(a line of the peer\).*/\1/; /^127/p' $work/err | paste -sd ';'"
jq -r '.traffic.rails[] | "\(.name): \(.alone.sent.gbits) sent, \(.alone.received.gbits) received, \(.rate_gbits) rate, round trip \(.alone.sent.round_trip)"' $work/call.json

section 'what fails is named'
check 'a GID index that is not there' has 'modify to RTR: ENODATA.*there is no GID at that index' \
    bash -c "vfrail-check --loopback ${quick[*]} --gid-index 99; [ \$? = 1 ]"
start --listen --gid-index 99
eventually has listening cat $work/err
check 'at the peer, too' has 'at the peer: modify to RTR: ' bash -c "vfrail-check --to 127.0.0.1 ${quick[*]}; [ \$? = 1 ]"
wait $started
check 'nobody listens' refused_with 'ECONNREFUSED.*start vfrail-check --listen' vfrail-check --to 127.0.0.1 --port 5
check 'nobody calls' refused_with 'nobody has called in 1 s' vfrail-check --listen --wait 1
ip link set "$(netdev "$(vfs 0000:41:00.0)")" down
check 'a port that is down' has 'mlx5_1 with itself: port: the port is not ACTIVE' \
    bash -c "vfrail-check --loopback ${quick[*]}; [ \$? = 1 ]"
ip link set "$(netdev "$(vfs 0000:41:00.0)")" up

section 'interrupted'
start --listen
eventually has listening cat $work/err
stopped INT
check 'by ^C the listener ends, and says so' is '1 vfrail-check: interrupted' echo "$ended"
start --loopback --seconds 60
check 'a test is under way' eventually refused is 0 pairs
top() { vfrail-check --top --once -o json | jq '.traffic | length == 2 and .[0].per_second.rdma_tx_packets > 0'; }
check '--top shows it' eventually is true top
stopped TERM
check 'and ends by TERM' is '1 vfrail-check: interrupted' echo "$ended"
check 'nothing is left of it' is 0 pairs

section 'in a pod'
vf=$(vfs 0000:41:00.0)
name=$(netdev "$vf")
ip netns add pod
rdma dev set mlx5_1 netns pod
ip link set "$name" netns pod
ip -n pod link set lo up
ip -n pod addr add 10.8.1.1/24 dev "$name"
ip -n pod link set "$name" up
check 'the port is active' eventually has ACTIVE ip netns exec pod cat /sys/class/infiniband/mlx5_1/ports/1/state
if [ "$(uname -r | cut -d. -f1)" -lt 7 ]; then
    check 'what rxe of Linux 6.12 cannot do is named' has 'mlx5_1 with itself: .*\(Work Request Flushed Error\|completion status [24]\)' \
        bash -c "ip netns exec pod vfrail-check --loopback ${quick[*]}; [ \$? = 1 ]"
else
    check 'writes complete in the pod' has 'mlx5_1 with itself: .*Gbit/s' ip netns exec pod vfrail-check --loopback "${quick[@]}"
fi

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
