# kubelet, vfrail and containerd are restarted while pods run; then all pods are deleted by force.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for name in a b c; do pod $name hostdev 1; done
check 'three pods run' eventually is 3 how_many_run
before_restarts=$(in_pod a ip -brief address show net1)

sent=$(lists_sent)
on_node 'service_restart kubelet'
check 'kubelet has the list again' eventually refused is "$sent" lists_sent
check 'every device is allocatable' eventually is $DEVICES allocatable
check 'the pods run' is 3 how_many_run

kubectl -n kube-system rollout restart daemonset/vfrail > /dev/null
check 'vfrail is restarted' kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
check 'every device is allocatable again' eventually is $DEVICES allocatable
check 'the pods still run' is 3 how_many_run
check 'a pod has what it had' is "$before_restarts" in_pod a ip -brief address show net1

# What is in use is not given to the next one.
pod d hostdev 1
check 'a fourth pod gets a free device' eventually running d
check 'each of the four has an address of its own' is 4 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"

# Without containerd kubelet can do nothing, and says so for everything that it tries.
explained_here='^kubelet.log: .*(error reading from server: EOF|server is not initialized yet|/run/containerd/containerd.sock: connect: )'
on_node 'service_restart containerd; eventually ctr version > /dev/null'
check 'containerd is back' eventually is True kubectl get node "$NODE" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
check 'a pod still has what it had' eventually is "$before_restarts" in_pod a ip -brief address show net1
check 'each container sees its own RDMA nodes' each_sees_its_own

kubectl delete pods -l app=test --force --grace-period=0 > /dev/null 2>&1
check 'the API server has forgotten them at once' is 0 how_many_run
