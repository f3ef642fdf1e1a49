# From nothing to traffic without an operator: what the node can give, the chart, a HostDeviceNetwork of another namespace and its pods as
# users have them, the cluster in one view, RDMA between the pods; then all of it is removed.
if [ "$LAB_KERNEL" != 7 ]; then
    skip 'Soft-RoCE before Linux 7 sends in the first namespace alone: --kernel 7'
    return
fi
. "$here/controller.sh"
. "$here/pages.sh"
pages_reachable
explained_here=$without_server
ends_without_pods=yes
list_never_below 0
check 'vfrail is removed from the node' installed --set uninstall=true
check 'and from the cluster' helm uninstall vfrail --namespace kube-system --wait
check 'the node has no device' eventually is 0 allocatable

section 'what the node can give'
# Not with --attach, which shows nothing of a program that ends before kubectl is attached.
debugged=$(kubectl debug "node/$NODE" --image="vfrail:$(manifests/image/version)" --profile=sysadmin -- vfrail plan --root /host 2>&1 |
    grep -o 'node-debugger-[^ ]*')
check 'vfrail plan ends, before anything is installed' kubectl wait --for=jsonpath='{.status.phase}'=Succeeded --timeout "${CHECK_DEADLINE}s" pod "$debugged"
kubectl logs "$debugged" > "$work/plan"
kubectl delete pod "$debugged" > /dev/null
check 'its ways are VFs and others' has "^[*] VFs  *rdma/roce_1g_vf  *$DEVICES " cat "$work/plan"
check 'and it recommends one' has 'Recommended: VFs. Why: ' cat "$work/plan"
sed 's/^/     /' "$work/plan"

section 'installed'
check 'the chart with the controller' controller_installed
check 'every device is allocatable' eventually is $DEVICES allocatable
replica first
kubectl create namespace crater-workspace > /dev/null
kubectl apply -f - > /dev/null << 'NETWORK'
apiVersion: mellanox.com/v1alpha1
kind: HostDeviceNetwork
metadata:
  name: hostdevice-net
spec:
  networkNamespace: "crater-workspace"
  resourceName: "hostdev"
  ipam: |
    {
      "type": "whereabouts",
      "datastore": "kubernetes",
      "kubernetes": {
        "kubeconfig": "/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"
      },
      "range": "192.168.77.152/27",
      "exclude": ["192.168.77.151/32"],
      "log_file": "/var/log/whereabouts.log",
      "log_level": "info"
    }
NETWORK
check 'the HostDeviceNetwork is ready' eventually is ready kubectl get hostdevicenetwork hostdevice-net -o 'jsonpath={.status.state}'
work_in() { kubectl --namespace crater-workspace "$@"; }
for name in testpod1 testpod2; do
    work_in apply -f - > /dev/null << POD
apiVersion: v1
kind: Pod
metadata:
  name: $name
  annotations:
    k8s.v1.cni.cncf.io/networks: hostdevice-net
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: appcntr1
      image: docker.io/library/rdma-tools:latest
      imagePullPolicy: IfNotPresent
      securityContext:
        capabilities:
          add: ["IPC_LOCK"]
      command: [sh, -c, sleep inf]
      resources:
        requests: {nvidia.com/hostdev: '1'}
        limits: {nvidia.com/hostdev: '1'}
POD
done
check 'both pods run' work_in wait --for=condition=Ready --timeout "${CHECK_DEADLINE}s" pod testpod1 testpod2

section 'seen'
check 'the node has the resource' has "$NODE .*nvidia.com/hostdev" "$kube" nodes
check 'each pod has its device and its address' has 'crater-workspace/testpod1.*192\.168\.77\.' "$kube" devices
check 'the network has two attachments' has 'crater-workspace/hostdevice-net.* 2 ' "$kube" networks
check 'vfrail-check finds no fault in the pods' "$kube" check -n crater-workspace

section 'traffic'
address=$(work_in get pod testpod1 -o json | jq -r '.metadata.annotations["k8s.v1.cni.cncf.io/network-status"] | fromjson[] | select(.interface == "net1").ips[0]')
in_workspace() { work_in exec "$1" -- "${@:2}"; }
in_workspace testpod1 sh -c 'ib_write_bw --report_gbits -F -x 1 > /tmp/bw 2>&1 &'
check 'ib_write_bw waits' eventually in_workspace testpod1 grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6
check 'ib_write_bw between the pods' has 'BW average' in_workspace testpod2 ib_write_bw --report_gbits -F -x 1 "$address"
in_workspace testpod1 sh -c 'vfrail-check --listen > /tmp/listener 2>&1 &'
check 'vfrail-check waits' eventually in_workspace testpod1 grep -q listening /tmp/listener
check 'vfrail-check between the pods, both ways' has ' sent, .* received' in_workspace testpod2 vfrail-check --to "$address" --message 64K --seconds 1

section 'removed'
check 'the pods end' work_in delete pod testpod1 testpod2
check 'the HostDeviceNetwork goes' kubectl delete hostdevicenetwork hostdevice-net
check 'its network with it' eventually is '' work_in get network-attachment-definitions -o name
stop first
kubectl delete namespace crater-workspace > /dev/null
check 'vfrail is removed from the node' installed --set uninstall=true
check 'and from the cluster' helm uninstall vfrail --namespace kube-system --wait
check 'the CRDs stay' kubectl delete crd {hostdevicenetworks,macvlannetworks,ipoibnetworks}.mellanox.com
check 'vfrail as before' installed
pages_as_before
