# A HostDeviceNetwork without network-operator: made, changed, put back, moved, refused, left to the operator, deleted.
#
# By vfrail-kube controller, in the end two replicas of it; the API server is restarted and away for a minute, or API_AWAY seconds, in each phase.
. "$here/controller.sh"
explained_here=$without_server
network=hostdevice-net
range() { echo '{"type": "whereabouts", "range": "192.168.'"$1"'.0/24"}'; }
# all_seen: what was there before has been seen by now, for a network that comes later and behind it in order is made. Shows
# that something was left as it is.
all_seen() {
    local later
    later=z-later-$(date +%s)
    host_device_network "$later" default "$(range 109)"
    eventually definition "$later" && kubectl delete hostdevicenetwork "$later"
}

section 'made'
check 'vfrail is installed with the controller' controller_installed
replica first
check 'a replica has the lease' eventually is first holder
kubectl apply -f manifests/host-device-network.yaml > /dev/null
check 'the network is made' eventually has '"type":"vfrail".*"range": *"192.168.101.0/24"' definition $network
check 'the object is ready' eventually is ready state $network
check 'without a reason' is '' reason $network
check 'and names it' is "k8s.cni.cncf.io/v1/namespaces/default/NetworkAttachmentDefinition/$network" \
    kubectl get hostdevicenetwork $network -o 'jsonpath={.status.hostDeviceNetworkAttachmentDef}'
check 'an event says so' eventually has 'Normal *NetworkCreated' events $network
pod one $network 1
check 'a pod with a device on it runs' eventually running one
check 'net1 has an address of the range' has 'inet 192\.168\.101\.' in_pod one ip address show net1
check 'its RDMA device is active' has PORT_ACTIVE in_pod one ibv_devinfo

section 'changed'
host_device_network $network default "$(range 102)"
check 'another range: the network is changed' eventually has '"range": "192.168.102.0/24"' definition $network
edit_definition $network '{"cniVersion": "1.0.0", "name": "by-hand", "type": "bridge"}'
check 'edited by hand: it is put back' eventually has '"type":"vfrail".*"range": "192.168.102.0/24"' definition $network
check 'an event says in what it differed' eventually has 'Normal *NetworkChanged .*differed from this object in spec.config' events $network
kubectl delete network-attachment-definitions $network > /dev/null
check 'deleted by hand: it is made again' eventually definition $network
away 0
host_device_network $network default "$(range 103)"
check 'the network is changed' eventually has '"range": "192.168.103.0/24"' definition $network
away "${API_AWAY:-60}"
host_device_network $network default "$(range 104)"
check 'the network is changed' eventually has '"range": "192.168.104.0/24"' definition $network
pod two $network 1
check 'a pod on it runs' eventually running two
check 'net1 has an address of the new range' has 'inet 192\.168\.104\.' in_pod two ip address show net1

section 'ipam that is not JSON'
host_device_network $network default $'{\n  "type": "whereabouts",\n  "range": 192.168.105.0/24\n}'
check 'the state is error' eventually is error state $network
check 'the reason names line and column' has 'spec.ipam.*line 3, column ' reason $network
check 'the network stays as it was' has '"range": "192.168.104.0/24"' definition $network
check 'an event says why' eventually has 'Warning *InvalidSpec .*line 3' events $network
away 0
away "${API_AWAY:-60}"
check 'it is still an error' is error state $network
host_device_network $network default "$(range 105)"
check 'corrected: the network is changed' eventually has '"range": "192.168.105.0/24"' definition $network
check 'the object is ready' eventually is ready state $network
check 'without a reason' is '' reason $network

section 'moved'
kubectl create namespace team > /dev/null
host_device_network $network team "$(range 105)"
check 'the network is in the other namespace' eventually has '"range": "192.168.105.0/24"' definition $network team
check 'and no longer in the first' eventually no_definition $network
host_device_network $network later "$(range 106)"
check 'a namespace that is missing: not ready' eventually is notReady state $network
check 'the reason names it' has 'the namespace later .* does not exist' reason $network
check 'the old network stays' has '"range": "192.168.105.0/24"' definition $network team
away 0
away "${API_AWAY:-60}"
kubectl create namespace later > /dev/null
check 'the namespace is created: the network is in it' eventually has '"range": "192.168.106.0/24"' definition $network later
check 'the object is ready' eventually is ready state $network
check 'the old network is gone' eventually no_definition $network team
host_device_network $network default "$(range 106)"
check 'back in the first' eventually definition $network
kubectl delete namespace team later > /dev/null

section 'of network-operator'
kubectl label network-attachment-definitions $network nvidia.network-operator.state=state-Host-Device-Network > /dev/null
edit_definition $network '{"cniVersion": "1.0.0", "name": "of-operator", "type": "host-device"}'
check 'an event says that it is left alone' eventually has 'Normal *ManagedByOperator' events $network
host_device_network $network default "$(range 107)"
check 'a later network is made' all_seen
check 'it is left alone' has '"name": "of-operator"' definition $network
away 0
check 'another is made' all_seen
check 'it is left alone' has '"name": "of-operator"' definition $network
kubectl label network-attachment-definitions $network nvidia.network-operator.state- > /dev/null
check 'without the label it is ours again' eventually has '"type":"vfrail".*"range": "192.168.107.0/24"' definition $network

section 'two replicas'
replica second
check 'the second waits' eventually has 'another replica acts' cat "$logs/second.log"
check 'for the first' is first holder
killed first
began=$SECONDS
host_device_network $network default "$(range 108)"
check 'the first is killed: the second changes the network' eventually has '"range": "192.168.108.0/24"' definition $network
echo "     $((SECONDS - began)) s after"
check 'it has the lease' is second holder
replica first
check 'the first waits' eventually has 'another replica acts' tail -n 3 "$logs/first.log"
away 0
away "${API_AWAY:-60}"
host_device_network $network default "$(range 101)"
check 'the network is changed' eventually has '"range": "192.168.101.0/24"' definition $network
both=$(printf '%s\n' first second) other=$(grep -vx "$(holder)" <<< "$both")
check 'one of the two has the lease' has "^$(holder)$" echo "$both"
stop "$(holder)"
began=$SECONDS
check 'it is asked to end: the other has the lease' eventually is "$other" holder
echo "     $((SECONDS - began)) s after"
host_device_network $network default "$(range 102)"
check 'and changes the network' eventually has '"range": "192.168.102.0/24"' definition $network

section 'deleted'
check 'the replica is the process that it was' runs "$other"
away "${API_AWAY:-60}"
kubectl delete hostdevicenetwork $network > /dev/null
check 'the network is gone with its object' eventually no_definition $network
check 'a later network is made' all_seen
check 'it does not come back' no_definition $network
check 'the pods run' is 2 how_many_run
away 0
check 'a later network is made' all_seen
stop first second
check 'no token is in a log' refused grep -qF "$(sed -nE 's/.*token: "(.*)".*/\1/p' "$work/controller.conf")" "$logs/first.log" "$logs/second.log"

section 'removed'
check 'vfrail without the controller' installed
check 'the rights are gone' refused kubectl get clusterrole vfrail-controller
check 'the CRDs stay' kubectl delete crd {hostdevicenetworks,macvlannetworks,ipoibnetworks}.mellanox.com
