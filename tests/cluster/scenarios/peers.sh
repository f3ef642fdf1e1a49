# Network definitions of the peers, unchanged: host-device, sriov, ib-sriov with rdma behind it, a HostDeviceNetwork's.
#
# The executables of that name are vfrail-cni's, as the chart's cni.takeOver installs them.
check 'vfrail is installed under the names of the peers' installed --set 'cni.takeOver={host-device,sriov,ib-sriov,rdma}'
check 'every device is allocatable' eventually is $DEVICES allocatable

ipam='"ipam": {"type": "whereabouts", "range": "192.168.120.0/24"}'
network host-device "{\"type\": \"host-device\", $ipam}"
network sriov "{\"type\": \"sriov\", \"vlan\": 0, \"spoofchk\": \"off\", $ipam}"
network infiniband "{\"type\": \"ib-sriov\", $ipam}, {\"type\": \"rdma\"}"
kubectl apply -f manifests/host-device-network.rendered.yaml > /dev/null
names=(host-device sriov infiniband hostdevice-net)
for name in "${names[@]}"; do pod $name $name 1; done
for name in "${names[@]}"; do
    check "$name: the pod runs" eventually running $name
    check "$name: net1 has its address" has 'inet 192\.168\.1[02][01]\.' in_pod $name ip address show net1
    check "$name: its RDMA device is active, and alone" is 1 in_pod $name bash -c 'ibv_devinfo | grep -c PORT_ACTIVE'
done
check 'sriov: spoofchk is off at the PF while the pod runs' has 'spoof checking off' on_node 'ip link show'

check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete pods -l app=test > /dev/null
check 'vfrail without the names of the peers' installed
on_node 'cd /opt/cni/bin && rm host-device sriov ib-sriov rdma'
