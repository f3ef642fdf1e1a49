# shellcheck shell=bash
# Sourced by every shell in the node: what an init system would do, and questions about the node.
. /lab/lib.sh
trap - EXIT                                 # the sum of checks belongs to the machine that asks
rm -rf "$checks_dir"
. /host/files/settings
export PATH=/node/bin:/node/containerd:/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin:/bin/bb

# service_start NAME [COMMAND...]: without a command the one it was started with before.
service_start() {
    local name=$1
    shift
    [ $# -eq 0 ] || printf '%q ' "$@" > "/run/$name.command"
    eval "setsid $(< "/run/$name.command") >> /var/log/$name.log 2>&1 < /dev/null &"
    echo $! > "/run/$name.pid"
}
# service_stop NAME [SIGNAL]: and waits for its end. A zombie has ended: nobody here waits for it.
service_stop() {
    local pid
    pid=$(< "/run/$1.pid")
    kill "${2:--TERM}" "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null && [ "$(cut -d' ' -f3 "/proc/$pid/stat" 2>/dev/null)" != Z ]; do sleep 0.1; done
}
service_restart() { service_stop "$1"; service_start "$1"; }

# baseline: what must be the same whenever no pod of a test is there (/node/baseline is that of the boot): every function
# with its netdev, driver and RDMA device, every setting of it. By the kernel's way the numbers of uverbs and umad nodes
# change with each move of an RDMA device; an address of IPoIB begins with the number of its queue pair, another for each
# interface; and its MTU is at most that of the group that it was in last. The rest of node_state belongs to the pod network
# and to vfrail's own pod, which in shared mode sees each RDMA device, as every pod does.
baseline() {
    local others='^(link|address) (veth|cni0)'
    [ "$RDMA" = exclusive ] || others+='|^rdma .* in cni-'
    node_state | grep -E '^(link|address|vf|rdma|function) ' | grep -vE "$others" |
        sed -E 's/(uverbs|umad)[0-9]+/\1N/g; s/( mac=QUEUE-PAIR.*) mtu=[0-9]*/\1/'
}

# remains: what attachments leave in files, none if they are gone. A network of host-local has a file for each address.
remains() {
    local folder
    for folder in /var/lib/cni/vfrail/{attachments,devices,unclean} /run/vfrail/locks; do
        [ ! -d "$folder" ] || find "$folder" ! -type d
    done
    [ ! -d /run/vfrail/pods ] || find /run/vfrail/pods -mindepth 1
    [ ! -d /var/lib/cni/networks ] || find /var/lib/cni/networks -name '*.*.*.*' ! -path '*/networks/pods/*'
    [ ! -d /var/run/k8s.cni.cncf.io/devinfo/cni ] || find /var/run/k8s.cni.cncf.io/devinfo/cni -type f
}

# stays: the other files of vfrail, and of Multus for it: those that a device keeps, CDI specs, what has been promised at
# Allocate. A device's own device-info of the resource that is always there is left out: the next pod's is the same file.
stays() {
    find /var/run/cdi /run/vfrail /var/run/k8s.cni.cncf.io/devinfo ! -type d \
        ! -path '/var/run/k8s.cni.cncf.io/devinfo/dp/nvidia.com-hostdev-*' 2> /dev/null | sort
    echo .                                  # grep -f takes an empty file for what matches everything, or nothing
}

# devices_of UID: the PCI functions that kubelet has given to the pod, or prepared for its claims; those behind a unit of a bundle
# as vfrail has written them down.
devices_of() {
    local unit resource
    jq -r --arg uid "$1" '.Data.PodDeviceEntries[]? | select(.PodUID == $uid) | .ResourceName as $resource |
        .DeviceIDs | .. | strings | "\(.) \($resource)"' /var/lib/kubelet/device-plugins/kubelet_internal_checkpoint |
        while read -r unit resource; do
            case $unit in
                bundle-*) jq -r '.devices[]' "/run/vfrail/promised/$(tr / '~' <<< "$unit~$resource").json" ;;
                *:*) echo "$unit" ;;
            esac
        done
    [ ! -e /var/lib/kubelet/dra_manager_state ] ||
        jq -r --arg uid "$1" '.Data | fromjson | .ClaimInfoStateList[]? | select(.PodUIDs | has($uid)) |
            .DriverState["vfrail.io"].Devices[]?.DeviceName' /var/lib/kubelet/dra_manager_state |
            sed -E 's/^([0-9a-f]{4})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])$/\1:\2:\3.\4/'
}

# nodes_of ADDRESS: the character devices of the function's RDMA device and the common one, "NAME MAJOR:MINOR" each.
nodes_of() (
    shopt -s nullglob
    for dev in "$pci/$1"/infiniband_verbs/*/dev "$pci/$1"/infiniband_mad/*/dev /sys/class/misc/rdma_cm/dev; do
        name=${dev%/dev}
        echo "${name##*/} $(< "$dev")"
    done | sort
)

# pid_of PROGRAM: of the one process of that executable.
pid_of() {
    local proc
    for proc in /proc/[0-9]*; do [ "$(readlink "$proc/exe")" != "$1" ] || echo "${proc#/proc/}"; done 2> /dev/null
}

# container_pid UID: the host's pid of the first process of the pod's container, which is not the sandbox.
container_pid() {
    local proc
    for proc in /proc/[0-9]*; do
        [[ $(< "$proc/cgroup") == *"pod$1/"* ]] && [ "$(readlink "$proc/exe")" != /pause ] && { echo "${proc#/proc/}"; return; }
    done 2>/dev/null
    echo "pod $1 has no process"
    return 1
}

# sees_its_own UID...: the difference between the RDMA nodes in each pod's container and those of its devices; none if
# each has its own and no others. Names and numbers: a node by the right name can be another pod's.
sees_its_own() {
    local uid pid address node
    for uid in "$@"; do
        pid=$(container_pid "$uid") || { echo "$pid"; continue; }
        for address in $(devices_of "$uid"); do
            nodes_of "$address"
        done | sort -u > /run/own
        for node in "/proc/$pid/root/dev/infiniband"/*; do
            [ ! -e "$node" ] || printf '%s %d:%d\n' "${node##*/}" "0x$(stat -c %t "$node")" "0x$(stat -c %T "$node")"
        done | sort > /run/seen
        diff /run/own /run/seen | sed "s/^/pod $uid: /"
    done
}

# keep_logs: the logs of the containers of vfrail's pods by a second name each, because kubelet removes them with a pod that is
# replaced. guest/node.sh calls it each second.
keep_logs() {
    local file kept
    for file in /var/log/pods/kube-system_vfrail-*/*/*.log; do
        kept=/var/log/kept/${file#/var/log/}
        [ -e "$kept" ] || [ ! -e "$file" ] || { mkdir -p "${kept%/*}" && ln "$file" "$kept"; }
    done 2> /dev/null
}
# Logs: kubelet, the runtime, Multus, whereabouts, and those of the containers of vfrail's pods.
log_files() {
    keep_logs
    ls /var/log/*.log /var/log/kept/pods/*/*/*.log 2> /dev/null
}
# log_mark: log_since prints what was written after this, each line behind the name of its file. What pods have left that are no
# longer there is forgotten.
log_mark() {
    local file
    for file in /var/log/kept/pods/*; do [ -e "/var/log/pods/${file##*/}" ] || rm -rf "$file"; done
    for file in $(log_files); do stat -c '%s %n' "$file"; done > /node/log-marks
}
log_since() {
    local file size name
    for file in $(log_files); do
        size=$(awk -v file="$file" '$2 == file { print $1 }' /node/log-marks)
        name=${file#/var/log/}
        tail -c "+$((${size:-0} + 1))" "$file" 2> /dev/null | sed "s|^|${name#kept/}: |"
    done
}
