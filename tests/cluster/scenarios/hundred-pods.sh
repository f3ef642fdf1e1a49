# A Job of a hundred pods, eight at a time, each with a device: what a batch queue does to a node.
# Each pod proves by itself that it has an address and an active RDMA device, and of RDMA nodes those of its device and no
# others, by name and number.
proves='set -e
ip -brief address show net1 | grep 192.168.100.
ibv_devinfo | grep PORT_ACTIVE
own() {
    for dev in "/sys/bus/pci/devices/$PCIDEVICE_NVIDIA_COM_HOSTDEV"/infiniband_{verbs,mad}/*/dev /sys/class/misc/rdma_cm/dev; do
        name=${dev%/dev}
        echo "${name##*/} $(< "$dev")"
    done | sort
}
seen() {
    for node in /dev/infiniband/*; do
        printf "%s %d:%d\n" "${node##*/}" "0x$(stat -c %t "$node")" "0x$(stat -c %T "$node")"
    done | sort
}
own > /tmp/own
seen > /tmp/seen
diff /tmp/own /tmp/seen'
ends_without_pods=yes
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
began=$SECONDS
kubectl apply -f - << END > /dev/null
apiVersion: batch/v1
kind: Job
metadata: {name: hundred, labels: {app: test}}
spec:
  completions: 100
  parallelism: $DEVICES
  backoffLimit: 0
  template:
    metadata:
      labels: {app: test}
      annotations: {k8s.v1.cni.cncf.io/networks: hostdev}
    spec:
      restartPolicy: Never
      automountServiceAccountToken: false
      containers:
        - name: test
          image: docker.io/library/rdma-tools:latest
          imagePullPolicy: Never
          command: ["/bin/bash", "-c", $(jq -Rs . <<< "$proves")]
          resources: {limits: {$RESOURCE: 1}}
END
hundred_are_done() { is '100  True' kubectl get job hundred -o 'jsonpath={.status.succeeded} {.status.failed} {.status.conditions[?(@.type=="Complete")].status}'; }
# None may fail: a pod that failed would be made again, and the Job would still come to its hundred.
CHECK_DEADLINE=5400 check 'each of a hundred pods has an address, an active RDMA device and its nodes, none has failed' eventually hundred_are_done
echo "     after $((SECONDS - began)) s"
kubectl get events --field-selector type=Warning -o custom-columns=R:.reason,M:.message --no-headers | cut -c1-300 | sort | uniq -c | sort -rn | head -5
