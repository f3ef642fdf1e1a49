# shellcheck shell=bash
# What scripts in the lab VM share. Begin a script with
#
#     #!/bin/bash
#     . /lab/lib.sh
#     lab_up 4
#
# and write check lines. At the end of the script the sum is printed and the status is 1 if a check failed.

# ---- Checks -----------------------------------------------------------------------------------------------------

# The counts are files, so that checks in subshells and in background jobs count as well.
checks_dir=$(mktemp -d /run/checks.XXXXXX)
: > "$checks_dir/passed"
: > "$checks_dir/failed"

# check WHAT COMMAND...: COMMAND must succeed. Its output is shown only if it does not.
check() {
    local what=$1 output rc=0
    shift
    output=$("$@" 2>&1) || rc=$?
    if [ $rc -eq 0 ]; then
        echo "ok   $what"
        echo . >> "$checks_dir/passed"
    else
        echo "FAIL $what: status $rc of: $*"
        [ -z "$output" ] || tail -n 20 <<< "$output" | sed 's/^/     | /'
        echo . >> "$checks_dir/failed"
    fi
    return $rc
}

# refused COMMAND...: COMMAND fails. (With a reason that matters: refused_with REASON COMMAND...)
refused() { ! "$@"; }

# refused_with REASON COMMAND...: COMMAND fails and its output holds REASON, a basic regular expression.
refused_with() {
    local reason=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "not refused: $output"
        return 1
    fi
    echo "$output"
    grep -q -e "$reason" <<< "$output"
}

# has PATTERN COMMAND...: COMMAND succeeds and a line of its output matches PATTERN, a basic regular expression.
has() {
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    grep -q -e "$pattern" <<< "$output"
}

# lacks PATTERN COMMAND...: COMMAND succeeds and no line of its output matches. Not the same as "refused has", which is
# also content with a COMMAND that fails.
lacks() {
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    echo "$output"
    ! grep -q -e "$pattern" <<< "$output"
}

# is TEXT COMMAND...: COMMAND succeeds and prints TEXT, nothing else.
is() {
    local text=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$output"; return 1; }
    [ "$output" = "$text" ] || { echo "want: $text"; echo "have: $output"; return 1; }
}

# within SECONDS COMMAND...: COMMAND succeeds at some time within SECONDS. Shows the output of the last try.
within() {
    local end=$((SECONDS + $1)) output
    shift
    until output=$("$@" 2>&1); do
        [ "$SECONDS" -lt "$end" ] || { echo "$output"; return 1; }
        sleep 0.1
    done
}

# section TITLE: a headline with the seconds since power-on.
section() { echo "== $* ($(cut -d' ' -f1 /proc/uptime) s)"; }

# checks_end: print the sum; fails if a check did, or none was made where there should be.
checks_end() {
    local rc=$? passed failed
    passed=$(wc -l < "$checks_dir/passed")
    failed=$(wc -l < "$checks_dir/failed")
    [ $((passed + failed)) -eq 0 ] || echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ] || rc=1
    exit $rc
}
trap checks_end EXIT

# ---- The node ---------------------------------------------------------------------------------------------------

pci=/sys/bus/pci/devices

# pfs: PCI addresses of the physical functions. vfs PF: those of its VFs, in the order of their index.
# Asks for the network class, 02: other devices (NVMe) have VFs, too.
pfs() {
    local dir
    for dir in $pci/*/sriov_totalvfs; do
        dir=${dir%/*}
        [[ $(< "$dir/class") != 0x02* ]] || echo "${dir##*/}"
    done
}
vfs() {
    local link
    for link in "$pci/$1"/virtfn*; do
        [ ! -e "$link" ] || { link=$(readlink "$link"); echo "${link##*/}"; }
    done
}

# netdev ADDRESS: name of the netdev of a PCI function, rdma ADDRESS: that of its RDMA device; as seen from the namespace
# of the caller's sysfs. Names differ from boot to boot, addresses do not.
netdev() { ls "$pci/$1/net"; }
rdmadev() { ls "$pci/$1/infiniband"; }
driver_of() { basename "$(readlink "$pci/$1/driver")"; }

# rebind ADDRESS [DRIVER]: take the function from its driver and give it to DRIVER, or to the one it is made for.
rebind() {
    echo "${2-}" > "$pci/$1/driver_override"
    [ ! -e "$pci/$1/driver" ] || echo "$1" > "$pci/$1/driver/unbind"
    echo "$1" > /sys/bus/pci/drivers_probe
}

# lab_up COUNT [--rdma exclusive|shared|none] [--shim PARAMETERS]: COUNT VFs on each PF, bound and named, with an RDMA
# device mlx5_N each, in the order of PCI addresses. --rdma is the node's network namespace mode (default exclusive).
# --shim 'movable=0', say, leaves out a part of what the test module does. May be called once.
lab_up() {
    local count=$1 rdma=exclusive shim='' pf vf n=0
    shift
    while [ $# -gt 0 ]; do
        case $1 in
            --rdma) rdma=$2 ;;
            --shim) shim=$2 ;;
            *) echo "lab_up: no option $1" >&2; return 2 ;;
        esac
        shift 2
    done
    # The VF's driver first, so that VFs have it the moment they are there.
    modprobe igbvf && modprobe igb || return
    case $rdma in
        # The mode as a parameter: once there is another namespace, the kernel no longer changes it.
        exclusive) modprobe ib_core netns_mode=0 ;;
        shared) modprobe ib_core netns_mode=1 ;;
        none) ;;
        *) echo "lab_up: no mode $rdma" >&2; return 2 ;;
    esac || return
    if [ "$rdma" != none ]; then
        # shellcheck disable=SC2086
        modprobe -a rdma_rxe ib_uverbs ib_umad rdma_ucm && modprobe rdma_lab_shim $shim || return
    fi
    for pf in $(pfs); do
        # Up before there are VFs: they ask the PF for their MAC address.
        ip link set "$(netdev "$pf")" up || return
        [ "$count" -eq 0 ] || echo "$count" > "$pci/$pf/sriov_numvfs" || return
        for vf in $(vfs "$pf"); do
            [ "$rdma" = none ] || rdma link add "mlx5_$n" type rxe netdev "$(netdev "$vf")" || return
            n=$((n + 1))
        done
    done
}

# node_state: the whole node as sorted text, one fact a line, for "diff before after". Left out is what changes by
# itself or says nothing: interface indexes, carrier and port states, link-local addresses, random fields of others.
node_state() {
    local ns dir
    ip -j -d link show | jq -r '
        .[] | "link \(.ifname) mac=\(.address) mtu=\(.mtu) txqlen=\(.txqlen) up=\(.flags | index("UP") != null)"
            + " promisc=\(.promiscuity) allmulti=\(.allmulti) master=\(.master) kind=\(.linkinfo.info_kind)"
            + " altnames=\(.altnames // [] | sort | join(","))",
        (.ifname as $pf | .vfinfo_list[]? | "vf \($pf) \(tojson)")' | sort
    ip -j addr show | jq -r '
        .[] | .ifname as $link | .addr_info[] | select(.scope != "link") | "address \($link) \(.local)/\(.prefixlen)"' | sort
    ip netns list | sed -E 's/^([^ ]+).*/netns \1/' | sort
    for ns in '' $(ip netns list | cut -d' ' -f1); do
        ${ns:+ip netns exec "$ns"} rdma -j link show 2>/dev/null |
            jq -r --arg ns "${ns:-host}" '.[] | "rdma \(.ifname)/\(.port) in \($ns) netdev=\(.netdev)"'
    done | sort
    for dir in $pci/*/physfn $pci/*/sriov_totalvfs; do
        dir=${dir%/*}
        echo "function ${dir##*/} driver=$(driver_of "${dir##*/}" 2>/dev/null) override=$(< "$dir/driver_override")" \
            $(cd "$dir" && ls -d net/* infiniband/* infiniband_verbs/* infiniband_mad/* 2>/dev/null)
    done | sort
    find /var/lib/cni ! -type d 2>/dev/null | sed 's/^/file /' | sort
}

# ---- The outside world ------------------------------------------------------------------------------------------

# qmp COMMAND [JSON]: a command of QEMU's monitor; prints the answer, fails if that is an error or there is none.
#     qmp set_link '{"name": "pf0", "up": false}'      pull the cable of the first NIC
#     qmp device_del '{"id": "pf0"}'                   unplug it (orderly, takes about 7 s)
#     qmp device_add '{"driver": "igb", "id": "pf0", "bus": "port0", "netdev": "wire0"}'
# The port can be open once only: call it from the script itself, not from two processes.
qmp() {
    [ -e "/proc/$BASHPID/fd/7" ] || qmp_open || return
    local arguments=${2:-'{}'}
    echo "{\"execute\": \"$1\", \"arguments\": $arguments}" >&7
    qmp_answer
}
qmp_open() {
    local port
    port=$(grep -lx qmp /sys/class/virtio-ports/*/name) || return
    port=${port%/name}
    exec 7<> "/dev/${port##*/}"
    echo '{"execute": "qmp_capabilities"}' >&7
    qmp_answer > /dev/null
}
# Events come in between; they are skipped.
qmp_answer() {
    local line
    while read -r -t 10 line <&7; do
        case $line in
            *'"return":'*) echo "$line"; return 0 ;;
            *'"error":'*) echo "$line"; return 1 ;;
        esac
    done
    echo "no answer from QEMU"
    return 1
}

# hmp COMMAND...: the same in the monitor's language for people, e.g. hmp info pci.
hmp() { qmp human-monitor-command "{\"command-line\": \"$*\"}"; }
