# A thousand HostDeviceNetworks: how much memory the controller takes, and how long until each is ready.
. "$here/controller.sh"
ends_without_pods=yes               # none begins
check 'vfrail is installed with the controller' controller_installed
# say_resident WHEN: what the replica has of the memory.
say_resident() {
    awk -v when="$1" '/^VmRSS:/ { now = $2 } /^VmHWM:/ { most = $2 } END { print "     " when ": " now " kB resident, at most " most }' \
        "/proc/${processes[replica]}/status"
}
ready() { kubectl get hostdevicenetworks -o json | jq '[.items[] | select(.status.state == "ready")] | length'; }
replica replica
check 'a replica has the lease' eventually is replica holder
say_resident 'without a network'
jq -n '{apiVersion: "v1", kind: "List", items: [range(1000) | {apiVersion: "mellanox.com/v1alpha1", kind: "HostDeviceNetwork",
    metadata: {name: "rail-\(.)"}, spec: {networkNamespace: "default", resourceName: "hostdev", ipam: ({type: "whereabouts",
        datastore: "kubernetes", kubernetes: {kubeconfig: "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"},
        range: "10.\(. / 250 | floor).\(. % 250).0/24", log_file: "/var/log/whereabouts.log", log_level: "info"} | tojson)}}]}' > "$work/thousand.json"
began=$SECONDS
kubectl create -f "$work/thousand.json" > /dev/null
echo "     created in $((SECONDS - began)) s"
check 'each is ready' eventually is 1000 ready
echo "     ready after $((SECONDS - began)) s"
say_resident 'with all'
stop replica
replica replica
check 'it begins again, with all of them there' eventually is replica holder
sleep 10
say_resident 'begun again'
most() { awk '/^VmHWM:/ { exit $2 > 10240 }' "/proc/${processes[replica]}/status"; }
# The goal, which it misses (README).
check 'it takes no more than 10 MiB' most
kubectl delete hostdevicenetworks --all --wait=false > /dev/null
left() { kubectl get hostdevicenetworks,network-attachment-definitions -o name | wc -l; }
check 'all are deleted, with their networks' eventually is 0 left
stop replica
check 'vfrail without the controller' installed
kubectl delete crd {hostdevicenetworks,macvlannetworks,ipoibnetworks}.mellanox.com > /dev/null
