# kubelet, vfrail and containerd are restarted and vfrail is killed while pods run, and after each a pod comes; then all are
# deleted by force, and at once there are others.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for name in a b c; do pod $name hostdev 1; done
check 'three pods run' eventually is 3 how_many_run
before_restarts=$(in_pod a ip -brief address show net1)
# What is in use is not given to the next one.
has_come() { # NAME COUNT
    pod "$1" hostdev 1
    check "a new pod runs, $1" eventually running "$1"
    check "each of $2 has an address of its own" is "$2" bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
    check 'a pod has what it had' is "$before_restarts" in_pod a ip -brief address show net1
    check 'each container sees its own RDMA nodes and no others' each_sees_its_own
}

section 'kubelet'
sent=$(lists_sent)
on_node 'service_restart kubelet'
check 'kubelet has the list again' eventually refused is "$sent" lists_sent
check 'every device is allocatable' eventually is $DEVICES allocatable
check 'the pods run' is 3 how_many_run
has_come d 4

section 'vfrail'
kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
check 'every device is allocatable again' eventually is $DEVICES allocatable
has_come e 5

section 'vfrail, killed'
# kubelet hears of the end of its stream alone.
explained_here='^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(error reading from server: EOF|desc = EOF)'
killed() { kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount} {.items[*].status.containerStatuses[0].ready}'; }
sent=$(lists_sent)
on_node 'kill -9 $(pid_of /usr/bin/vfrail)'
check 'its container is started again' eventually is '1 true' killed
check 'kubelet has the list again' eventually refused is "$sent" lists_sent
check 'every device is allocatable again' eventually is $DEVICES allocatable
has_come f 6

section 'containerd'
# Without it kubelet can do nothing, and says so for everything that it tries.
explained_here+='|^kubelet.log: .*(error reading from server: EOF|server is not initialized yet|/run/containerd/containerd.sock: connect: )'
on_node 'service_restart containerd; eventually ctr version > /dev/null'
check 'containerd is back' eventually is True kubectl get node "$NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
check 'a pod still has what it had' eventually is "$before_restarts" in_pod a ip -brief address show net1
has_come g 7

section 'deleted by force'
# As many as there are devices, so that they get those that others still have in their namespaces: kubelet gives them away when
# it has forgotten a pod, and a pod that vfrail then refuses is made again.
explained_here+='|error allocate refused .*it is still in a pod.* id=VF-DEVICE-NOT-IN-HOST'
kubectl delete pods -l app=test --force --grace-period=0 > /dev/null 2>&1
kubectl apply -f - << END > /dev/null
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: next, labels: {app: test}}
spec:
  replicas: $DEVICES
  selector: {matchLabels: {app: test}}
  template:
    metadata: {labels: {app: test}, annotations: {k8s.v1.cni.cncf.io/networks: hostdev}}
    spec: $(pod_spec 1)
END
check 'a new pod for each device runs' eventually is $DEVICES how_many_run
check 'each has an address of its own' is $DEVICES bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
echo "     refused at admission: $(kubectl get pods -l app=test --field-selector status.phase=Failed -o 'jsonpath={range .items[*]}{.status.message}{"\n"}{end}' | cut -c1-300 | sort | uniq -c)"
