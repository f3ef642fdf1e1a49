# A pod whose end never reaches the CNI plugin: its record is found, and the sweep gives everything back.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod orphan hostdev 1
check 'the pod runs' eventually running orphan
device=$(in_use)
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes

# Multus has lost what it has kept of the pod, and the API server has forgotten it: there is no DEL for its networks.
on_node 'rm -rf /var/lib/cni/multus'
explained_here='multus.log: .*(failed to get the cached delegates file|pods "orphan" not found)'
kubectl delete pod orphan --force --grace-period=0 > /dev/null 2>&1
sweep() { on_node "/opt/cni/bin/vfrail sweep $*"; }
check 'the sweep names its device in a dry run, when its namespace has ended' eventually has "$device.*namespace has ended" sweep --dry-run
check 'its record is still there' has attachments on_node remains
check 'its address is still assigned' is 1 addresses_assigned
check 'the sweep gives it back' has "released: $device" sweep
check 'no record is left' is '' on_node 'find /var/lib/cni/vfrail/attachments /var/lib/cni/vfrail/devices ! -type d'
# Its own note about the pod is Multus' to remove, and it never does without a DEL.
on_node 'rm -f /var/run/k8s.cni.cncf.io/devinfo/cni/*'
check 'no address is assigned' eventually is 0 addresses_assigned
