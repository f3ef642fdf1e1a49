# A pod that kubelet cannot end: its device is not orphaned while kubelet has the pod, and is soon when it has it no more (kubelet 1.37).
if ! on_node 'test -S /var/lib/kubelet/pods-api/pods-api.sock'; then
    skip "this kubelet has no Pods API"
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod slow hostdev 1
check 'the pod runs' eventually running slow
device=$(in_use)
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes

section 'its network cannot be taken down'
explained_here='held back by this scenario|vfrail\.log: .*VF-ORPHANED-ATTACHMENT'
# The end of vfrail below, of which kubelet has the end of its stream alone.
explained_here+='|^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(error reading from server: EOF|desc = EOF)'
on_node 'mv /opt/cni/bin/vfrail /opt/cni/bin/vfrail.aside
    printf "#!/bin/sh\necho %s\nexit 1\n" "{\\\"cniVersion\\\":\\\"1.0.0\\\",\\\"code\\\":100,\\\"msg\\\":\\\"held back by this scenario\\\"}" > /opt/cni/bin/vfrail
    chmod 755 /opt/cni/bin/vfrail'
kubectl delete pod slow --wait=false --grace-period=1 > /dev/null
check 'its container has ended' eventually has Terminated kubectl describe pod slow
# A process that starts asks kubelet at once, and not only within five minutes.
restarts() { kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount} {.items[*].status.containerStatuses[0].ready}'; }
before=$(restarts)
on_node 'kill -9 $(pid_of /usr/bin/vfrail)'
check 'vfrail starts anew' eventually is "$((${before% *} + 1)) true" restarts
check 'it asks kubelet whether it has the pod, as no container has the device' eventually has 'GetPod called' on_node log_since
sleep 150
check 'two minutes and a half later the device is not orphaned' lacks VF-ORPHANED vfrail_log
check 'and still attached' has attachments on_node remains

section 'kubelet has the pod no more'
kubectl delete pod slow --force --grace-period=0 > /dev/null 2>&1
CHECK_DEADLINE=300
check 'the device is orphaned, with the name of its pod' eventually has "$device .*pod default/slow.*VF-ORPHANED-ATTACHMENT" vfrail_log
on_node 'mv /opt/cni/bin/vfrail.aside /opt/cni/bin/vfrail'
check 'the network can be taken down: kubelet does so' eventually is '' on_node 'find /var/lib/cni/vfrail/devices ! -type d'
