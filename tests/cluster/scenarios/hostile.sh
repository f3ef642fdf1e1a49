# A pod with NET_ADMIN does to its device what it can; the next pod, and the node, notice nothing.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod hostile hostdev 1 '{"capabilities": {"add": ["NET_ADMIN"]}}'
check 'the pod runs' eventually running hostile
in_pod hostile bash -c '
    rdma dev set "$(rdma -j dev | jq -r ".[0].ifname")" name evil0
    ip link set net1 down; ip link set net1 name evil1 address 02:66:66:66:66:66 mtu 1280 arp off multicast off alias evil
    ip link property add dev evil1 altname evil-altname; ip link set evil1 up
    ip link add link evil1 name evil2 type macvlan mode passthru; ip link set evil2 up'
check 'it has renamed its devices' has evil0 in_pod hostile rdma dev
# Which VF the pod has is kubelet's choice, so the number of another's node depends on its own.
check 'another pod'"'"'s RDMA node, made with mknod, cannot be opened' \
    refused_with 'Operation not permitted' in_pod hostile bash -c '
        node=$(echo /dev/infiniband/uverbs*)
        own=$((0x$(stat -c %T $node)))
        : < $node || { echo "its own cannot be opened either"; exit 0; }
        mknod /tmp/uverbs c 231 $((own == 199 ? 198 : 199)) && : < /tmp/uverbs'
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete pod hostile --wait=false > /dev/null
check 'the pod ends' eventually gone hostile
check 'every device is in the host, as it was before' eventually at_baseline

section 'memory that a pod pins'
may_lock='{"capabilities": {"add": ["IPC_LOCK"]}}'
# pinned POD: what the kernel has pinned for a registration of 128 MiB for RDMA, in KiB.
pinned() {
    in_pod "$1" bash -c 'ibv_rc_pingpong -d "$(ls /sys/class/infiniband)" -g 0 -s 134217728 > /tmp/pinned 2>&1 & process=$!
        for ((try = 0; try < 60; try++)); do
            sleep 1
            kill -0 $process 2> /dev/null || break
            sed -n "s/^VmPin:[^0-9]*\([1-9][0-9]*\) kB/\1/p" /proc/$process/status | grep . || continue
            kill $process
            exit 0
        done
        cat /tmp/pinned >&2
        exit 1'
}
pod unprivileged hostdev 1
pod locking hostdev 1 "$may_lock"
pod limited hostdev 1 "$may_lock" '' 64Mi
for name in unprivileged locking limited; do check "the pod runs: $name" eventually running $name; done
check 'without IPC_LOCK the memory is refused' refused_with 'register MR' pinned unprivileged
check 'with it and without a limit the pod pins all of it' is 131072 pinned locking
check 'with a limit of 64 MiB the pod cannot' refused pinned limited
check 'but is killed for it' eventually has OOMKilled kubectl get pod limited -o json
check 'and runs again' eventually restarted limited 1
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pod unprivileged locking limited --wait=false > /dev/null
for name in unprivileged locking limited; do check "the pod ends: $name" eventually gone $name; done
check 'every device is in the host, as it was before' eventually at_baseline
