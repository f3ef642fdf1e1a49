# shellcheck shell=bash
# What scripts in the lab VM share. Begin a script with
#
#     #!/bin/bash
#     . /lab/lib.sh
#     lab_up 4
#
# and write check lines; /lab/checks.sh, which is tests/support/checks.sh, has them.

. /lab/checks.sh

# ---- The node ---------------------------------------------------------------------------------------------------

pci=/sys/bus/pci/devices

# pfs: PCI addresses of the physical functions. vfs PF: those of its VFs, in the order of their index.
# Asks for the network class, 02: other devices (NVMe) have VFs, too.
pfs() {
    local dir
    for dir in "$pci"/*/sriov_totalvfs; do
        dir=${dir%/*}
        [[ $(< "$dir/class") != 0x02* ]] || echo "${dir##*/}"
    done
}
vfs() {
    local link index
    for ((index = 0; ; index++)); do
        link=$(readlink "$pci/$1/virtfn$index") || return 0
        echo "${link##*/}"
    done
}

# netdev ADDRESS: name of the netdev of a PCI function, rdma ADDRESS: that of its RDMA device; as seen from the namespace
# of the caller's sysfs. Names differ from boot to boot, addresses do not.
# Both fail if there is none; the folder of one that is about to come or go can be there and empty.
netdev() { ls "$pci/$1/net" | grep .; }
rdmadev() { ls "$pci/$1/infiniband" | grep .; }
driver_of() { local link; link=$(readlink "$pci/$1/driver") && echo "${link##*/}"; }

# rebind ADDRESS [DRIVER]: take the function from its driver and give it to DRIVER, or to the one it is made for.
rebind() {
    echo "${2-}" > "$pci/$1/driver_override"
    [ ! -e "$pci/$1/driver" ] || echo "$1" > "$pci/$1/driver/unbind"
    echo "$1" > /sys/bus/pci/drivers_probe
}

# lab_up COUNT [--rdma exclusive|shared|none] [--shim PARAMETERS]: COUNT VFs on each PF, bound and named, with an RDMA
# device mlx5_N each, in the order of PCI addresses. --rdma is the node's network namespace mode (default exclusive).
# --shim 'movable=0', say, leaves out a part of what the test module does. May be called once.
# lab_up COUNT --fabric infiniband [--rdma exclusive|shared] [--ipoib no] [--hca PARAMETERS]: InfiniBand adapters in the place
# of the NICs; PFs have RDMA devices as well, mlx5_0 and on. --ipoib no: IPoIB is not loaded. --hca: parameters of ib_lab.
lab_up() {
    local count=$1 fabric=roce rdma=exclusive shim='' hca='' ipoib=ib_ipoib
    shift
    while [ $# -gt 0 ]; do
        case $1 in
            --fabric) fabric=$2 ;;
            --rdma) rdma=$2 ;;
            --shim) shim=$2 ;;
            --hca) hca=$2 ;;
            --ipoib) [ "$2" != no ] || ipoib='' ;;
            *) echo "lab_up: no option $1" >&2; return 2 ;;
        esac
        shift 2
    done
    case $fabric in
        # The VF's driver first, so that VFs have it the moment they are there.
        roce) modprobe igbvf && modprobe igb || return ;;
        infiniband) ;;
        *) echo "lab_up: no fabric $fabric" >&2; return 2 ;;
    esac
    case $rdma in
        # The mode as a parameter: once there is another namespace, the kernel no longer changes it.
        exclusive) modprobe ib_core netns_mode=0 ;;
        shared) modprobe ib_core netns_mode=1 ;;
        none) ;;
        *) echo "lab_up: no mode $rdma" >&2; return 2 ;;
    esac || return
    # shellcheck disable=SC2086
    if [ "$fabric" = infiniband ]; then
        # The order in which the kernel would probe the functions is another from boot to boot.
        echo 0 > /sys/bus/pci/drivers_autoprobe
        modprobe -a ib_uverbs ib_umad rdma_ucm $ipoib && modprobe ib_lab $hca && add_adapters "$count"
    else
        [ "$rdma" = none ] || { modprobe -a rdma_rxe ib_uverbs ib_umad rdma_ucm && modprobe rdma_lab_shim $shim; } || return
        add_nics "$count" "$rdma"
    fi
}
add_nics() {
    local pf vf n=0
    for pf in $(pfs); do
        # Up before there are VFs: they ask the PF for their MAC address.
        ip link set "$(netdev "$pf")" up || return
        [ "$1" -eq 0 ] || echo "$1" > "$pci/$pf/sriov_numvfs" || return
        for vf in $(vfs "$pf"); do
            [ "$2" = none ] || rdma link add "mlx5_$n" type rxe netdev "$(netdev "$vf")" || return
            n=$((n + 1))
        done
    done
}
add_adapters() {
    local pf vf
    for pf in $(pfs); do echo "$pf" > /sys/bus/pci/drivers_probe || return; done
    echo 1 > /sys/bus/pci/drivers_autoprobe
    for pf in $(pfs); do
        [ "$1" -eq 0 ] || echo "$1" > "$pci/$pf/sriov_numvfs" || return
        for vf in "$pf" $(vfs "$pf"); do eventually rdmadev "$vf" > /dev/null || return; done
        # IPoIB sets VFs through a PF's interface whether it is up or not; this is for traffic.
        ! netdev "$pf" > /dev/null 2>&1 || ip link set "$(netdev "$pf" | head -n 1)" up || return
    done
}

# set_guids [COUNT [MACHINE]]: a GUID for each InfiniBand VF, or for the first COUNT of each PF, as the administrator of such a node
# does it at boot, before a pod has one. Those of MACHINE (1 or 2) where the fabric goes on to another.
set_guids() {
    local pf vf link kind card=0 index machine
    machine=$((54 + ${2:-1}))
    for pf in $(pfs); do
        link=$(netdev "$pf" | head -n 1) card=$((card + 1)) index=0
        for vf in $(vfs "$pf"); do
            [ "$index" -lt "${1:-1000}" ] || break
            for kind in node_guid port_guid; do
                ip link set "$link" vf $index $kind "00:11:22:33:44:$machine:0$card:0$index" || return
            done
            rebind "$vf"
            eventually rdmadev "$vf" > /dev/null || return
            index=$((index + 1))
        done
    done
}

# node_state: the whole node as text, one fact a line, for "diff before after". Left out is what changes by itself or
# says nothing about who did what: interface indexes, carrier and port states, link-local addresses, LIDs, and the number of the
# queue pair, which begins an address of IPoIB and is another each time.
node_state() (
    shopt -s nullglob
    # A VF whose address nobody has set has none at its PF, or that which it has chosen itself: before Linux 6.12 igb shows
    # it there once the VF has been up.
    ip -j -d link show | sed -E 's/"address":"[0-9a-f:]{11}:fe:80:/"address":"QUEUE-PAIR:fe:80:/g' | jq -r '
        [.[].address, "00:00:00:00:00:00"] as $own | sort_by(.ifname)[] |
        "link \(.ifname) mac=\(.address) brd=\(.broadcast) mtu=\(.mtu) txqlen=\(.txqlen) up=\(.flags | index("UP") != null)"
            + " promisc=\(.promiscuity) allmulti=\(.allmulti) master=\(.master // "-") kind=\(.linkinfo.info_kind // "-")"
            + " altnames=\(.altnames // [] | sort | join(","))",
        (.ifname as $pf | .vfinfo_list[]? |
                .address |= (. as $address | if $own | index($address) then "its own" else . end) | "vf \($pf) \(tojson)")'
    ip -j addr show | jq -r '
        sort_by(.ifname)[] | .ifname as $link |
        .addr_info[] | select(.scope != "link") | "address \($link) \(.local)/\(.prefixlen)"'
    namespaces=$(ip netns list | cut -d' ' -f1 | sort)
    for ns in $namespaces; do echo "netns $ns"; done
    for ns in '' $namespaces; do
        ${ns:+ip netns exec "$ns"} rdma link show 2>/dev/null |
            sed -E "s/^link /rdma /; s/ (physical_)?state [^ ]+//g; s/ (sm_)?lid [0-9]+//g; s/ *\$/ in ${ns:-the first namespace}/"
    done | sort
    cd "$pci" || return
    for dir in */sriov_totalvfs */physfn; do
        dir=${dir%/*}
        driver=$(readlink "$dir/driver")
        entries=("$dir"/net/* "$dir"/infiniband/* "$dir"/infiniband_verbs/* "$dir"/infiniband_mad/*)
        echo "function $dir driver=${driver##*/} override=$(< "$dir/driver_override")" "${entries[@]#"$dir"/}"
    done
    # What a device was before its first attachment is kept until the next boot.
    ! [ -d /var/lib/cni ] || find /var/lib/cni ! -type d ! -path '*/baselines/*' | sed 's/^/file /' | sort
)

# ---- The outside world ------------------------------------------------------------------------------------------

# qmp COMMAND [JSON]: a command of QEMU's monitor; prints the answer, fails if that is an error or there is none.
# Opens the port for each command: it can be open once only, and a program under test must not inherit it.
qmp() (
    port=$(grep -lx qmp /sys/class/virtio-ports/*/name) || return
    port=${port%/name}
    exec 7<> "/dev/${port##*/}" || return
    # The greeting of the session: needed the first time, an error that nobody minds later.
    echo '{"execute": "qmp_capabilities"}' >&7
    id=$RANDOM$RANDOM
    echo "{\"execute\": \"$1\", \"arguments\": ${2:-{\}}, \"id\": \"$id\"}" >&7
    while read -r -t 10 answer <&7; do
        [[ $answer == *"\"id\": \"$id\""* ]] || continue        # events, other answers
        echo "$answer"
        [[ $answer == *'"return":'* ]]
        return
    done
    echo "no answer from QEMU"
    return 1
)

# cable NIC out|in: pf0 is the first NIC.
cable() {
    local up=false
    [ "$2" = out ] || up=true
    qmp set_link "{\"name\": \"$1\", \"up\": $up}"
}

# unplug NIC: pull it from its slot in the orderly way, which gives the kernel 5 s; waits until it is gone.
# plug NIC: put it back; it is there a moment later, without VFs.
unplug() {
    local address
    address=$(nic_address "$1")
    qmp device_del "{\"id\": \"$1\"}" && eventually refused test -e "$pci/$address"
}
plug() {
    # The slot is still occupied until QEMU knows that the kernel let go.
    eventually qmp device_add \
        "{\"driver\": \"igb\", \"id\": \"$1\", \"bus\": \"port${1#pf}\", \"netdev\": \"wire${1#pf}\"}"
}
# The root buses of the two nodes are 20 and 40, and the NICs take turns.
nic_address() { printf '0000:%02x:00.0\n' $((32 * (${1#pf} % 2 + 1) + 1 + ${1#pf} / 2)); }

# hmp COMMAND...: the same in the monitor's language for people, e.g. hmp info pci.
hmp() { qmp human-monitor-command "{\"command-line\": \"$*\"}"; }
