#!/bin/bash
# How long 64 and 127 VFs take by vfrail provision, and in the order of sriov-network-operator, on one PF and on two. Programs:
# vfrail. PFs: all emulated NVMe controllers of the VM, which have up to 127 VFs each and pass for InfiniBand adapters here;
# provision_times of suite.sh adds two of them.
#
#     provision_times_test.sh ROUNDS PROBE_MS COUNT...
#
# The checks are about results alone, because the times are those of an emulation on a machine that may be busy. What counts is the
# ratio of two times of one round. PROBE_MS: how long the firmware takes for each VF that is bound, 0: not at all.
. /lab/lib.sh
rounds=$1 probe_ms=$2
shift 2
counts=("$@")

id='1b36 0010'
debug=/sys/kernel/debug/ib_lab
lab_up 0 --fabric infiniband --hca "probe_ms=$probe_ms"
echo "$id" > /sys/bus/pci/drivers/ib_lab/new_id
adapters=() links=()
for one in "$pci"/*/sriov_totalvfs; do
    one=${one%/*}
    [ "$(< "$one/vendor") $(< "$one/device")" = "0x${id/ / 0x}" ] || continue
    eventually netdev "${one##*/}" > /dev/null
    adapters+=("${one##*/}") links+=("$(netdev "${one##*/}" | head -n 1)")
done
check 'there are two PFs with 127 VFs' is 2 echo "${#adapters[@]}"
mkdir -p /run/t
declare -A addresses took

# Only the shell's own commands where time is measured: to start a program takes longer than to set a VF.
now_us() { echo "${EPOCHREALTIME/./}"; }
files() { echo $#; }
made() { is "$2" files "$pci/$1"/virtfn*/infiniband/*; }
guids() {
    local file
    for file in "$pci/$1"/virtfn*/infiniband/*/node_guid; do echo "$(< "$file")"; done
}
guids_of_all() { for one in "${used[@]}"; do guids "$one"; done; }
different() { guids_of_all | sort -u | wc -l; }
zero_probes() { for file in vf_probes vf_probes_without_guid; do echo 0 > "$debug/$file"; done; }
# Not measured, so it need not wait for the kernel's readers as long as the rest does.
remove_all() {
    echo 1 > /sys/kernel/rcu_expedited
    for one in "${used[@]}"; do echo 0 > "$pci/$one/sriov_numvfs"; done
    echo 0 > /sys/kernel/rcu_expedited
}

# The order of vfrail, its start and its look at the node included.
by_vfrail() { vfrail provision --config-file /run/t/config.yaml > /run/t/out 2>&1; }

# That of sriov-network-operator, from its sources: the number is written while the kernel binds drivers as ever; when all VFs are
# there each gets its GUIDs, loses its driver and is bound again, one after the other, and a PF after the other. A program that
# runs already sends netlink: `ip`, which answers the last command of each VF with a line.
operator_pf() {
    local place=$1 count=$2 pf=${adapters[$1]} link=${links[$1]} vf=0 guid address answer links
    local -a all=(${addresses[$pf]})
    # shellcheck disable=SC2154
    coproc ip_batch { exec ip -o -batch -; }
    echo "$count" > "$pci/$pf/sriov_numvfs" || return
    while links=("$pci/$pf"/virtfn*) && [ "${#links[@]}" -lt "$count" ]; do sleep 1; done
    for ((vf = 0; vf < count; vf++)); do
        address=${all[vf]}
        printf -v guid '00:11:22:33:44:55:%02x:%02x' "$((place + 1))" "$vf"
        printf 'link set %s vf %d node_guid %s\nlink set %s vf %d port_guid %s\nlink show lo\n' \
            "$link" "$vf" "$guid" "$link" "$vf" "$guid" >&"${ip_batch[1]}"
        read -r answer <&"${ip_batch[0]}" && [[ $answer == *lo* ]] || return
        echo "$address" > "$pci/$address/driver/unbind" || return
        echo "$address" > /sys/bus/pci/drivers_probe || return
    done
    eval "exec ${ip_batch[1]}>&-"
    wait "$ip_batch_PID"
}
by_operator() {
    local place
    for ((place = 0; place < ${#used[@]}; place++)); do operator_pf "$place" "$1" || return; done
}
# With its feature gate parallelNicConfig.
by_operator_at_once() {
    local place pids=() pid rc=0
    for ((place = 0; place < ${#used[@]}; place++)); do
        operator_pf "$place" "$1" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || rc=1; done
    return $rc
}

# measure WAY COUNT ROUND: makes COUNT VFs on each of ${used[@]}, and removes them.
measure() {
    local way=$1 count=$2 all=$(($2 * ${#used[@]})) begin key one probes rc=0
    what="$count VFs on ${#used[@]}, $way"
    key="$count ${#used[@]} $way"
    zero_probes
    begin=$(now_us)
    "by_$way" "$count" || rc=$?
    took[$key]+=" $((($(now_us) - begin) / 1000))"
    [ "$rc" -eq 0 ] || cat /run/t/out
    check "$what: round $3" is 0 echo "$rc"
    for one in "${used[@]}"; do
        check "$what: each of $one has its RDMA device" made "$one" "$count"
        check "$what: autoprobe of $one is as before" is 1 cat "$pci/$one/sriov_drivers_autoprobe"
    done
    check "$what: no GUID is zero" lacks '^0000:0000:0000:0000' guids_of_all
    check "$what: all GUIDs are different" is "$all" different
    probes=$(< "$debug/vf_probes_without_guid")/$(< "$debug/vf_probes")
    case $way in
        vfrail) check "$what: each was bound once, with its GUID" is "0/$all" echo "$probes" ;;
        # What the emulation must show of the other order, or the two are not what they are called.
        *) check "$what: each was bound twice, first without a GUID" is "$all/$((2 * all))" echo "$probes" ;;
    esac
    remove_all
}

# ways_of PFS [ROUND]: in the other order every second round, for what the first one leaves warm.
ways_of() {
    local ways=(vfrail operator)
    [ "$1" -eq 1 ] || ways+=(operator_at_once)
    [ "$((${2:-1} % 2))" -eq 1 ] || ways=(${ways[2]:-} operator vfrail)
    echo "${ways[@]}"
}

section 'addresses of the VFs'
most=$(printf '%s\n' "${counts[@]}" | sort -n | tail -n 1)
for one in "${adapters[@]}"; do
    echo 0 > "$pci/$one/sriov_drivers_autoprobe"
    echo "$most" > "$pci/$one/sriov_numvfs"
    addresses[$one]=$(vfs "$one" | tr '\n' ' ')
    echo 0 > "$pci/$one/sriov_numvfs"
    echo 1 > "$pci/$one/sriov_drivers_autoprobe"
done

for ((round = 1; round <= rounds; round++)); do
    for count in "${counts[@]}"; do
        for pfs_used in 1 2; do
            used=("${adapters[@]:0:pfs_used}")
            section "round $round: $count VFs on $pfs_used"
            printf 'vfs:\n' > /run/t/config.yaml
            for one in "${used[@]}"; do
                echo "- {pf: \"$one\", count: $count, linkType: infiniband}" >> /run/t/config.yaml
            done
            for way in $(ways_of "$pfs_used" "$round"); do measure "$way" "$count" "$round"; done
            printf 'times so far, ms:\n'
            for key in "${!took[@]}"; do echo "  $key:${took[$key]}"; done | sort -V
        done
    done
done
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg

# seconds KEY: of all rounds.
seconds() {
    local ms
    for ms in ${took[$1]}; do printf '%d.%d ' $(((ms + 50) / 1000)) $(((ms + 50) % 1000 / 100)); done
}
# ratios KEY KEY: of the second to the first, round by round.
ratios() {
    local -a ours=(${took[$1]}) theirs=(${took[$2]})
    local i tenths
    for ((i = 0; i < ${#ours[@]}; i++)); do
        tenths=$(((theirs[i] * 10 + ours[i] / 2) / ours[i]))
        printf '%d.%d ' $((tenths / 10)) $((tenths % 10))
    done
}
section "seconds of $rounds rounds, firmware $probe_ms ms for each VF that is bound; times as long as vfrail"
printf '%-4s %-4s %-18s %-30s %s\n' VFs PFs order seconds 'times as long'
for count in "${counts[@]}"; do
    for pfs_used in 1 2; do
        for way in $(ways_of "$pfs_used"); do
            key="$count $pfs_used $way"
            printf '%-4s %-4s %-18s %-30s %s\n' $key "$(seconds "$key")" "$(ratios "$count $pfs_used vfrail" "$key")"
        done
    done
done
