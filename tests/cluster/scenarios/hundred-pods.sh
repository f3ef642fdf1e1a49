# A Job of a hundred pods, eight at a time, each with a device: what a batch queue does to a node.
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
          command: ["/bin/bash", "-c", "ip -brief address show net1 | grep 192.168.100. && ibv_devinfo | grep PORT_ACTIVE"]
          resources: {limits: {$RESOURCE: 1}}
END
hundred_are_done() { is '100  True' kubectl get job hundred -o 'jsonpath={.status.succeeded} {.status.failed} {.status.conditions[?(@.type=="Complete")].status}'; }
# None may fail: a pod that failed would be made again, and the Job would still come to its hundred.
CHECK_DEADLINE=5400 check 'each of a hundred pods has an address and an active RDMA device, none has failed' eventually hundred_are_done
echo "     after $((SECONDS - began)) s"
kubectl get events --field-selector type=Warning -o custom-columns=R:.reason,M:.message --no-headers | cut -c1-300 | sort | uniq -c | sort -rn | head -5
