# vfrail is upgraded by Helm to another image, and back, while pods run, come and go.
#
# The second image is the first with a byte more in vfrail-cni, so that another file is installed.
rm -rf "$work/next"
cp -a build/image/amd64 "$work/next"
echo >> "$work/next/usr/libexec/cni/vfrail-cni"
check 'there is a second image' manifests/image/pack docker.io/library/vfrail:next "$node_share/next.tar" "amd64=$work/next"
check 'the node has it' on_node 'ctr --namespace=k8s.io images import --all-platforms --digests - < /host/next.tar'
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for name in a b; do pod $name hostdev 1; done
check 'two pods run' eventually is 2 how_many_run
had=$(in_pod a ip -brief address show net1; in_pod b ip -brief address show net1)
has_what_it_had() { is "$had" eval 'in_pod a ip -brief address show net1; in_pod b ip -brief address show net1'; }
installed_file() { on_node 'sha256sum < /opt/cni/bin/vfrail | cut -c1-64'; }
first=$(installed_file)

# Fifty times a second.
on_node 'rm -f /node/absent /run/never; mkfifo /run/never
    service_start watch-cni bash -c "exec 9<> /run/never
        while :; do [ -x /opt/cni/bin/vfrail ] || date >> /node/absent; read -rt 0.02 -u 9; done"'
# come_and_go: a pod after another until the file is there that says when to end; a line for each, whether it has run. kubelet
# refuses a pod when the plugin is away that moment, as of every device plugin; it is no attachment that fails.
come_and_go() {
    local i now
    for ((i = 0; ; i++)); do
        [ ! -e "$work/upgraded" ] || return
        pod "u$i" hostdev 1
        CHECK_DEADLINE=600 eventually has '^Running\|^Failed' phase "u$i"
        now=$(kubectl get pod "u$i" -o 'jsonpath={.status.phase} {.status.reason} {.status.message}')
        [[ $now != Running* ]] || now=$(in_pod "u$i" ibv_devinfo | grep -o PORT_ACTIVE)
        echo "$now"
        kubectl delete pod "u$i" > /dev/null
    done
}
rm -f "$work/upgraded"
come_and_go > "$work/came" 2>&1 &
creating=$!
came_since() { [ "$(wc -l < "$work/came")" -gt "$1" ]; }
check 'a pod comes and goes' eventually came_since 0
check 'vfrail is upgraded' installed --set image.tag=next
check 'another file is installed' refused is "$first" installed_file
check 'every device is allocatable' eventually is $DEVICES allocatable
check 'the pods have what they had' has_what_it_had
came=$(wc -l < "$work/came")
check 'pods come and go' eventually came_since $((came + 1))
check 'vfrail is as before' installed
check 'with its file' is "$first" installed_file
check 'every device is allocatable again' eventually is $DEVICES allocatable
came=$(wc -l < "$work/came")
check 'pods still come and go' eventually came_since $((came + 1))
: > "$work/upgraded"
wait "$creating"
sort "$work/came" | cut -c1-200 | uniq -c
check 'each of them has run with its device, or was not admitted' is '' \
    bash -c 'grep -vE "^PORT_ACTIVE|^Failed UnexpectedAdmissionError" "$1"; true' - "$work/came"
check 'no sandbox has failed' lacks vfrail kubectl get events --field-selector reason=FailedCreatePodSandBox \
    -o custom-columns=O:.involvedObject.name,M:.message --no-headers
check 'the executable was there at each moment' is '' on_node 'service_stop watch-cni; cat /node/absent 2> /dev/null; true'
check 'the pods have what they had' has_what_it_had
