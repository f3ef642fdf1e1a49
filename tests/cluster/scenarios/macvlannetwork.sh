# A MacvlanNetwork and an IPoIBNetwork without network-operator: made, changed, put back, moved, refused, left to the operator, deleted.
#
# What is made is shown, and not that pods are on it: the node has neither the CNI plugin macvlan nor ipoib.
. "$here/controller.sh"
explained_here=$without_server ends_without_pods=yes   # none begins
check 'vfrail is installed with the controller' controller_installed
replica first
check 'a replica has the lease' eventually is first holder
# macvlan MODE [NAMESPACE]: the MacvlanNetwork "flat".
macvlan() {
    other_network MacvlanNetwork flat "$(jq -n --arg mode "$1" --arg namespace "${2:-}" '{master: "eth1", mode: $mode, mtu: 1500,
        ipam: "{\"type\": \"static\"}"} + if $namespace == "" then {} else {networkNamespace: $namespace} end')"
}
# stored MODE: its definition as network-operator stores it.
stored() { printf '{ "cniVersion":"0.3.1", "name":"flat", "type":"macvlan","master": "eth1","mode" : "%s","mtu" : 1500,"ipam":{"type":"static"} } ' "$1"; }

section 'made, changed, put back'
macvlan bridge
other_network IPoIBNetwork ib '{"master": "ib0"}'
check 'the MacvlanNetwork is ready' eventually is ready state flat macvlannetwork
check "its network is network-operator's" is "$(stored bridge)" definition flat
check 'and belongs to it' is 'MacvlanNetwork flat' kubectl get network-attachment-definitions flat -o 'jsonpath={.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name}'
check 'the object names it' is k8s.cni.cncf.io/v1/namespaces/default/NetworkAttachmentDefinition/flat \
    kubectl get macvlannetwork flat -o 'jsonpath={.status.macvlanNetworkAttachmentDef}'
check 'an event says so' eventually has 'Normal *NetworkCreated' events flat
check 'the IPoIBNetwork is ready' eventually is ready state ib ipoibnetwork
check "its network is network-operator's" is '{ "cniVersion":"0.3.1", "name":"ib", "type":"ipoib", "master": "ib0", "ipam":{} }' definition ib
macvlan private
check 'another mode: the network is changed' eventually is "$(stored private)" definition flat
edit_definition flat '{"cniVersion": "1.0.0", "name": "by-hand", "type": "bridge"}'
check 'edited by hand: it is put back' eventually is "$(stored private)" definition flat
away 0
macvlan vepa
check 'after a restart of the API server: the network is changed' eventually is "$(stored vepa)" definition flat

section 'refused, moved'
other_network MacvlanNetwork flat '{"master": "eth1", "ipam": "{\"type\": static}"}'
check 'ipam that is not JSON: the state is error' eventually is error state flat macvlannetwork
check 'the reason names line and column' has 'spec.ipam: line 1, column 10' reason flat macvlannetwork
check 'the network stays as it was' is "$(stored vepa)" definition flat
kubectl create namespace team > /dev/null
macvlan bridge team
check 'the network is in the other namespace' eventually is "$(stored bridge)" definition flat team
check 'and no longer in the first' eventually no_definition flat
host_device_network flat team '{"type": "static"}'
check 'a HostDeviceNetwork of its name: not ready' eventually is notReady state flat
check 'the reason names the first' has 'belongs to MacvlanNetwork flat: remove it' reason flat
kubectl delete macvlannetwork flat > /dev/null
check 'without the first it is made' eventually has '"type":"vfrail"' definition flat team
check 'and ready' eventually is ready state flat
kubectl delete hostdevicenetwork flat > /dev/null
check 'deleted: its network is gone' eventually no_definition flat team
kubectl delete namespace team > /dev/null

section 'of network-operator'
macvlan bridge
check 'the network is made again' eventually is "$(stored bridge)" definition flat
# of_operator STATE: writes the status as the operator does, whole, and without a reason.
of_operator() {
    kubectl get macvlannetwork flat -o json | jq --arg state "$1" '.status = {state: $state}' |
        kubectl replace --subresource=status --field-manager=manager -f - > /dev/null
}
check 'it writes the status' of_operator notReady
other_network IPoIBNetwork ib '{"master": "ib1"}'
check 'another network is changed' eventually has '"master": "ib1"' definition ib
check 'the status is left alone' is notReady state flat macvlannetwork
check 'for two minutes, and then ours again' eventually is ready state flat macvlannetwork
kubectl label network-attachment-definitions flat nvidia.network-operator.state=state-Macvlan-Network > /dev/null
check 'an event says that its definition is left alone' eventually has 'Normal *ManagedByOperator' events flat
macvlan private
other_network IPoIBNetwork ib '{"master": "ib0"}'
check 'another network is changed' eventually has '"master": "ib0"' definition ib
check 'it is left alone' is "$(stored bridge)" definition flat
kubectl label network-attachment-definitions flat nvidia.network-operator.state- > /dev/null
check 'without the label it is ours again' eventually is "$(stored private)" definition flat

section 'deleted'
kubectl delete macvlannetworks,ipoibnetworks --all > /dev/null
for name in flat ib; do check "$name: the network is gone with its object" eventually no_definition $name; done
kubectl delete crd macvlannetworks.mellanox.com > /dev/null
host_device_network other default '{"type": "static"}'
check 'a kind is not installed: the others are served' eventually is ready state other
check 'the log says so' eventually has 'not served: its CustomResourceDefinition is not installed objects=macvlannetworks' cat "$logs/first.log"
kubectl delete hostdevicenetwork other > /dev/null
check 'its network is gone' eventually no_definition other
stop first
check 'vfrail without the controller' installed
kubectl delete crd {hostdevicenetworks,ipoibnetworks}.mellanox.com > /dev/null
