#!/bin/bash
# The InfiniBand fabric of two machines (module/ib_lab_trunk.c): IPoIB, programs of verbs and vfrail-check between them, both ways, and
# what they say when the way between is cut.
#   tests/lab/pair --program build/release/bin/vfrail-check tests/lab/infiniband_trunk_test.sh
# Argument: the machine's number, 1 or 2. Both do the same at the same time.
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
machine=$1 other=$((3 - $1))
while read -r module; do insmod "/host/files/modules/$module"; done < /host/files/modules/order
trunk_of() { grep -l 52:54:00:ff: /sys/class/net/*/address | cut -d/ -f5 | grep .; }
eventually trunk_of > /dev/null || exit
trunk=$(trunk_of)
ip link set "$trunk" up && ip addr add "10.8.0.$machine/24" dev "$trunk" || exit
lab_up 2 --fabric infiniband --hca "trunk=$trunk machine=$machine" && set_guids 2 "$machine" || exit
vf=0000:21:10.0
eventually netdev $vf > /dev/null || exit
interface=$(netdev $vf) device=$(rdmadev $vf)
ip link set "$interface" up && ip addr add "10.9.0.$machine/24" dev "$interface" || exit

# together: returns when the other machine has called it as often.
step=0
mkdir /tmp/www
busybox httpd -h /tmp/www
others_step() { timeout 5 busybox wget -q -O - "http://10.8.0.$other/step"; }
other_is_there() { [ "$(others_step)" -ge $step ]; }
together() {
    step=$((step + 1))
    echo $step > /tmp/www/step
    eventually other_is_there
}

section 'IPoIB'
check 'the port is active' eventually has ACTIVE rdma link show "$device/1"
lids() { cat /sys/class/infiniband/*/ports/1/lid; }
check "LIDs are those of machine $machine" lacks "^0x[^$((machine * 4))]\|^0x.{0,3}\$" lids
check 'the machines are there' together
check 'ping' eventually ping -c 1 -W 2 "10.9.0.$other"
check 'with large packets' eventually ping -c 3 -s 1900 -W 2 "10.9.0.$other"

# as_users SERVER PROGRAM WORD...: PROGRAM on both machines, as users try a fabric; SERVER is the number of one.
as_users() {
    local server=$1 program=$2
    shift 2
    if [ "$server" != "$machine" ]; then
        until [ "$(busybox wget -q -O - "http://10.8.0.$other/listens")" = $step ]; do sleep 0.2; done
        timeout 120 "$program" -d "$device" "$@" "10.9.0.$other"
        return
    fi
    (
        until grep -qE ':4853 [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done
        echo $step > /tmp/www/listens
    ) &
    timeout 120 "$program" -d "$device" "$@"
}
section 'programs of libibverbs and perftest'
for server in 1 2; do
    for kind in rc uc ud; do
        check "ibv_${kind}_pingpong, server $server" as_users $server ibv_${kind}_pingpong -n 100 -s 1024
        together
    done
    check "ibv_rc_pingpong -c compares what arrives, server $server" as_users $server ibv_rc_pingpong -n 50 -s 16384 -c
    together
    check "a message of the greatest length, server $server" as_users $server ibv_rc_pingpong -n 3 -s 1048576 -c
    together
    for program in ib_write_bw ib_read_bw ib_send_bw; do
        check "$program, server $server" as_users $server $program -F -n 100 --use_old_post_send
        together
    done
done

section 'vfrail-check, RDMA writes both ways'
for listener in 1 2; do
    if [ $listener = "$machine" ]; then
        vfrail-check --listen > /tmp/listener 2>&1 &
        check 'it listens' eventually has listening cat /tmp/listener
        together
        wait $!
        check 'it has ended well' test $? = 0
    else
        together
        check 'what it writes arrives, both ways' has ' sent, .* received' \
            eval "vfrail-check --to 10.9.0.$other --message 64K --seconds 1 | tee /tmp/call"
        cat /tmp/call
    fi
    together
done

section 'the way between is cut'
# Until the sender gives up, 7 times the answer's time (module/ib_lab_remote.c).
cut() {
    sleep 3
    ip link set "$trunk" down
    sleep 30
    ip link set "$trunk" up
}
[ "$machine" = 2 ] || cut &
long=(as_users 1 ib_write_bw -F -n 100000 --use_old_post_send)
if [ "$machine" = 1 ]; then
    check 'ib_write_bw fails' refused "${long[@]}"
else
    check 'ib_write_bw fails, as the completion says' refused_with 'ransport retry\|syndrom\|status 12' "${long[@]}"
fi
wait
check 'both are there again' together
check 'ibv_rc_pingpong works' as_users 1 ibv_rc_pingpong -n 100 -s 1024
together

section 'afterwards'
check 'the module can go' rmmod ib_lab
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
together
sleep 5                                     # the other asks for this step, too
