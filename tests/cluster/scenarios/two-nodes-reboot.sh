# One of two nodes is drained and rebooted in order: its pods run on the other meanwhile, and there again afterwards.
if [ "$NODES" != 2 ]; then
    skip 'a cluster of one node: --nodes 2'
    return
fi
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
# What scenarios/power.sh has for the same.
explained_here='^kubelet.log: .*RegisterPlugin error -- dial failed at socket'
explained_here+='|^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(the client connection is closing|use of closed network connection)'
kubectl apply -f - << END > /dev/null
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: drained, labels: {app: test}}
spec:
  replicas: 4
  selector: {matchLabels: {app: test}}
  template:
    metadata: {labels: {app: test}, annotations: {k8s.v1.cni.cncf.io/networks: hostdev}}
    spec: $(pod_spec 1 | jq -c 'del(.nodeSelector) | .topologySpreadConstraints = [{maxSkew: 1,
        topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "ScheduleAnyway", labelSelector: {matchLabels: {app: "test"}}}]')
END
check 'four pods run' eventually is 4 how_many_run
second=$(of_node 2 eval 'echo "$NODE"')
on_it() { kubectl get pods -l app=test --field-selector "spec.nodeName=$second,status.phase=Running" -o name | wc -l; }
check 'some of them on the second node' refused is 0 on_it
check 'it is drained' kubectl drain "$second" --ignore-daemonsets --force --timeout "${CHECK_DEADLINE}s"
check 'four run' eventually is 4 how_many_run
check 'none of them there' is 0 on_it
check 'each has an address of its own' is 4 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'its VFs are in the host' of_node 2 eventually at_baseline
check 'an address for each pod, no more' eventually is 4 addresses_assigned
of_node 2 node_ends
came=0 began=$SECONDS
of_node 2 node_up > "$logs/node-2-comes-back.log" 2>&1 || came=$?
check 'the node comes back' is 0 echo "$came"
echo "     after $((SECONDS - began)) s"
kubectl uncordon "$second" > /dev/null
check 'vfrail serves again' of_node 2 eventually is $DEVICES allocatable
kubectl scale replicaset drained --replicas 8 > /dev/null
check 'eight pods run' eventually is 8 how_many_run
check 'some of them on the node that was away' refused is 0 on_it
check 'each has an address of its own' is 8 bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
