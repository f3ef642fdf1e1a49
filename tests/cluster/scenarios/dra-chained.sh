# Claims without Multus: an entry with "claims" in the list of the node's primary network attaches their devices. Pods by template, by a
# claim's name, of an extended resource; without the entry a container is stopped; and back.
. "$here/dra.sh"
dra_can_run || return
list_never_below 0
# What CDI's hook stops, kubelet calls an error.
explained_here='^kubelet.log: E.*(vfrail hook claim|has not got the devices|createContainer|CrashLoopBackOff|RunContainerError|StartContainer)'

entry='{"type": "vfrail", "claims": true, "ipam": {"type": "whereabouts", "range": "192.168.100.0/24"}}'
list=/etc/cni/net.d/00-pods.conflist
# write_list JQ FROM: the list of the node's primary network, which containerd reads again at each change.
write_list() { on_node "jq '$1' $2 > /etc/cni/net.d/.list.new && mv /etc/cni/net.d/.list.new $list"; }
on_node 'cp /etc/cni/net.d/00-multus.conf /node/multus.conf'

section 'published'
check 'vfrail is installed with DRA and the entry in mind' dra_installed --set dra.chained=true
check 'every device is in a slice' eventually is $DEVICES published
check 'the list of the primary network has the entry' write_list ".delegates[0] | .plugins += [$entry]" /node/multus.conf
check 'and nothing of Multus' on_node 'rm /etc/cni/net.d/00-multus.conf'
template one-nic "$(nics 1)"
template two-nics "$(nics 2)"

section 'pods'
# pod_of SOURCE NAME: a pod with a claim and without a network of Multus.
pod_of() { pod_with_claim "$2" '' "$1"; }
pod plain '' 0
check 'a pod without claims runs' eventually running plain
check '  with eth0 alone' lacks net1 in_pod plain ip -o link
pod_of resourceClaimTemplateName=one-nic one
works one
pod_of resourceClaimTemplateName=two-nics two
works two net1 net2
jq -n --argjson devices "$(nics 1)" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: {name: "mine", labels: {app: "test"}}, spec: {devices: $devices}}' |
    kubectl apply -f - > /dev/null
pod_of resourceClaimName=mine named
works named
asks ext '' 1
works ext
check 'five devices are allocated' eventually is 5 how_many_allocated
check 'they reach each other' in_pod one ping -c 3 -W 5 "$(in_pod two ip -o -4 address show net1 | sed -E 's|.* inet ([0-9.]+)/.*|\1|')"

section 'a second pod of the same claim'
pod_of resourceClaimName=mine second
check 'it does not run' eventually has 'is in another pod\|of another pod\|VF-\|in use' events second
kubectl delete pod second --wait=false > /dev/null
check 'it can be deleted' eventually gone second
check 'the first has its device' has 'inet 192\.168\.100\.' in_pod named ip address show net1

section 'vfrail and kubelet restart'
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
on_node 'service_stop kubelet KILL; service_start kubelet'
pod_of resourceClaimTemplateName=one-nic later
works later
for name in one two named ext; do check "$name still has net1" has 'inet 192\.168\.100\.' in_pod $name ip address show net1; done

section 'pods end'
kubectl delete pods -l app=test --wait=false > /dev/null
check 'all end' eventually is '' kubectl get pods -o name
kubectl delete resourceclaims -l app=test > /dev/null
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
check 'the devices are in the host, as they were' eventually at_baseline

section 'without the entry'
check 'the list loses it' write_list '.plugins |= map(select(.type != "vfrail"))' $list
pod_of resourceClaimTemplateName=one-nic lost
check 'the container does not start, and the event says why' eventually has 'hook claim\|has not got' events lost
kubectl delete pod lost --wait=false > /dev/null
check 'it can be deleted' eventually gone lost

section 'as before'
ends_without_pods=yes
check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
check 'no record and no spec of a claim is left' eventually is '' prepared
check 'the node has its Multus again' on_node 'cp /node/multus.conf /etc/cni/net.d/00-multus.conf && rm '$list
check 'vfrail is installed without DRA' installed
check 'the plugin has every device' eventually is $DEVICES allocatable
