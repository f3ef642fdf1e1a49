#!/bin/bash
# Faults of the machine: full, used up and read-only file systems, a clock that jumps, too little memory, too few processes,
# processes that are killed, stopped and frozen. No device is lost, each verb ends in bounded time and says why, and
# afterwards all is as before without help. How long each took is printed.
# Programs: vfrail, vfrail-cni, test-kubelet, host-local.
. /lab/lib.sh
lab_up 4 --rdma exclusive
# A device of the PF's takes the lowest number.
rdma link del mlx5_0
rdma link add lowest type rxe netdev "$(netdev 0000:21:00.0)"
rdma link add mlx5_0 type rxe netdev "$(netdev 0000:21:10.0)"

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
state=/var/lib/cni/vfrail run=/run/vfrail cdi=/run/cdi devinfo=/run/k8s.cni.cncf.io/devinfo/dp
work=/run/t
cgroups=/sys/fs/cgroup
port=9808
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry $work $cgroups/{small,few,frozen}
echo '+memory +pids' > $cgroups/cgroup.subtree_control
for folder in $state $run $cdi $devinfo; do
    mkdir -p $folder
    mount -t tmpfs -o mode=700,size=256k,nr_inodes=200 tmpfs $folder
done
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
pods='a b c'
for pod in $pods; do ip netns add "$pod"; done
exec 9>&1           # what a check does not show

# ---- The verbs, and what must be so after them ---------------------------------------------------------------------

# As the clock jumps: since power-on.
now_ms() { awk '{print int($1 * 1000)}' /proc/uptime; }
within=()           # a command that runs another
cni() {
    local verb=$1 pod=$2 device=$3 begin rc=0
    begin=$(now_ms)
    CNI_COMMAND=$verb CNI_CONTAINERID=$pod CNI_NETNS=/run/netns/$pod CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        timeout 100 "${within[@]}" vfrail-cni > "$work/$pod.answer" 2>> $work/cni.log 9>&- << END || rc=$?
{"cniVersion": "1.0.0", "name": "rails", "type": "vfrail", "deviceID": "$device",
 "ipam": {"type": "host-local", "subnet": "10.9.0.0/24"}}
END
    echo "     $verb $pod: $rc after $(($(now_ms) - begin)) ms$([ $rc = 0 ] || jq -r '": \(.msg): \(.details)"' "$work/$pod.answer")" >&9
    [ $rc = 0 ] || { cat "$work/$pod.answer"; return $rc; }
}
allocate() {
    local begin rc=0
    begin=$(now_ms)
    timeout 60 test-kubelet allocate --kubelet-root $kubelet $resource --ids "$1" > $work/allocate 2>&1 || rc=$?
    echo "     Allocate: $rc after $(($(now_ms) - begin)) ms$([ $rc = 0 ] || echo ": $(< $work/allocate)")" >&9
    cat $work/allocate
    [ $rc != 0 ] || test-kubelet free --kubelet-root $kubelet --ids "$1" > /dev/null
    return $rc
}
# Numbers of RDMA's device nodes change when devices move.
facts() { node_state | grep -v '^file .*/fill' | sed -E 's/(uverbs|umad)[0-9]+/\1N/g; s/ (infiniband_verbs|infiniband_mad)\/[^ ]*//g'; }
as_before() { diff $work/before <(facts); }
# Each VF's interface and RDMA device are in one network namespace, and in no second one.
one_place() {
    local ns
    for ns in '' $pods; do
        ${ns:+ip netns exec $ns} bash -c "cd $pci && shopt -s nullglob && for f in ${all[*]}; do
            for entry in \$f/net/* \$f/infiniband/*; do echo \${entry%/*}; done; done"
    done | sort | uniq -c | awk '{print} $1 != 1 {bad = 1} END {exit bad || NR != 16}'
}
lists() { grep -c ": [0-9]* devices" $work/kubelet.log; }
offered() { test-kubelet capacity --kubelet-root $kubelet --wait "$resource=8" --timeout 120; }
kubelet_list() { test-kubelet capacity --kubelet-root $kubelet --json | jq -S 'del(.[].allocated)'; }
same_list() { offered > /dev/null && diff $work/list <(kubelet_list); }
page() {
    local answer
    answer=$(timeout 20 bash -c "exec 3<> /dev/tcp/127.0.0.1/$port && printf 'GET /$1 HTTP/1.0\r\n\r\n' >&3 && cat <&3") || return
    sed '1,/^\r$/d' <<< "$answer"
    [[ $answer == 'HTTP/1.'?' 200 '* ]]
}
scans() { page metrics | awk '/^vfrail_scans_total/ {sum += $NF} END {print sum}'; }
more_scans() { [ "$(scans)" -gt "$1" ]; }
serve() {
    "$@" vfrail serve --config-file $work/config.json --use-cdi --rescan-interval 2 --metrics-address localhost:$port \
        >> $work/serve.log 2>&1 9>&- &
    server=$!
}

# ---- The faults of a file system: begin and end, of a folder ---------------------------------------------------------

begin_full() { ! dd if=/dev/zero of="$1/fill" bs=4k 2> /dev/null; }
end_full() { rm "$1/fill"; }
begin_inodes() {
    local i
    mkdir "$1/fill.d"
    for i in {1..200}; do : > "$1/fill.d/$i" || break; done 2> /dev/null
}
end_inodes() { rm -r "$1/fill.d"; }
begin_read_only() { mount -o remount,ro "$1"; }
end_read_only() { mount -o remount,rw "$1"; }

echo '{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
    "selectors": {"vendors": ["8086"], "isRdma": true}}]}' > $work/config.json
test-kubelet run --kubelet-root $kubelet > $work/kubelet.log 2>&1 9>&- &
serve
check 'kubelet is offered eight devices' eventually offered
kubelet_list > $work/list
vf=${all[0]}
check 'ADD and DEL' eval "cni ADD a $vf && cni DEL a $vf"     # IPAM's folder is as it stays
facts > $work/before


# Refused, and the error names FOLDER. done_or_refused yes: it succeeds, as it needs no space there.
refused_in() { refused_with "$1/.*\(No space left\|Read-only\)" "${@:2}"; }
done_or_refused() { if [ "$1" = yes ]; then "${@:3}"; else refused_in "$2" "${@:3}"; fi; }
declare -A possible=(
    ["ADD full $run"]=yes                                           # a lock is a file without content
    ["DEL full $run"]=yes ["DEL full $state"]=yes ["DEL inodes $state"]=yes
)
for fault in full inodes read_only; do
    for folder in $state $run; do
        section "$fault: $folder"
        begin_$fault $folder
        check 'ADD is possible, or refused' done_or_refused "${possible[ADD $fault $folder]:-no}" $folder cni ADD a $vf
        check 'each device is in one place' one_place
        end_$fault $folder
        check 'DEL' cni DEL a $vf
        check 'all is as before' as_before
        check 'ADD' cni ADD a $vf
        begin_$fault $folder
        check 'DEL is possible, or refused' done_or_refused "${possible[DEL $fault $folder]:-no}" $folder cni DEL a $vf
        check 'each device is in one place' one_place
        end_$fault $folder
        check 'DEL again' cni DEL a $vf
        check 'all is as before' as_before
    done
    for folder in $run $cdi $devinfo; do
        section "$fault: $folder, Allocate"
        begin_$fault $folder
        check 'Allocate is refused' refused_in $folder allocate $vf
        end_$fault $folder
        check 'and afterwards answered' allocate $vf
    done
    check 'the list is the same' same_list
done

section 'the RDMA device gets another number, and the CDI spec cannot be corrected'
rdma link del lowest                # uverbs0 is free for the next device that moves
facts > $work/before
vf=${all[1]}
check 'Allocate' allocate $vf
begin_read_only $cdi
check 'ADD is refused' refused_with 'correct the CDI spec of .*Read-only' cni ADD a $vf
check 'each device is in one place' one_place
end_read_only $cdi
check 'DEL' cni DEL a $vf
check 'all is as before' as_before
check 'Allocate again' allocate $vf
check 'ADD' cni ADD a $vf
begin_read_only $devinfo
check 'DEL' cni DEL a $vf
check 'ADD without the file of network-status' cni ADD a $vf
end_read_only $devinfo
check 'DEL' cni DEL a $vf
check 'all is as before' as_before

section 'serve is stopped for a minute; meanwhile vfrail-cni is frozen'
registered() { grep -c "registered $resource" $work/kubelet.log; }
registered_before=$(registered)
kill -STOP $server
stopped=$(now_ms)
allocate "${all[4]}" > $work/stopped 2>&1 &
stopped_call=$!
# A command line that is in the cgroup $1 from its first instruction.
enter() { within=(bash -c "echo \$\$ > $cgroups/$1/cgroup.procs; exec \"\$@\"" -); }
# freeze_when CONDITION: true if a process was under way then.
freeze_when() {
    local end=$((SECONDS + 60))
    until eval "$1"; do [ $SECONDS -lt $end ] || return 1; done
    echo 1 > $cgroups/frozen/cgroup.freeze
    eventually grep -q 'frozen 1' $cgroups/frozen/cgroup.events && [ -n "$(< $cgroups/frozen/cgroup.procs)" ]
}
# frozen VERB CONDITION: VERB of a's device is frozen at CONDITION for 20 s; $others runs meanwhile.
frozen() {
    local verb=$1 end
    end=$(($(now_ms) + 20000))
    rm -f $work/*.rc
    (enter frozen; cni "$verb" a "${all[0]}"; echo $? > $work/a.rc) > /dev/null &
    check "$verb is frozen" freeze_when "$2"
    echo "     it holds $(ls $run/locks | paste -sd ' ')"
    (cni "$3" b "${all[1]}"; echo $? > $work/b.rc) > /dev/null &
    (cni ADD c "${all[0]}"; echo $? > $work/c.rc) > $work/c.out &
    while [ "$(now_ms)" -lt "$end" ]; do sleep 0.5; done
    check 'each device is in one place, while it is frozen' one_place
    echo 0 > $cgroups/frozen/cgroup.freeze
    check "$verb ends well" eventually is 0 cat $work/a.rc
    check 'that of another device, too' eventually is 0 cat $work/b.rc
    check 'the ADD of the same device has ended' eventually test -e $work/c.rc
    check 'each device is in one place' one_place
}
frozen ADD "[ -e $state/attachments/a:net1.json ]" ADD
check 'the ADD of the same device was refused' grep -q 'attached to net1 of container a' $work/c.out
frozen DEL "compgen -G '$pci/${all[0]}/net/*' > /dev/null" DEL
check 'the ADD of the same device has it' is 0 cat $work/c.rc
for pod in a b c; do check "DEL $pod" cni DEL $pod "${all[0]}"; done
check 'all is as before' as_before
while [ $(($(now_ms) - stopped)) -lt 60000 ]; do sleep 0.5; done
wait $stopped_call
check 'Allocate had kubelet'"'"'s deadline' grep -q 'gRPC code 4' $work/stopped
kill -CONT $server
check 'serve answers' eventually is ok page readyz
check 'Allocate' allocate "${all[4]}"
check 'the list is the same' same_list
check 'kubelet was not registered with again' is "$registered_before" registered

# From a file system whose pages count for who reads them; those of the programs in the VM count for nobody.
cp "$(command -v vfrail)" "$(command -v vfrail-cni)" /host/
PATH=/host:$PATH
memory() { echo "     $1: peak $(($(< $cgroups/small/memory.peak) / 1024)) KiB, $(awk '/^(anon|file|kernel) / {printf "%s %d KiB ", $1, $2 / 1024}' $cgroups/small/memory.stat), $(grep -E '^(max|oom_kill) ' $cgroups/small/memory.events | paste -sd ' ')"; }
# ended: sets $status, that of serve.
ended() {
    status=0
    CHECK_DEADLINE=60 eventually refused kill -0 $server || kill -9 $server
    wait $server 2> /dev/null || status=$?
}
stop() { kill -TERM $server; ended; }

section '20 MB of memory, and an OOM kill'
stop
echo 20M > $cgroups/small/memory.max
enter small
serve "${within[@]}"
check 'serve with 20 MB: eight devices' eventually same_list
check 'it is ready' eventually is ok page readyz
check 'Allocate' allocate $vf
check 'metrics' eval 'page metrics > /dev/null'
memory serve
check 'ADD with 20 MB' cni ADD a $vf
check 'DEL with 20 MB' cni DEL a $vf
memory 'with vfrail-cni'
check 'nothing was killed' grep -q '^oom_kill 0' $cgroups/small/memory.events
echo 1M > $cgroups/small/memory.max
ended
check 'the kernel kills it' is 137 echo "$status"
echo max > $cgroups/small/memory.max
serve
check 'restarted, it has the same list' eventually same_list
check 'Allocate' allocate $vf

section 'few processes'
stop
enter few
echo 1 > $cgroups/few/pids.max
begin=$(now_ms)
serve "${within[@]}"
ended
echo "     $status after $(($(now_ms) - begin)) ms: $(tail -n 1 $work/serve.log)"
check 'serve ends in order' is 1 echo "$status"
check 'and says why' has 'pids.max' tail -n 1 $work/serve.log
# With a few more gRPC would neither work nor say a word.
for most in 4 8; do
    echo $most > $cgroups/few/pids.max
    serve "${within[@]}"
    ended
    check "nor does it with $most: it ends in order" is 1 echo "$status"
    check 'and says why' has 'threads, of which [0-9]* can be had; raise pids.max' tail -n 1 $work/serve.log
done
echo 1 > $cgroups/few/pids.max
check 'ADD cannot run the IPAM plugin, and says so' refused_with 'host-local.*EAGAIN' cni ADD a $vf
check 'each device is in one place' one_place
within=()
check 'DEL' cni DEL a $vf
check 'all is as before' as_before
check 'ADD' cni ADD a $vf
enter few
check 'DEL cannot either' refused_with 'host-local.*EAGAIN' cni DEL a $vf
check 'each device is in one place' one_place
within=()
check 'DEL again' cni DEL a $vf
check 'all is as before' as_before
serve
check 'serve has the same list' eventually same_list

section 'the clock'
# set_clock SECONDS: from the true time, which power-on has kept.
boot_time=$(($(date +%s) - $(now_ms) / 1000))
set_clock() { date -s "@$((boot_time + $(now_ms) / 1000 + $1))" > /dev/null; }
lists_before=$(lists)
for pod in a b c; do check "ADD $pod" cni ADD $pod "${all[$(printf %d "'$pod") - 97]}"; done
for jump in -3600 315360000; do
    set_clock $jump
    before=$(scans)
    check "clock at $jump s: DEL" cni DEL a "${all[0]}"
    check 'ADD' cni ADD a "${all[0]}"
    check 'Allocate' allocate "${all[3]}"
    check 'the periodic scan goes on' eventually more_scans $((before + 1))
    check 'serve is alive' is ok page healthz
    check 'and ready' is ok page readyz
done
check 'DEL in ten years' cni DEL a "${all[0]}"
set_clock -3600
check 'DEL before its ADD' cni DEL b "${all[1]}"
set_clock 0
# gRPC waits by the time of day: its own timers are an hour late, and kubelet has no deadline here.
(allocate "${all[2]}"; echo $? > $work/allocate.rc) > /dev/null &
check 'Allocate waits for a device in a pod' eventually grep -q 'waiting for a device' $work/serve.log
set_clock -3600
check 'DEL at its time' cni DEL c "${all[2]}"
check 'Allocate is answered' eventually is 0 cat $work/allocate.rc
set_clock 0
check 'all is as before' as_before
check 'kubelet was sent no list' is "$lists_before" lists
check 'the list is the same' same_list

# An OOM kill has a call trace.
check 'no kernel warning' lacks 'WARNING:\|BUG:' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 30 $work/serve.log $work/cni.log $work/kubelet.log
