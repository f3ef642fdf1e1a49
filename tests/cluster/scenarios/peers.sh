# Network definitions of the peers, unchanged: host-device, sriov, and ib-sriov with rdma behind it.
#
# The executables of that name are vfrail-cni's, as the component host-device installs one.
names=(host-device sriov ib-sriov rdma)
taken_over() {
    local folder=$work/taken-over name
    mkdir -p "$folder"
    for name in "${names[@]}"; do
        sed "s/install-host-device/install-$name/; s/\"host-device\"/\"$name\"/" manifests/host-device/install-host-device.yaml \
            > "$folder/$name.yaml"
    done
    cat > "$folder/kustomization.yaml" << END
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../manifests]
patches: [$(printf '{path: %s.yaml}, ' "${names[@]}")]
END
    echo "$folder"
}
check 'vfrail installs the names of the peers' vfrail_rolled_out "$(taken_over)"
check 'every device is allocatable' eventually is $((2 * VFS)) allocatable

ipam='"ipam": {"type": "whereabouts", "range": "192.168.120.0/24"}'
network host-device "{\"type\": \"host-device\", $ipam}"
network sriov "{\"type\": \"sriov\", \"vlan\": 0, \"spoofchk\": \"off\", $ipam}"
network infiniband "{\"type\": \"ib-sriov\", $ipam}, {\"type\": \"rdma\"}"
for name in host-device sriov infiniband; do pod $name $name 1; done
for name in host-device sriov infiniband; do
    check "$name: the pod runs" eventually running $name
    check "$name: net1 has its address" has 'inet 192\.168\.120\.' in_pod $name ip address show net1
    check "$name: its RDMA device is active, and alone" is 1 in_pod $name bash -c 'ibv_devinfo | grep -c PORT_ACTIVE'
done
check 'sriov: spoofchk is off at the PF while the pod runs' has 'spoof checking off' on_node 'ip link show'

kubectl delete pods -l app=test > /dev/null
check 'vfrail without the names of the peers' vfrail_rolled_out "$work/manifests"
on_node "cd /opt/cni/bin && rm $(echo "${names[@]}")"
