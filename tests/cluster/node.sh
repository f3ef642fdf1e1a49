# shellcheck shell=bash
# The nodes: lab VMs, with kubelet in each. Sourced by tests/cluster/run and by the checks.
#
# What is a node's own is in variables, which are those of the first node but within of_node. Both nodes have the same ports,
# each at another address of the loopback; the second is called as its address, which needs no resolver.
node_variables() {
    number=$1 NODE=localhost loopback=127.0.0.$1 machine=node RUN=cluster-$set
    [ "$1" = 1 ] || { NODE=$loopback machine=node-$1 RUN+=-$1; }
    node_share=$LAB_BUILD/runs/$RUN
}
node_variables 1
# of_node NUMBER COMMAND...: COMMAND, a function too, for this node.
of_node() {
    local number NODE loopback machine RUN node_share
    node_variables "$1"
    "${@:2}"
}
# each_node COMMAND...: for each node. Fails if one has failed.
each_node() {
    local count rc=0
    for ((count = 1; count <= NODES; count++)); do of_node "$count" "$@" || { rc=$?; [ "$NODES" = 1 ] || echo "that is of node $count"; }; done
    return $rc
}

# on_node COMMAND...: runs a bash command line in the VM as root; prints its output, returns its status.
on_node() {
    local answer
    answer=$(exec 2> /dev/null && is_ours "$SHELL_PORT" && exec 7<> "/dev/tcp/$loopback/$SHELL_PORT" &&
        printf '%s\n' "$SHELL_SECRET" ". /run/service.sh; { $*"$'\n'"} 2>&1; echo \"@@status \$?\"; exit" >&7 &&
        timeout "${on_node_limit:-1800}" cat <&7)
    [[ $answer == *'@@status '* ]] || { echo 'the VM does not answer'; return 1; }
    printf '%s' "${answer%@@status*}"
    return "${answer##*@@status }"
}

# is_ours PORT: a process of this user listens there on the node's loopback address, and not one of another user who collects
# secrets.
is_ours() {
    awk -v at="$(printf '%02X00007F:%04X' "$number" "$1")" -v user="$EUID" \
        '$2 == at && $4 == "0A" && $8 == user { found = 1 } END { exit !found }' /proc/net/tcp
}

# What goes into the VM: modules that the lab's image lacks, and configuration.
node_files() {
    local files=$work/$machine release module name who
    rm -rf "$files"
    mkdir -p "$files"/{modules,etc/kubernetes,etc/containerd,etc/cni/net.d/multus.d,etc/cni/net.d/whereabouts.d}
    release=$(ls "$LAB_BUILD/modules-tree/lib/modules")
    for module in virtio_blk virtio_net ext4 crc32c_generic; do     # Linux 7 has no crc32c_generic
        /sbin/modprobe -d "$LAB_BUILD/modules-tree" -S "$release" --show-depends "$module"
    done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r module; do
        name=${module##*/}
        xz -dc "$module" > "$files/modules/${name%.xz}"
        echo "${name%.xz}" >> "$files/modules/order"
    done
    printf '%s=%q\n' NODE "$NODE" SHELL_PORT "$SHELL_PORT" SHELL_SECRET "$SHELL_SECRET" API "$API" VFS "$VFS" RDMA "$RDMA" FABRIC "$FABRIC" \
        NUMBER "$number" NODES "$NODES" BOOT_VFS "${boot_vfs:-$VFS}" > "$files/settings"
    cp "$here/guest/service.sh" "$files/"
    cp "$work/pki/ca.crt" "$files/etc/kubernetes/"
    kubeconfig "https://10.0.2.2:$API" "${kubelet_tokens[number]}" > "$files/etc/kubernetes/kubelet.conf"
    cat > "$files/etc/kubernetes/kubelet.yaml" << END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
port: $KUBELET
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: /etc/kubernetes/ca.crt}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
failSwapOn: false
clusterDNS: [10.96.0.10]
runtimeRequestTimeout: 10m
evictionHard: {memory.available: "0%", nodefs.available: "0%", imagefs.available: "0%", nodefs.inodesFree: "0%"}
imageGCHighThresholdPercent: 100
END
    cat > "$files/etc/containerd/config.toml" << 'END'
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:1"
  enable_cdi = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
END
    for who in multus whereabouts; do
        kubeconfig "http://10.0.2.2:${proxy_port[$who]}" '' > "$files/etc/cni/net.d/$who.d/$who.kubeconfig"
        chmod 600 "$files/etc/cni/net.d/$who.d/$who.kubeconfig"
    done
    cat > "$files/etc/cni/net.d/whereabouts.d/whereabouts.conf" << 'END'
{"datastore": "kubernetes", "kubernetes": {"kubeconfig": "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"},
 "log_file": "/var/log/whereabouts.log", "log_level": "error"}
END
    cat > "$files/etc/cni/net.d/00-multus.conf" << END
{"cniVersion": "1.0.0", "name": "multus-cni-network", "type": "multus",
 "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig", "logFile": "/var/log/multus.log", "logLevel": "verbose",
 "logToStderr": false,
 "capabilities": {"portMappings": true},
 "delegates": [{"cniVersion": "1.0.0", "name": "pods", "plugins": [
   {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.$((number - 1)).0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}]}
END
}

# between_nodes: what QEMU is asked for so that two VMs have the switch of their NICs in common, and a second network, for the
# pods' eth0. Unix sockets, because other users reach the loopback. The first VM listens, also again when the second has ended.
between_nodes() {
    local side=server=on
    [ "$NODES" -gt 1 ] || return 0
    [ "$number" = 1 ] || side=server=off,reconnect-ms=1000
    printf '%s\n' -netdev "stream,id=trunk,$side,addr.type=unix,addr.path=$work/wire.sock" \
        -netdev hubport,id=trunkport,hubid=0,netdev=trunk \
        -netdev "stream,id=between,$side,addr.type=unix,addr.path=$work/between.sock" \
        -device "virtio-net-pci,netdev=between,mac=52:54:00:ff:00:0$number,bus=pcie.0"
}

# node_up: boots the VM with its disk, and returns when the API server says that it is ready. Again after node_power_off.
node_up() { node_boots && node_comes_up; }
nodes_up() { each_node node_boots && each_node node_comes_up; }
booted_at=()
node_boots() {
    local part between=()
    booted_at[number]=$(date -u +%FT%TZ)
    node_files || return
    rm -f "$node_share/out/started"
    while read -r part; do between+=(--qemu "$part"); done < <(between_nodes)
    start "$machine" "$here/../lab/run" --name "$RUN" --memory "$MEMORY" --pfs "$PFS" --node "$number" --limit 36000 --boot 600 \
        --file "$work/$machine/modules" --file "$work/$machine/etc" --file "$work/$machine/settings" --file "$work/$machine/service.sh" \
        --qemu -drive --qemu "id=disk,file=$work/$machine.ext4,format=raw,if=none,cache=unsafe" \
        --qemu -device --qemu virtio-blk-pci,drive=disk,bus=pcie.0 \
        --qemu -netdev --qemu "user,id=user0,ipv6=off,hostfwd=tcp:$loopback:$KUBELET-:$KUBELET,hostfwd=tcp:$loopback:$SHELL_PORT-:$SHELL_PORT" \
        --qemu -device --qemu virtio-net-pci,netdev=user0,bus=pcie.0 "${between[@]}" \
        "$here/guest/node.sh"
    # If this script is killed, the VM finds out by a file: a signal alone would reach tests/lab/run and not QEMU.
    (exec 9>&-; tail --pid=$$ -f /dev/null; : > "$node_share/stop") &
}
node_comes_up() {
    eventually node_is_up_or_ended
    node_is_up || { tail -n 20 "$logs/$machine.log" >&2; return 1; }
    # What the API server knows from before a reboot does not count.
    eventually node_is_ready_since "${booted_at[number]}"
}
node_is_up() { on_node 'kill -0 $(< /run/kubelet.pid)'; }
node_is_up_or_ended() { node_is_up || ! kill -0 "${processes[$machine]}" 2> /dev/null; }
node_is_ready_since() {
    local condition='{.status.conditions[?(@.type=="Ready")]' beat
    beat=$(kubectl get node "$NODE" -o jsonpath="$condition.status} $condition.lastHeartbeatTime}") || return
    echo "$beat"
    [[ ${beat% *} == True && ! ${beat#* } < $1 ]]
}

# node_down: in order, with its logs. What does not end in half a minute loses its power.
node_down() {
    [ -n "${processes[$machine]-}" ] || return 0
    on_node_limit=60 node_logs
    node_ends 30
    node_power_off
}
# node_ends [SECONDS]: in order; node_up boots it again.
node_ends() {
    local end=$((SECONDS + ${1:-$CHECK_DEADLINE}))
    : > "$node_share/stop"
    while kill -0 "${processes[$machine]}" 2> /dev/null && [ "$SECONDS" -lt "$end" ]; do sleep 0.1; done
    ! kill -0 "${processes[$machine]}" 2> /dev/null && stop "$machine"
}
# node_power_off: as if somebody pulled the plug. tests/lab/run waits for QEMU, its child, so that is what is ended.
node_power_off() {
    [ -z "${processes[$machine]-}" ] || kill $(cat "/proc/${processes[$machine]}/task/${processes[$machine]}/children" 2> /dev/null) 2> /dev/null
    stop "$machine"
}
node_logs() {
    local to=$logs
    on_node 'rm -rf /host/out/logs; mkdir /host/out/logs
        cp -r /var/log/*.log /var/log/pods /host/out/logs/; keep_logs; cp -r /var/log/kept/pods /host/out/logs/' > /dev/null
    [ "$number" = 1 ] || { to=$logs/$machine; mkdir -p "$to"; }
    [ ! -d "$node_share/out/logs" ] || cp -r "$node_share/out/logs/." "$to/"
}
