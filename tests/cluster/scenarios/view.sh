# The cluster in one view: nodes, devices, pods, networks and doctor with all rights, with few, and of a node that does not answer.
kube=build/release/bin/vfrail-kube
. "$here/pages.sh"
pages_reachable
. "$here/controller.sh"
explained_here="^pods/kube-system_vfrail-.* warning devices are unhealthy |$without_server"
# A pod of vfrail that ends meanwhile.
explained_here+='|^multus.log: .*error waiting for pod.*connection refused'
list_never_below $DEVICES

kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
jq '.resourceList[0].health = {"carrier": true}' examples/configs/igb-lab.json > "$work/carrier.json"
config=$work/carrier.json
check 'the carrier of the PF is watched' installed
pod one hostdev 1
check 'a pod with a device runs' eventually running one
pod two hostdev 2
check 'another with two runs' eventually running two
pod many hostdev $((DEVICES + 1))
check 'one wants more than there are' eventually has FailedScheduling events many
# view WORDS...: as wide as the answer is.
view() { "$kube" "$1" --output wide "${@:2}"; }

section 'with all rights'
check 'nodes: all devices, three in use' eventually has "^$NODE  *Ready  *$RESOURCE  *$DEVICES  *$DEVICES  *3  *$((DEVICES - 3))  *0 " view nodes
check 'nothing is missing' lacks 'not in this view' view nodes
check 'devices: each' is $DEVICES bash -c "'$kube' devices --no-headers | grep -c '^$NODE'"
address=$(network_status one | jq -r '.[] | select(.interface == "net1").ips[0]')
check 'and what they count, in two seconds' has 'RDMA RX  *RDMA TX  *NET RX  *NET TX' view devices --traffic
check "that of a pod with the pod's name and address" has "$RESOURCE  *allocated  *default/one  *$address " view devices
check 'pods: what each has' has "^default/two  *$NODE  *Running  *2 $RESOURCE  *0000:[^ ]*,0000:[^ ]* " view pods
check 'and why one waits' has '^default/many waits: .*Insufficient' view pods
check 'with what is free' has "$RESOURCE: $((DEVICES - 3)) of $DEVICES free" view pods
check 'networks: with the attachments' has "^default/hostdev  *vfrail  *$RESOURCE  *2  *whereabouts " view networks
check 'doctor checks the node' has '1 node checked' bash -c "'$kube' doctor; true"
for name in nodes devices pods networks; do
    check "$name: JSON" jq -e ".$name | length > 0" <("$kube" $name --output json)
    check "$name: YAML" has "^$name:" "$kube" $name --output yaml
done
check 'doctor: JSON' jq -e '.nodes_checked == 1' <("$kube" doctor --output json)
check 'of one resource' has "$RESOURCE" view nodes --resource "$RESOURCE"
check 'of one that nobody has' lacks "$RESOURCE" view nodes --resource nvidia.com/other

section 'an unhealthy device'
on_node 'cable pf0 out' > /dev/null
check 'half of the devices are not allocatable' eventually is "$VFS" allocatable
check 'nodes: as many, and why' eventually has "^$NODE .* $VFS  *0000:21:[^ ]*: .*carrier" view nodes
check 'devices: which' is "$VFS" bash -c "'$kube' devices --output wide | grep -c '0000:21:.*carrier'"
check 'pods: what waits for them' has '^ *nvidia.com/hostdev: .* unhealthy, 0000:21:.*carrier' view pods
on_node 'cable pf0 in' > /dev/null
check 'every device is allocatable again' eventually is $DEVICES allocatable
check 'nodes: none is unhealthy' eventually has "^$NODE .* $((DEVICES - 3))  *0 " view nodes

section 'who may list pods alone'
kubectl create serviceaccount reader > /dev/null
kubectl create clusterrole test-reader --verb list --resource pods > /dev/null
kubectl create clusterrolebinding test-reader --clusterrole test-reader --serviceaccount default:reader > /dev/null
kubeconfig "https://127.0.0.1:$API" "$(kubectl create token reader)" > "$work/reader.conf"
# as_reader WORDS...
as_reader() { view "$@" --kubeconfig "$work/reader.conf"; }
check 'nodes: no right to list them' has 'not in this view: nodes: no right to list them' as_reader nodes
check 'nor to ask them' has "not in this view: $NODE: no right to ask it, which takes get on pods/proxy" as_reader nodes
check 'pods: are shown' has '^default/one ' as_reader pods
check 'with what is not known' has "not in this view: resources: which are vfrail's is not known" as_reader pods
check 'networks: no right' has 'not in this view: network-attachment-definitions: no right to list them' as_reader networks
check 'as JSON: the gaps' has 'pods/proxy' jq -r '.gaps[].why' <(as_reader nodes --output json)
kubectl delete clusterrolebinding/test-reader clusterrole/test-reader serviceaccount/reader > /dev/null
check 'who has no right at all' refused as_reader pods

section 'the node does not answer'
vm=
for pid in $(< "/proc/${processes[node]}/task/${processes[node]}/children"); do     # of tests/lab/run
    [[ $(< "/proc/$pid/comm") != qemu* ]] || vm=$pid
done
check 'the VM stands still' kill -STOP "$vm"
check 'nodes: it is named, and what it is asked for is marked' has "^$NODE .* ?  " view nodes
check 'with the reason' has "not in this view: $NODE: no answer" view nodes
check 'pods: which run' has '^default/one ' view pods
check 'doctor: it is not among the nodes' has '0 nodes checked' bash -c "'$kube' doctor; true"
kill -CONT "$vm"
check 'it answers again' eventually lacks 'not in this view' view nodes

section 'vfrail does not answer'
check 'vfrail serves no pages' installed --set metrics.enabled=false
check 'nodes: why' eventually has "not in this view: $NODE: its vfrail serves no such page, with metrics.enabled=false" view nodes
config=examples/configs/igb-lab.json
check 'the configuration is as before' installed
kubectl delete pod many > /dev/null
pages_as_before
