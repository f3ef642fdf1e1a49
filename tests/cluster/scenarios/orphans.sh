# A pod whose end never reaches the CNI plugin: its record is found, and the sweep gives everything back.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod orphan hostdev 1
check 'the pod runs' eventually running orphan

# Multus sends no DEL for a pod whose state it has lost, and it looks for that in its own folder.
on_node 'rm -rf /var/lib/cni/multus; ls /var/lib/cni'
kubectl delete pod orphan --wait=false > /dev/null
check 'the pod ends' eventually gone orphan
check 'its record is still there' has attachments on_node remains
check 'its address is still assigned' is 1 addresses_assigned
check 'the sweep names it in a dry run' has orphan on_node '/opt/cni/bin/vfrail sweep --dry-run'
check 'and gives it back' on_node '/opt/cni/bin/vfrail sweep'
check 'no record is left' is '' on_node remains
check 'no address is assigned' eventually is 0 addresses_assigned
