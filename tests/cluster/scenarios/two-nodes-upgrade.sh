# The DaemonSet is rolled to another image over both nodes, and back, while pods come and go on each.
#
# The second image is the first with a byte more in vfrail-cni, so that another file is installed.
if [ "$NODES" != 2 ]; then
    skip 'a cluster of one node: --nodes 2'
    return
fi
rm -rf "$work/next"
cp -a build/image/amd64 "$work/next"
echo >> "$work/next/usr/libexec/cni/vfrail-cni"
check 'there is a second image' manifests/image/pack docker.io/library/vfrail:next "$work/next.tar" "amd64=$work/next"
second_image() { cp "$work/next.tar" "$node_share/" && on_node 'ctr --namespace=k8s.io images import --all-platforms --digests - < /host/next.tar'; }
check 'each node has it' each_node second_image
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod stays-1 hostdev 1
of_node 2 pod stays-2 hostdev 1
check 'a pod runs on each node' eventually is 2 how_many_run
what_they_have() { in_pod stays-1 ip -brief address show net1; in_pod stays-2 ip -brief address show net1; }
had=$(what_they_have)
installed_file() { on_node 'sha256sum < /opt/cni/bin/vfrail | cut -c1-64'; }
first=$(installed_file)

# come_and_go: a pod of the node after another until the file is there that says when to end; a line for each. kubelet refuses a
# pod when the plugin is away that moment, as of every device plugin; it is no attachment that fails.
come_and_go() {
    local i now
    for ((i = 0; ; i++)); do
        [ ! -e "$work/upgraded" ] || return
        pod "u$number-$i" hostdev 1
        CHECK_DEADLINE=600 eventually has '^Running\|^Failed' phase "u$number-$i"
        now=$(kubectl get pod "u$number-$i" -o 'jsonpath={.status.phase} {.status.reason} {.status.message}')
        [[ $now != Running* ]] || now=$(in_pod "u$number-$i" ibv_devinfo | grep -o PORT_ACTIVE)
        echo "$now"
        kubectl delete pod "u$number-$i" > /dev/null
    done
}
rm -f "$work/upgraded"
: > "$work/came-1"
: > "$work/came-2"
come_and_go > "$work/came-1" 2>&1 & creating=($!)
of_node 2 come_and_go > "$work/came-2" 2>&1 & creating+=($!)
# came_since TIMES...: on each node more pods have come than this.
counts() { wc -l < "$work/came-1"; wc -l < "$work/came-2"; }
came_since() { [ "$(wc -l < "$work/came-1")" -gt "$1" ] && [ "$(wc -l < "$work/came-2")" -gt "$2" ]; }
check 'a pod comes and goes on each node' eventually came_since 0 0
check 'vfrail is rolled to another image' installed --set image.tag=next
check 'another file is installed on each' each_node refused is "$first" installed_file
check 'every device is allocatable' each_node eventually is $DEVICES allocatable
check 'the pods that stay have what they had' is "$had" what_they_have
check 'pods come and go on each node' eventually came_since $(counts)
check 'vfrail is rolled back' installed
check 'with its file on each' each_node is "$first" installed_file
check 'every device is allocatable again' each_node eventually is $DEVICES allocatable
check 'pods still come and go on each node' eventually came_since $(counts)
: > "$work/upgraded"
wait "${creating[@]}"
for i in 1 2; do sed "s/^/     node $i: /" "$work/came-$i" | cut -c1-200 | sort | uniq -c; done
check 'each of them has run with its device, or was not admitted' is '' \
    bash -c 'cat "$@" | grep -vE "^PORT_ACTIVE|^Failed UnexpectedAdmissionError"; true' - "$work/came-1" "$work/came-2"
check 'no sandbox has failed' lacks vfrail kubectl get events --field-selector reason=FailedCreatePodSandBox \
    -o custom-columns=O:.involvedObject.name,M:.message --no-headers
check 'the pods that stay have what they had' is "$had" what_they_have
