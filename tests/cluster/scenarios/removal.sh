# Removal by the chart: it waits for pods that have devices, leaves nothing on the node, and vfrail can come back.
list_never_below $DEVICES
# It waits by failing, and kubelet starts it again.
explained_here='^kubelet\.log: .*CrashLoopBackOff.* restarting failed container=uninstall '
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'a pod with a device runs' eventually running one

CHECK_DEADLINE=1 refused installed --set uninstall=true > /dev/null 2>&1
uninstaller() { kubectl -n kube-system logs daemonset/vfrail -c uninstall; }
check 'the removal waits for the pod, and says so' eventually has 'attachments are recorded' uninstaller
check 'the pod runs' running one
kubectl delete pod one --wait=false > /dev/null
check 'the pod ends' eventually gone one
check 'the removal is complete' installed --set uninstall=true
check 'Helm removes the rest' helm uninstall vfrail --namespace kube-system --wait
left_over() {
    find /opt/cni/bin -name '*vfrail*' -o -name host-device -o -name sriov
    find /var/lib/cni /run /etc/cni /var/lib/kubelet/device-plugins /var/lib/kubelet/plugins_registry \
        \( -path '*vfrail*' -o -path '*k8s.cni.cncf.io/devinfo/*/*' -o -name '*nvidia.com*' \) ! -path '/run/containerd/*'
}
check 'nothing of vfrail is left on the node' is '' on_node "$(declare -f left_over); left_over"
check 'kubelet has no device any more' eventually is 0 allocatable
section 'with CDI, and under the names of others'
# (containerd 1.6 has no CDI.)
options=(--set 'cni.takeOver={host-device,sriov}')
[ "$set" = oldest ] || options+=(--set cdi.enabled=true)
check 'vfrail is installed again' installed "${options[@]}"
check 'every device is allocatable' eventually is $DEVICES allocatable
network other '{"type": "host-device", "ipam": {"type": "whereabouts", "range": "192.168.120.0/24"}}'
pod other other 1
check 'a pod with a device runs' eventually running other
check 'with an active RDMA device' has PORT_ACTIVE in_pod other ibv_devinfo
kubectl delete pod other --wait=false > /dev/null
check 'the pod ends' eventually gone other
check 'the removal is complete' installed "${options[@]}" --set uninstall=true
check 'Helm removes the rest' helm uninstall vfrail --namespace kube-system --wait
check 'nothing of vfrail is left on the node' is '' on_node "$(declare -f left_over); left_over"
check 'kubelet has no device any more' eventually is 0 allocatable

section 'and back'
check 'vfrail is installed again' installed
check 'every device is allocatable' eventually is $DEVICES allocatable
pod two hostdev 1
check 'a pod with a device runs again' eventually running two
