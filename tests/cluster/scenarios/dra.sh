# Devices by DRA: seed 003's pod as it is, claims by template, two devices, claims by name, restarts, an older Multus.
. "$here/dra.sh"
dra_can_run || return
list_never_below 0          # the device plugin's list is empty as long as DRA has the devices
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null

section 'by the device plugin'
pod one hostdev 1
works one
by_plugin=$(variables one)
kubectl delete pod one --wait=false > /dev/null
check 'it ends' eventually gone one
check 'its device is back' eventually at_baseline

section 'published'
check 'the node has a Multus that resolves claims' multus_is claims
check 'vfrail is installed with DRA' dra_installed
check 'the device plugin has none any more' eventually no_plugin
check 'every device is in a slice' eventually is $DEVICES published
check 'the slices are those of the node, which owns them' is "Node/$NODE" bash -c 'sort -u <<< "$1"' - \
    "$(kubectl get resourceslices --field-selector spec.driver=$driver -o 'jsonpath={range .items[*]}{.metadata.ownerReferences[0].kind}/{.metadata.ownerReferences[0].name}{"\n"}{end}')"
check 'devices are named by their PCI functions' is '' bash -c 'grep -vxE "0000-[0-9a-f]{2}-[0-9a-f]{2}-[0-7]" <<< "$1"; true' - "$(devices .name)"
for name in kind pool pfName pfPciBusID vfIndex vendor product driver linkType rdma resource.kubernetes.io/pciBusID resource.kubernetes.io/pcieRoot; do
    check "each has the attribute $name" lacks '^none$' attribute $name
done
check 'Multus finds them by the resource' is $RESOURCE bash -c 'sort -u <<< "$1"' - "$(attribute k8s.cni.cncf.io/resourceName)"
check 'and by the PCI function' is "$(attribute resource.kubernetes.io/pciBusID)" attribute k8s.cni.cncf.io/deviceID

section 'rights'
check 'the plugin has no token' refused on_node 'ls /proc/$(pid_of /usr/bin/vfrail)/root/var/run/secrets/kubernetes.io/serviceaccount/token'
check 'the other container has one' on_node 'ls /proc/$(pid_of /usr/bin/vfrail-kube)/root/var/run/secrets/kubernetes.io/serviceaccount/token'
check 'and no capability' has 'CapEff:.0000000000000000' on_node 'cat /proc/$(pid_of /usr/bin/vfrail-kube)/status'
of_no_pod=$(agent_token) of_pod=$(agent_token "$(kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[0].metadata.name}')")
tried() { slice "$2" "$3" | as_agent "$1" kubectl create --dry-run=server -f -; }
check 'its account may write slices of its node' tried "$of_pod" $driver "$NODE"
check 'of no other node' refused_with 'may write the ResourceSlices of that node only' tried "$of_pod" $driver elsewhere
check 'of no other driver' refused_with "of the driver $driver only" tried "$of_pod" gpu.test "$NODE"
check 'and none by a token of no pod' refused_with 'the token is of no pod on a node' tried "$of_no_pod" $driver "$NODE"

if extended; then
    section 'a pod as it is'
else
    section 'a pod as it is, to which this Kubernetes gives nothing, and the same by a template'
    pod asks hostdev 1
    check 'it waits, and the scheduler says for what' eventually has "FailedScheduling.*Insufficient $RESOURCE" events asks
    kubectl delete pod asks --wait=false > /dev/null
    check 'it ends' eventually gone asks
fi
asks one hostdev 1
works one
check 'by a claim that the scheduler has made' has "^$driver 0000-" results_of one
check 'it has the variables of a device of the plugin' is "$by_plugin" variables one
check 'the variable names the device of the claim' is "$(results_of one | sed -E "s/^$driver ([0-9a-f]+)-([0-9a-f]+)-([0-9a-f]+)-/\1:\2:\3./")" \
    bash -c 'sed -n "s/^PCIDEVICE_NVIDIA_COM_HOSTDEV=//p" <<< "$1"' - "$(in_pod one env)"
[ "$RDMA" = shared ] || check 'it sees no other RDMA device' is 1 in_pod one bash -c 'rdma link | wc -l'
check 'it sees its own RDMA nodes and no others' each_sees_its_own one
asks two hostdev,hostdev 2
works two net1 net2
check 'one variable names both devices' is 2 bash -c 'sed -n "s/^PCIDEVICE_NVIDIA_COM_HOSTDEV=//p" <<< "$1" | tr , "\n" | sort -u | wc -l' - "$(in_pod two env)"

section 'claims by template'
template one-nic "$(nics 1)"
template two-nics "$(nics 2)"
pod_with_claim three hostdev resourceClaimTemplateName=one-nic
works three
check 'it has the variables of a device of the plugin' is "$by_plugin" variables three
metadata() { in_pod three head -n 1 /var/run/kubernetes.io/dra-device-attributes/resourceclaimtemplates/nic/nic/$driver-metadata.json; }
check 'and finds its device in its metadata' is "$(results_of three | cut -d' ' -f2)" jq -r '.requests[0].devices[0].name' <(metadata)
check 'with the attributes of its slice' has '"resource.kubernetes.io/pciBusID":{"string":"0000:' metadata
check 'and with the interface and the address that it has' is "net1 $(network_status three | jq -r '.[] | select(.interface == "net1").ips[0]')" \
    jq -r '.requests[0].devices[0].networkData | "\(.interfaceName) \(.ips[0] | split("/")[0])"' <(metadata)
pod_with_claim four hostdev,hostdev resourceClaimTemplateName=two-nics
works four net1 net2
check 'one variable names both devices' is 2 bash -c 'sed -n "s/^PCIDEVICE_NVIDIA_COM_HOSTDEV=//p" <<< "$1" | tr , "\n" | sort -u | wc -l' - "$(in_pod four env)"
check 'six devices are in use, each once' is 6 bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'they are those of the claims' is "$(allocated | sort)" bash -c 'tr :. - <<< "$1" | sort' - "$(in_use)"
check 'each container sees its own RDMA nodes and no others' each_sees_its_own


# reserve: as vfrail's account, for a pod that there is not.
reserve() {
    jq -n --arg name "$(claims_of three)" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: {name: $name},
        status: {reservedFor: [{resource: "pods", name: "other", uid: "00000000-0000-0000-0000-000000000000"}]}}' |
        as_agent "$of_pod" kubectl apply --server-side --subresource status --field-manager tried -f -
}
check 'of a claim its account may not change whom it is reserved for' refused_with 'resourceclaims/binding\|neither their allocation' reserve

section 'a claim that the pod names'
# Multus does not find it, so a pod that has begun would be without its device.
explained_here='^kubelet\.log: .*(Error syncing pod|[Pp]repare.*[Rr]esources)|/vfrail/[0-9]+\.log: .* claim is not prepared claim=default/mine '
# The API server's connections are cut with the node's way to it, which ends with kubelet.
explained_here+='|/kube/[0-9]+\.log: .* devices are not published reason=.* end of stream'
jq -n --argjson devices "$(nics 1)" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: {name: "mine"}, spec: {devices: $devices}}' |
    kubectl apply -f - > /dev/null
pod_with_claim five hostdev resourceClaimName=mine
check 'is refused, and an event says what to do' eventually has 'FailedPrepareDynamicResources.*ResourceClaimTemplate' events five
events five
kubectl delete pod five --wait=false > /dev/null
check 'the pod can be deleted' eventually gone five
kubectl delete resourceclaim mine --wait=false > /dev/null
check 'and the claim' eventually is '' kubectl get resourceclaim mine --ignore-not-found -o name

section 'kubelet'
had() { local name; for name in one two three four; do in_pod $name ip -brief address show; in_pod $name env | grep ^PCIDEVICE_ | sort; done; }
before_restarts=$(had)
on_node 'service_restart kubelet'
# It deletes the slices of the node when it begins.
check 'the slices are there again' eventually is $DEVICES in_slices
check 'the pods run' is 4 how_many_run
check 'with what they had' eventually is "$before_restarts" had
asks six hostdev 1
works six
check 'with a device that no other has' is 7 bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'each container sees its own RDMA nodes and no others' each_sees_its_own

section 'vfrail'
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
check 'the pods run' is 5 how_many_run
check 'with what they had' eventually is "$before_restarts" had
asks seven hostdev 1
works seven
check 'with a device that no other has' is 8 bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
check 'the slices have every device' eventually is $DEVICES in_slices
asks eight hostdev 1
check 'for one more there is no device, and the scheduler says so' eventually has "FailedScheduling.*\(cannot allocate all claims\|Insufficient $RESOURCE\)" events eight
kubectl delete pod six --wait=false > /dev/null
works eight

section 'ended'
kubectl delete pods -l app=test --wait=false > /dev/null
check 'no pod is left' eventually is '' kubectl get pods -o name
check 'no device is allocated' eventually is '' allocated
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'every device is in the host, as it was before' eventually at_baseline
check 'and can be had again' eventually is $DEVICES published
check 'no record and no spec of a claim is left' eventually is '' prepared

section 'an unhealthy device'
explained_here+='|^pods/kube-system_vfrail-.* warning (devices are unhealthy|not published) '
jq '.resourceList[0].health = {"carrier": true}' examples/configs/igb-lab.json > "$work/carrier.json"
config=$work/carrier.json
check 'the carrier of the PF is watched' dra_installed
check 'every device can be had' eventually is $DEVICES published
on_node 'cable pf0 out' > /dev/null
check 'a claim gets none below a port without a carrier' eventually is $((DEVICES - VFS)) published
if extended; then
    check 'they have a taint with the reason' is "$VFS vfrail.io/unhealthy:no_carrier" \
        bash -c 'sort <<< "$1" | uniq -c | xargs' - "$(devices '.taints[]? | "\(.key):\(.value)"')"
else
    check 'they are in no slice, because this API server keeps no taints' is $((DEVICES - VFS)) in_slices
    check 'vfrail says so' has 'DRADeviceTaints' kubectl -n kube-system logs daemonset/vfrail -c kube
fi
for ((i = 0; i < DEVICES - VFS + 1; i++)); do asks "h$i" hostdev 1; done
check 'a pod for each healthy device runs' eventually is $((DEVICES - VFS)) how_many_run
check 'none has an unhealthy one' lacks '0000:21' in_use
on_node 'cable pf0 in' > /dev/null
check 'the pod that has waited runs' eventually is $((DEVICES - VFS + 1)) how_many_run
kubectl delete pods -l app=test --wait=false > /dev/null
check 'no pod is left' eventually is '' kubectl get pods -o name
config=examples/configs/igb-lab.json
check 'the configuration is as before' dra_installed
check 'every device can be had' eventually is $DEVICES published

section 'an older Multus'
explained_here+='|^(kubelet|multus)\.log: .*(deviceID|resolve)'
check 'the node has a Multus that does not resolve claims' multus_is release
asks one hostdev 1
check 'a pod does not begin, and an event says why' eventually has 'FailedCreatePodSandBox.*Multus' events one
events one
check 'with a Multus that does' multus_is claims
works one
kubectl delete resourceclaimtemplates --all > /dev/null
kubectl delete pods -l app=test --wait=false > /dev/null
check 'it ends' eventually is '' kubectl get pods -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
ends_without_pods=yes

section 'the device plugin again'
check 'vfrail is installed without DRA' installed
check 'it serves the devices' eventually is $DEVICES allocatable
check 'no slice has a device' eventually is 0 published
check 'its rights are gone' refused kubectl get clusterrole vfrail-dra
check 'the node has the Multus that it had' multus_is release
