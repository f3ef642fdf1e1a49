# Trial: objects accepted, policies, way to the API server, the second Multus with the device plugin.
. "$here/dra.sh"
list_never_below 0
explained_here='.'
. "$here/controller.sh"
section multus
check 'second multus' multus_is claims
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'runs' eventually running one
check 'net1' has 'inet 192\.168\.100\.' in_pod one ip address show net1
check 'sees own' each_sees_its_own
kubectl delete pod one --wait=false
check gone eventually gone one
section 'controller as a pod'
check 'controller' installed --set controller.enabled=true
check 'has the lease' eventually has 'vfrail-controller' kubectl -n kube-system get lease vfrail-controller -o 'jsonpath={.spec.holderIdentity}'
kubectl -n kube-system logs deployment/vfrail-controller | tail -5
check 'without' installed
section 'objects'
helm upgrade vfrail manifests/chart --install --namespace kube-system --set-file "config=$config" --set dra.enabled=true --set-json "dra.deviceClasses=[{\"name\":\"hostdev\",\"resource\":\"$RESOURCE\"}]" | tail -30
eventually has 'kube' kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[*].spec.containers[*].name}'
kubectl get deviceclass hostdev -o yaml | head -40
kubectl get validatingadmissionpolicy -o json | jq -c '.items[] | .metadata.name, .status'
podname=$(kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[-1:].metadata.name}')
of_no_pod=$(agent_token) of_pod=$(agent_token "$podname")
tried() { slice "$2" "$3" | as_agent "$1" kubectl create --dry-run=server -f -; }
check 'its account may write slices of its node' eventually tried "$of_pod" $driver "$NODE"
check 'of no other node' refused_with 'may write the ResourceSlices of that node only' tried "$of_pod" $driver elsewhere
check 'of no other driver' refused_with "of the driver $driver only" tried "$of_pod" gpu.test "$NODE"
check 'and none by a token of no pod' refused_with 'the token is of no pod on a node' tried "$of_no_pod" $driver "$NODE"
tried "$of_pod" $driver elsewhere
section 'scheduling with slices by hand'
jq -n --arg driver $driver --arg node "$NODE" --arg resource $RESOURCE '{apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: {name: "by-hand"}, spec: {driver: $driver, nodeName: $node,
  pool: {name: $node, generation: 1, resourceSliceCount: 1}, devices: [range(0;4) as $i | {name: "0000-21-10-\($i)", attributes: {pool: {string: $resource}, rdma: {bool: true}, "resource.kubernetes.io/pcieRoot": {string: "pci0000:\(20 + ($i % 2))"}, "k8s.cni.cncf.io/deviceID": {string: "0000:21:10.\($i)"},
  "k8s.cni.cncf.io/resourceName": {string: $resource}}}]}}' | as_agent "$of_pod" kubectl create -f -
devices .name; attribute rdma; attribute none; published
kubectl get validatingadmissionpolicy -o json | jq -c '.items[] | .metadata.name, .status'
template one-nic "$(nics 1)"
pod_with_claim three hostdev resourceClaimTemplateName=one-nic
check 'three has a device' eventually is 1 how_many_of three
kubectl get resourceclaims -o yaml | head -60
claim=$(claims_of three)
# status of devices by the agent
jq -n --arg n "$claim" --arg d "$(results_of three | cut -d' ' -f2)" --arg node "$NODE" --arg driver $driver '{apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", metadata: {name: $n}, status: {devices: [{driver: $driver, pool: $node, device: $d, networkData: {interfaceName: "net1", ips: ["192.168.100.4/24"]}}]}}' > "$work/status.json"
check 'status by apply' as_agent "$of_pod" kubectl apply --server-side --subresource status --field-manager vfrail.io-node -f "$work/status.json"
jq '.status.allocation = null | .status.reservedFor = []' "$work/status.json" > "$work/bad.json"
bad() { as_agent "$of_pod" kubectl patch resourceclaim "$claim" --subresource status --type merge -p '{"status":{"reservedFor":null}}'; }
check 'reservedFor refused' refused bad
bad
bad2() { as_agent "$of_pod" kubectl patch resourceclaim "$claim" --subresource status --type merge -p '{"status":{"allocation":null,"devices":null}}'; }
check 'allocation refused' refused bad2
bad2
pod five hostdev 1
sleep 20
kubectl get node -o json | jq -c '.items[].status.allocatable'
events five
events three
kubectl delete pods --all --wait=false
kubectl delete resourceslice by-hand
kubectl delete resourceclaimtemplates --all
check 'again' installed
check 'allocatable' eventually is $DEVICES allocatable
check 'multus' multus_is release
