# shellcheck shell=bash
# vfrail serve and the device plugins whose configurations it reads, each with the same configuration on this node: which
# resources kubelet gets, their devices, and the answer to Allocate for each device. Sourced, behind tests/support/checks.sh, by
# what makes a node: tests/peers/run and tests/lab/device_plugin_peers_test.sh. The peers' paths for kubelet and for device
# information are fixed, so this node has to be one of its own.
#
# sdp is sriov-network-device-plugin, shr k8s-rdma-shared-dev-plugin. $sdp, $shr, $vfrail and $test_kubelet are the programs.

kubelet=/var/lib/kubelet devinfo=/var/run/k8s.cni.cncf.io/devinfo/dp
work=$(mktemp -d)
probe=127.0.0.1:9444
declare -A place          # @NAME@ in a configuration -> what this node has for it
compared=0 equal=0 as_documented=0 wrong=0 skipped_here=0
declare -A of_row of_group equal_of_group
group= flags=()           # flags: for both plugins

# Without a process for each try: in the lab's VM one takes as long as a plugin's start elsewhere.
exec {pause}<> <(:)
moment() { read -rt 0.05 -u $pause || true; }
text_of() { IFS= read -rd '' text < "$1"; }

# The lines of /readyz into the array lines.
readiness() {
    local line body=
    lines=()
    exec 9<> "/dev/tcp/${probe/:/\/}" || return
    printf 'GET /readyz HTTP/1.0\r\nHost: node\r\n\r\n' >&9
    while read -r line <&9; do
        line=${line%$'\r'}
        [ "$body" != yes ] || lines+=("$line")
        [ -n "$line" ] || body=yes
    done
    exec 9>&-
}
# Faulty entries are no reason to wait.
ours_has_started() {
    local lines line
    { readiness; } 2> /dev/null
    [ ${#lines[@]} -gt 0 ] || return
    for line in "${lines[@]}"; do [[ $line == ok || $line == 'not served: '* ]] || return; done
}
peer_has_started() { local text; text_of $work/log; [[ $text == *'All servers started'* ]]; }

# Kubelet has a list of devices for each socket, or the stream has ended.
has_lists() {
    local sockets lines line
    local -A lists=()
    sockets=($kubelet/plugins_registry/*.sock)
    mapfile -t lines < $work/events
    for line in "${lines[@]}"; do [[ ! $line =~ ^(.*):\ ([0-9]+\ devices|the\ stream\ ended.*)$ ]] || lists[${BASH_REMATCH[1]}]=1; done
    [ ! -e "${sockets[0]}" ] || [ ${#lists[@]} -ge ${#sockets[@]} ]
}
# wait_while PID COMMAND...: until COMMAND succeeds; fails when the process has ended, or after a minute.
wait_while() {
    local pid=$1 end=$((SECONDS + 60))
    shift
    until "$@"; do
        kill -0 "$pid" 2> /dev/null || return
        [ $SECONDS -lt $end ] || { echo "waited in vain for: $*"; return 1; }
        moment
    done
}
stop() {
    kill -TERM "$1" 2> /dev/null
    for _ in {1..400}; do kill -0 "$1" 2> /dev/null || break; moment; done
    kill -KILL "$1" 2> /dev/null
    wait "$1" 2> /dev/null
}

# The resources, their devices, and what a container gets with each device, and with the first two. Of two nodes at one path
# kubelet takes the first (deviceRunContainerOptions in its pod_devices.go). The peer's first answer for a device of uio or vDPA
# lacks what it finds while it answers (plugin/INTERNALS.md): `survey` asks twice.
facts() {
    local name
    "$test_kubelet" survey --kubelet-root $kubelet > $work/survey
    jq -r '
        def answer: "allocate \(.ids | join(","))", if .error then "  refused" else
            (.envs | to_entries | sort_by(.key)[] | "  env \(.key)=\(.value)"),
            (reduce .devices[] as $one ([]; if map(.container_path) | index($one.container_path) then . else . + [$one] end) | .[] |
                "  node \(.host_path) at \(.container_path) \(.permissions)"),
            (.mounts[] | "  mount \(.)"), (.annotations | to_entries[] | "  annotation \(.key)=\(.value)"), (.cdi_devices[] | "  cdi \(.)") end;
        .answers as $answers | .resources | to_entries | sort_by(.key)[] | "resource \(.key)",
            (.value.devices | sort_by(.id)[] | "device \(.id) \(.health) numa \(.numa | join(","))"), ($answers[.key][] | answer)' $work/survey || echo "NO ANSWER"
    for name in $kubelet/plugins_registry/*.sock $devinfo/*.json; do
        [ ! -S "$name" ] || echo "socket ${name##*/}"
        [ ! -f "$name" ] || echo "file ${name##*/}: $(< "$name")"
    done
}

# answer NAME HAS_STARTED PROGRAM ARGUMENT...: the plugin on a node without traces of another, its facts into $work/NAME.
answer() {
    local name=$1 has_started=$2 pid kubelet_pid
    shift 2
    find $kubelet $devinfo /var/run/cdi -mindepth 1 -delete 2> /dev/null
    mkdir -p $kubelet/plugins_registry $kubelet/device-plugins
    : > $work/log
    : > $work/events
    "$test_kubelet" run --kubelet-root $kubelet > $work/events 2>&1 &
    kubelet_pid=$!
    wait_while $kubelet_pid test -S $kubelet/test-kubelet.sock
    "$@" > $work/log 2>&1 &
    pid=$!
    if wait_while $pid "$has_started" && wait_while $pid has_lists; then
        echo serves
        facts
    elif kill -0 $pid 2> /dev/null; then
        echo 'NO ANSWER'
        cat $work/events
    else
        echo 'ends'
    fi > $work/$name
    stop $pid
    stop $kubelet_pid
    cp $work/log $work/$name.log
}
answers() {
    local format=$1
    case $format in
        sdp) answer theirs peer_has_started "$sdp" -logtostderr -v 1 --config-file $work/config.json "${flags[@]}" ;;
        shr) answer theirs peer_has_started "$shr" --config-file $work/config.json "${flags[@]}" ;;
    esac
    answer ours ours_has_started "$vfrail" serve --config-file $work/config.json --probe-address $probe --run-dir $work/run \
        --cni-state-dir $work/state "${flags[@]}"
}
written() {
    local text=$1 name
    for name in "${!place[@]}"; do text=${text//"@$name@"/${place[$name]}}; done
    printf %s "$text"
}

# configuration ROW FORMAT NAME TEXT: ROW is "equal", or the key of a row in the table of differences of plugin/INTERNALS.md.
# A configuration about what this node does not have is left out: TEXT then has a @NAME@ without a value.
configuration() {
    local row=$1 format=$2 name=$3 text
    text=$(written "$4"; echo .)
    text=${text%.}
    [ -z "${!format}" ] && return
    [ -z "${ONLY:-}" ] || [[ $name == $ONLY ]] || return 0
    if grep -q '@[a-z_0-9]*@' <<< "$text"; then skipped_here=$((skipped_here + 1)); return; fi
    printf %s "$text" > $work/config.json
    compared=$((compared + 1))
    of_group[$group]=$((${of_group[$group]:-0} + 1))
    answers "$format"
    if [ -n "${SHOW:-}" ]; then cat $work/theirs; fi
    if grep 'NO ANSWER' $work/theirs $work/ours; then
        check "$format, $group: $name: compared" false
        wrong=$((wrong + 1))
        show_difference
        return
    fi
    if diff -u $work/theirs $work/ours > $work/difference; then
        equal=$((equal + 1))
        equal_of_group[$group]=$((${equal_of_group[$group]:-0} + 1))
        check "$format, $group: $name: equal" test "$row" = equal
        return
    fi
    if [ "$row" = equal ]; then
        check "$format, $group: $name: equal" false
        wrong=$((wrong + 1))
        show_difference
    else
        as_documented=$((as_documented + 1))
        of_row[$row]=$((${of_row[$row]:-0} + 1))
        check "$format, $group: $name: differs as documented ($row)" true
        [ -z "${DIFFERENCES:-}" ] || show_difference
    fi
}
# A line of what each has, then the first lines that differ; none if one of the two ends.
show_difference() {
    local who
    for who in theirs ours; do
        echo "     | $who: $(head -n 1 $work/$who)$(sed -n 's/^resource / /p' $work/$who | tr '\n' ',')"
        grep -i 'panic:\|^[EF][0-9]\|cannot start\|Exiting\|cannot unmarshal\| error \| warning ' $work/$who.log | grep -v 'error creating new device\|utils.go\|error getting auxnetdevices' |
            cut -c 1-330 | tail -n 3 | sed "s|$work/||g; s/^/     |    /"
    done
    grep -qx ends $work/theirs $work/ours || sed -n '3,40p' $work/difference | grep '^[-+]' | cut -c 1-240 | head -n 12 | sed 's/^/     | /'
}
same() { configuration equal "$@"; }
differs() { configuration "$@"; }

figures() {
    local name
    echo "$compared configurations compared: $equal equal, $as_documented differ as documented, $wrong otherwise; $skipped_here are about what this node has not"
    for name in "${!of_group[@]}"; do echo "  $name: ${of_group[$name]}, ${equal_of_group[$name]:-0} equal"; done | sort
    for name in "${!of_row[@]}"; do echo "  difference \"$name\": ${of_row[$name]}"; done | sort
    rm -rf "$work"
    check 'a configuration was compared' test $compared -gt 0
}
