# One of two nodes loses power: the pod of the other keeps its device and its address, and the node comes back.
if [ "$NODES" != 2 ]; then
    skip 'a cluster of one node: --nodes 2'
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
address_of() { network_status "$1" | jq -r '.[] | select(.interface == "net1").ips[0]'; }
pod stays hostdev 1
of_node 2 pod goes hostdev 1
check 'a pod runs on each node' eventually is 2 how_many_run
has_of=$(in_pod stays ip -brief address show net1)
reaches() { in_pod stays busybox ping -c 3 -W 5 -I net1 "$(address_of "$1")"; }
check 'the one reaches the other' eventually reaches goes

# What scenarios/power.sh has for the same: no DEL of "goes", a stale socket.
explained_here='^pods/kube-system_vfrail-.* warning .* has the record of an attachment .*pod default/goes'
explained_here+='|^kubelet.log: .*RegisterPlugin error -- dial failed at socket'
explained_here+='|^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(the client connection is closing|use of closed network connection)'
of_node 2 on_node sync
of_node 2 node_power_off
check 'the pod of the other node has what it had' is "$has_of" in_pod stays ip -brief address show net1
check 'its RDMA device is active' has PORT_ACTIVE in_pod stays ibv_devinfo
pod meanwhile hostdev 1
check 'another pod of that node gets a device meanwhile' eventually running meanwhile
check 'and an address that is not that of the lost pod' is 3 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
kubectl delete pod goes --force --grace-period=0 > /dev/null 2>&1
# In this shell: in that of a check the node would be a process of nobody.
came=0 began=$SECONDS
of_node 2 node_up > "$logs/node-2-comes-back.log" 2>&1 || came=$?
check 'the node comes back' is 0 echo "$came"
echo "     after $((SECONDS - began)) s"
check 'vfrail serves again' of_node 2 eventually is $DEVICES allocatable
check 'its VFs are in the host, as the boot has made them' of_node 2 eventually at_baseline
of_node 2 pod next hostdev 1
check 'its next pod gets a device' eventually running next
check 'with an active RDMA device' has PORT_ACTIVE in_pod next ibv_devinfo
check 'the pod of the other node reaches it' eventually reaches next
check 'the sweep gives back what the power loss has left' of_node 2 on_node '/opt/cni/bin/vfrail sweep'
check 'an address for each pod that runs, no more' eventually is 3 addresses_assigned
