# What an administrator must see stands at the Node as an Event: a resource without a healthy device, a fault of the configuration;
# without the right to write it vfrail says so, and works on.
list_never_below 0
explained_here='^pods/kube-system_vfrail-.* (warning (devices are unhealthy|.*configuration)|error a resource is not served, its entry)'
account=system:serviceaccount:kube-system:vfrail
# posted REASON: the type, count and text of the Events of the Node by vfrail.
posted() {
    kubectl get events.events.k8s.io -n default -o json | jq -r --arg node "$NODE" --arg reason "$1" '.items[] |
        select(.reportingController == "vfrail.io/node" and .regarding.name == $node and .reason == $reason) |
        "\(.type) \(.series.count // 1) \(.note)"'
}
jq '.resourceList[0].health = {"carrier": true}' examples/configs/igb-lab.json > "$work/carrier.json"
config=$work/carrier.json
check 'vfrail is installed with Events' installed --set events.enabled=true
check 'every device is allocatable' eventually is $DEVICES allocatable

section 'rights'
may() { kubectl auth can-i "$@" --as $account; }
check 'the account may create and count up Events in default' eval 'may create events.events.k8s.io -n default && may patch events.events.k8s.io -n default'
check 'and not read them' refused may list events.events.k8s.io -n default
check 'nor write them elsewhere' refused may create events.events.k8s.io -n kube-system
check 'nor read its Node' refused may get "nodes/$NODE"
check 'the plugin has no token' refused on_node 'ls /proc/$(pid_of /usr/bin/vfrail)/root/var/run/secrets/kubernetes.io/serviceaccount/token'

section 'a resource without a healthy device'
check 'there is no Event as long as all is well' is '' posted ResourceEmpty
for nic in pf0 pf1; do on_node "cable $nic out" > /dev/null; done
check 'no device is allocatable' eventually is 0 allocatable
check 'an Event of the Node says so' eventually has "^Warning 1 .*$RESOURCE" posted ResourceEmpty
check 'kubectl describe shows it' has 'ResourceEmpty .*vfrail' kubectl describe node "$NODE"
posted ResourceEmpty | sed 's/^/     /'
# What whoever has a node's token could do to the Event of another node (SECURITY.md); an administrator can do no more.
empty=$(kubectl get events.events.k8s.io -n default -o json | jq -r '.items[] | select(.reason == "ResourceEmpty").metadata.name')
patched() { kubectl patch events.events.k8s.io -n default "$empty" --type merge --patch "$1"; }
check 'its count can be changed' patched '{"series": {"count": 7, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}}'
check 'and not its text' refused_with 'message: .*immutable' patched '{"note": "all is well"}'
check 'nor of which Node it is' refused_with 'involvedObject: .*immutable' patched '{"regarding": {"kind": "Node", "name": "other"}}'
check 'nor its reason' refused_with 'reason: .*immutable' patched '{"reason": "AllIsWell"}'
for nic in pf0 pf1; do on_node "cable $nic in" > /dev/null; done
check 'every device is allocatable again' eventually is $DEVICES allocatable

section 'without the right'
jq '.resourceList += [{"resourceName": "Not A Name", "selectors": {"isRdma": true}}]' examples/configs/igb-lab.json > "$work/faulty.json"
config=$work/faulty.json
check 'a configuration with an entry that is not served' installed --set events.enabled=true
check 'an Event says so' eventually has '^Warning .*Not A Name' posted ConfigurationFaulty
kubectl get role -n default vfrail-events -o json | jq 'del(.metadata.resourceVersion, .metadata.uid)' > "$work/events-role.json"
kubectl delete role -n default vfrail-events > /dev/null
kubectl delete events.events.k8s.io -n default --all > /dev/null
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
# It does not become ready with a faulty entry, so that there is no end of the rollout to wait for.
check 'vfrail says what it may not' eventually has 'an event could not be written.*cannot create resource.*events' \
    kubectl -n kube-system logs daemonset/vfrail -c kube
check 'and serves the other resource' eventually is $DEVICES allocatable
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'a pod gets a device' eventually running one
check 'no Event is written' is '' posted ConfigurationFaulty
kubectl apply -f "$work/events-role.json" > /dev/null
check 'with the right again the Event is there' eventually has '^Warning .*Not A Name' posted ConfigurationFaulty

section 'without Events'
config=examples/configs/igb-lab.json
check 'vfrail is installed without' installed
check 'its right is gone' refused kubectl get role -n default vfrail-events
