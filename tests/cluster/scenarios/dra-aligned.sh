# A GPU and a NIC below one PCIe root, in one claim: the scheduler finds the pair, or says that there is none.
#
# The GPUs are slices that this writes, and gpu_driver/ is what kubelet asks for them: at first it is not there, then it refuses.
. "$here/dra.sh"
dra_can_run || return
list_never_below 0
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
check 'the node has a Multus that resolves claims' multus_is claims
check 'vfrail is installed with DRA' dra_installed
check 'every device is in a slice' eventually is $DEVICES published
roots_of_nics() { attribute resource.kubernetes.io/pcieRoot | sort -u; }
check 'the NICs are below as many roots' is $PFS bash -c 'wc -l <<< "$1"' - "$(roots_of_nics)"
# One below each of these roots, and one below a root that has no NIC.
jq -n --arg node "$NODE" --arg roots "$(roots_of_nics)" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: {name: "gpus"},
    spec: {driver: "gpu.test", nodeName: $node, pool: {name: $node, generation: 1, resourceSliceCount: 1},
        devices: (["pci0000:ff"] + ($roots | split("\n")) | to_entries | map({name: "gpu-\(.key)",
            attributes: {"resource.kubernetes.io/pcieRoot": {string: .value}, model: {string: (if .key == 0 then "alone" else "beside" end)}}}))}}' |
    kubectl apply -f - > /dev/null
jq -n '{apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: {name: "gpu.test"}, spec: {selectors: [{cel: {expression: "device.driver == \"gpu.test\""}}]}}' |
    kubectl apply -f - > /dev/null

# aligned GPUS [EXPRESSION]: a NIC and so many GPUs below one root.
aligned() {
    jq -nc --argjson count "$1" --arg expression "${2:-true}" '{
        requests: [{name: "gpu", exactly: {deviceClassName: "gpu.test", count: $count, selectors: [{cel: {expression: $expression}}]}},
                   {name: "nic", exactly: {deviceClassName: "hostdev"}}],
        constraints: [{requests: ["gpu", "nic"], matchAttribute: "resource.kubernetes.io/pcieRoot"}]}'
}
# roots_of POD: the roots of the devices of its claims.
roots_of() {
    local one device
    while read -r one device; do
        kubectl get resourceslices -o json | jq -r --arg driver "$one" --arg device "$device" '.items[].spec | select(.driver == $driver).devices[] |
            select(.name == $device).attributes["resource.kubernetes.io/pcieRoot"].string'
    done < <(results_of "$1") | sort -u
}
# below_one_root POD: its claim has a GPU and a NIC, both below the one root.
below_one_root() {
    check "$1 has a claim with a GPU and a NIC" eventually is 2 how_many_of "$1"
    check 'both below one root' is 1 bash -c 'wc -l <<< "$1"' - "$(roots_of "$1")"
}
nothing_fits='FailedScheduling.*cannot allocate all claims'
explained_here='^kubelet\.log: .*(Error syncing pod|[Pp]repare.*[Rr]esources)'
template aligned "$(aligned 1)"
template impossible "$(aligned 1 'device.attributes["gpu.test"].model == "alone"')"
template two-gpus "$(aligned 2)"

section 'allocated'
for ((i = 1; i <= PFS; i++)); do
    pod_with_claim "g$i" hostdev resourceClaimTemplateName=aligned
    below_one_root "g$i"
done
check 'each of them below another' is $PFS bash -c 'sort -u <<< "$1" | wc -l' - "$(for ((i = 1; i <= PFS; i++)); do roots_of "g$i"; done)"
pod_with_claim waits hostdev resourceClaimTemplateName=aligned
check 'NICs are free, but no GPU beside one: the next waits, with a reason' eventually has "$nothing_fits" events waits
pod_with_claim alone hostdev resourceClaimTemplateName=impossible
check 'a GPU that no NIC is beside: Pending, with a reason' eventually has "$nothing_fits" events alone
pod_with_claim both hostdev resourceClaimTemplateName=two-gpus
check 'two GPUs where there is one: Pending, with a reason' eventually has "$nothing_fits" events both
events both
for name in waits alone both; do
    check "$name has no device" is '' results_of $name
    check 'and is pending' is Pending phase $name
done

section 'the driver of the GPU is not there'
check 'kubelet says so' eventually has 'FailedPrepareDynamicResources.*gpu.test' events g1
kubectl delete pod g1 --wait=false > /dev/null
check 'the pod can be deleted' eventually gone g1
below_one_root waits

section 'it refuses'
on_node ': > /run/gpu-driver.refuses; service_start gpu-driver /node/gpu-driver'
check 'kubelet says so' eventually has 'FailedPrepareDynamicResources.*the GPU is not ready' events waits
kubectl delete pod waits --wait=false > /dev/null
check 'the pod can be deleted, though its NIC may have been prepared' eventually gone waits
check 'its NIC is free' eventually is $((PFS - 1)) how_many_allocated

section 'it is there'
on_node 'rm /run/gpu-driver.refuses'
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -o name
for ((i = 1; i <= PFS; i++)); do
    pod_with_claim "r$i" hostdev resourceClaimTemplateName=aligned
    works "r$i"
    below_one_root "r$i"
done
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
kubectl delete pods -l app=test --wait=false > /dev/null
check 'the pods end' eventually is '' kubectl get pods -o name
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
ends_without_pods=yes
on_node 'service_stop gpu-driver; rm -rf /var/lib/kubelet/plugins/gpu.test /var/lib/kubelet/plugins_registry/gpu.test-reg.sock'
kubectl delete resourceclaimtemplates --all > /dev/null
kubectl delete resourceslices gpus --ignore-not-found > /dev/null
kubectl delete deviceclasses gpu.test > /dev/null
check 'vfrail is installed without DRA' installed
check 'it serves the devices' eventually is $DEVICES allocatable
check 'the node has the Multus that it had' multus_is release
