#!/bin/bash
# The main job of vfrail, step by step. Runs in the lab VM; ./examples/demo/run starts it. Argument: roce (default) or
# infiniband, what the node's cards are.
. /lab/lib.sh
trap - EXIT     # the story counts for itself

fabric=${1:-roce}

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
state=/run/story
mkdir -p $state $kubelet/device-plugins $kubelet/plugins_registry /etc/pcidp /opt/cni/bin

# ---- Printing ---------------------------------------------------------------------------------------------------

steps=() times=() failed=''
now() { echo $((${EPOCHREALTIME/./} / 1000)); }
# step TITLE: ends the step before and begins one.
step() {
    [ -z "${title-}" ] || { steps+=("$title"); times+=($(($(now) - begin))); }
    title=$1 begin=$(now)
    [ -z "$title" ] || printf '\n--- %d. %s\n\n' $((${#steps[@]} + 1)) "$title"
}
print() { fold -s -w 100 <<< "$*" | sed 's/^/  /'; }
# show COMMAND...: the command and what it prints.
show() { echo "  \$ $*"; "$@" 2>&1 | sed 's/^/    /'; return "${PIPESTATUS[0]}"; }
# must WHAT COMMAND...: the story ends here if it fails.
must() {
    local what=$1
    shift
    if "$@" > $state/must 2>&1; then echo "  [ok] $what"; else failed="$what"; sed 's/^/    /' $state/must; finish; fi
}
finish() {
    local i outcome=PASS
    step ''
    [ -z "$failed" ] || outcome="FAIL at step ${#steps[@]}: $failed"
    printf '\n  %-74s %9s\n' step time
    for i in "${!steps[@]}"; do printf '  %2d. %-70s %6d ms\n' $((i + 1)) "${steps[i]}" "${times[i]}"; done
    printf '\n%s\n' "$outcome"
    if [ -n "$failed" ]; then
        for log in serve kubelet cni; do echo "--- $log log"; tail -n 20 $state/$log.log; done
        exit 1
    fi
    exit 0
}

# ---- The cluster's part: kubelet, Multus and the runtime ---------------------------------------------------------

# What Multus does for a pod's attachment: the configuration of the network attachment, with the device that kubelet
# allocated put in, to the plugin that it names.
multus() {
    local verb=$1 pod=$2
    CNI_COMMAND=$verb CNI_CONTAINERID=$pod CNI_NETNS=/run/netns/$pod CNI_IFNAME=net1 CNI_PATH=/opt/cni/bin \
        CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=$pod" \
        "/opt/cni/bin/$(jq -r .type $state/network.json)" \
        < <(jq -c --arg id "$(< "$state/$pod.id")" '. + {deviceID: $id, pciBusID: $id}' $state/network.json) \
        2>> $state/cni.log
}
# in_container POD COMMAND...: in the pod's network namespace, with no device nodes but those of the answer to
# kubelet.
in_container() {
    local pod=$1
    shift
    ip netns exec "$pod" unshare -m bash -c '
        answer=$1; shift
        for path in $(jq -r ".devices[].host_path" "$answer"); do stat -c "%n %t %T" "$path"; done > /run/nodes.$$
        mount -t tmpfs none /dev/infiniband
        while read -r path major minor; do mknod "$path" c $((16#$major)) $((16#$minor)); done < /run/nodes.$$
        rm /run/nodes.$$
        exec "$@"' bash "$state/$pod.allocate" "$@"
}
# The last VF in the order of addresses that still has its RDMA device in the host.
idle_vf() {
    local pf vf
    for pf in $(pfs); do
        for vf in $(vfs "$pf"); do [ -z "$(rdmadev "$vf" 2> /dev/null)" ] || echo "$vf"; done
    done | tail -n 1
}
ended() { ! kill -0 "$1" 2> /dev/null; }
uverbs_of() { jq -r '.devices[].host_path' "$state/$1.allocate" | grep uverbs; }

# ---- The story ---------------------------------------------------------------------------------------------------

cat << 'END'

vfrail: SR-IOV virtual functions with their RDMA devices for Kubernetes pods

END
if [ "$fabric" = infiniband ]; then
    print "This is a virtual machine without special hardware: two emulated InfiniBand adapters (a kernel module on QEMU's" \
        "Intel 82576) with four SR-IOV virtual functions (VFs) each, with GUIDs, a subnet manager and the kernel's IPoIB."
else
    print "This is a virtual machine without special hardware: two emulated NICs (Intel 82576, QEMU) with four SR-IOV" \
        "virtual functions (VFs) each, and an RDMA device on each VF (Soft-RoCE, made to behave like the one of a NIC)."
fi
print 'The kernel, its VFs, its namespaces and vfrail are real; kubelet, Multus and the container runtime are played.'

# As the administrator of an InfiniBand node does it at boot: a VF without a GUID cannot join the fabric.
node_up() { lab_up 4 --fabric "$fabric" && { [ "$fabric" = roce ] || set_guids; }; }
step 'The node: two cards, eight VFs, each with an RDMA device'
must 'VFs and RDMA devices made, RDMA network namespaces in exclusive mode' node_up
show ip -br link
show rdma link
node_state > $state/before

step 'vfrail serve offers them to kubelet'
# The configuration of the users: "every RDMA-capable function of this vendor is an nvidia.com/hostdev". The vendor
# is that of the emulated card.
cat > /etc/pcidp/config.json << 'END'
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                   "selectors": {"vendors": ["8086"], "isRdma": true}}]}
END
show cat /etc/pcidp/config.json
must 'the configuration is good' vfrail check-config /etc/pcidp/config.json
test-kubelet run --kubelet-root $kubelet > $state/kubelet.log 2>&1 &
vfrail serve > $state/serve.log 2>&1 &
serve=$!
must 'eight devices are advertised to kubelet' eventually test-kubelet capacity --kubelet-root $kubelet --wait $resource=8 --timeout 60
print "The node's capacity, as kubelet would report it:"
show test-kubelet capacity --kubelet-root $kubelet
print 'And what vfrail knows, with the reason for each function that is in no resource:'
show vfrail inspect --config-file /etc/pcidp/config.json

step 'The network: what a HostDeviceNetwork renders to'
# "type": "host-device" is what NVIDIA's network-operator writes; vfrail-cni is installed under that name, too.
must 'vfrail-cni installed as host-device' vfrail-cni install --as host-device /opt/cni/bin
must 'IPAM plugin host-local installed' cp /usr/local/bin/host-local /opt/cni/bin/
cat > $state/network.json << 'END'
{"cniVersion": "0.3.1", "name": "hostdevice-net", "type": "host-device",
 "ipam": {"type": "host-local", "subnet": "192.168.101.0/24"}}
END
show cat $state/network.json

for pod in trainer-0 trainer-1; do
    step "Pod $pod: one $resource"
    must "kubelet allocates one device" test-kubelet allocate --kubelet-root $kubelet $resource 1
    cp $state/must "$state/$pod.allocate"
    jq -r '.ids[0]' "$state/$pod.allocate" > "$state/$pod.id"
    print "The container will get:"
    jq -r '(.envs | to_entries[] | "\(.key)=\(.value)"), (.devices[] | "\(.host_path) \(.permissions)")' \
        "$state/$pod.allocate" | sed 's/^/    /'
    must 'the pod has a network namespace' ip netns add "$pod"
    must 'the network attachment' multus ADD "$pod"
    print "The answer of the CNI plugin:"
    jq -c . $state/must | sed 's/^/    /'
    show ip netns exec "$pod" ip -br addr show dev net1
    show ip netns exec "$pod" rdma link
done

step 'The pods reach each other, and each its own RDMA device only'
first=$(ip -n trainer-0 -j addr show dev net1 | jq -r '.[0].addr_info[] | select(.family == "inet").local')
second=$(ip -n trainer-1 -j addr show dev net1 | jq -r '.[0].addr_info[] | select(.family == "inet").local')
must "trainer-0 pings trainer-1 ($second) through the emulated switch" eventually ip netns exec trainer-0 ping -c 1 -W 1 "$second"
must "trainer-1 pings trainer-0 ($first)" eventually ip netns exec trainer-1 ping -c 1 -W 1 "$first"
show in_container trainer-0 ls /dev/infiniband
show in_container trainer-1 ls /dev/infiniband
for pod in trainer-0 trainer-1; do
    must "$pod opens its RDMA device ($(uverbs_of $pod))" in_container $pod bash -c ": < $(uverbs_of $pod)"
    # The emulated InfiniBand adapter has no driver of user space.
    [ "$fabric" = infiniband ] || must '  and sees its port' in_container $pod ibv_devinfo
done
[ "$fabric" = infiniband ] ||
    in_container trainer-0 ibv_devinfo 2>&1 | grep -E 'hca_id|state|link_layer|active_mtu' | sed 's/^/    /'
must "trainer-0 cannot open trainer-1's ($(uverbs_of trainer-1))" \
    refused_with 'not permitted' ip netns exec trainer-0 bash -c ": < $(uverbs_of trainer-1)"
must "trainer-1 cannot open trainer-0's ($(uverbs_of trainer-0))" \
    refused_with 'not permitted' ip netns exec trainer-1 bash -c ": < $(uverbs_of trainer-0)"
must "the host cannot open trainer-0's" refused_with 'not permitted' bash -c ": < $(uverbs_of trainer-0)"

traffic_in_the_host() {
    print "Soft-RoCE of this kernel carries traffic in the first network namespace only (a NIC's RDMA device does in every" \
        "namespace), so the verbs ping-pong runs over a VF that is in no pod."
    free=$(idle_vf)
    device=$(rdmadev "$free") link=$(netdev "$free")
    must "an address for $link ($free, $device)" ip addr add 192.168.102.1/24 dev "$link"
    must "$link is up" ip link set "$link" up
    gid=$(grep -l 'ffff:c0a8:6601' /sys/class/infiniband/"$device"/ports/1/gids/* | head -n 1)
    gid=${gid##*/}
    ibv_rc_pingpong -d "$device" -g "${gid:-1}" -n 500 > $state/server.log 2>&1 &
    must 'the server listens' eventually grep -q ':4853 ' /proc/net/tcp      # port 18515
    must 'verbs ping-pong' ibv_rc_pingpong -d "$device" -g "${gid:-1}" -n 500 127.0.0.1
    grep -E 'bytes|iters' $state/must | sed 's/^/    /'
    ip addr del 192.168.102.1/24 dev "$link"
    ip link set "$link" down
}
if [ "$fabric" = roce ]; then
    step 'RDMA traffic, in the first namespace'
    traffic_in_the_host
else
    print "RDMA traffic is not shown: the emulated adapter carries IPoIB and management datagrams alone."
fi

step 'Both pods are deleted'
for pod in trainer-0 trainer-1; do
    must "the network attachment of $pod is taken down" multus DEL $pod
    must "its namespace ends" ip netns del $pod
    must "kubelet has its device back" test-kubelet free --kubelet-root $kubelet --ids "$(< $state/$pod.id)"
done
stopping=$(now)
kill -TERM $serve
must 'vfrail serve stops' eventually ended $serve
print "It took $(($(now) - stopping)) ms to stop."
rm -rf /opt/cni/bin/host-local
node_state | grep -v '^file /var/lib/cni/networks' > $state/after
must 'the node is as before: links, names, addresses, VF properties, RDMA devices, state files' diff $state/before $state/after
finish
