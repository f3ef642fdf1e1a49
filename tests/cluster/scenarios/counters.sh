# Counters of devices in pods: with the chart as it is none, and why; with metrics.podCounters also those of later pods.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
pod one hostdev 1
check 'a pod with a device runs' eventually running one

address() { kubectl -n kube-system get pods -l app.kubernetes.io/name=vfrail -o 'jsonpath={.items[0].status.podIP}'; }
metrics() { on_node "exec 3<> /dev/tcp/$(address)/9808 && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3"; }
check 'its traffic is not known, and why' eventually has '^vfrail_devices_without_counters{counters="traffic",reason="pf_out_of_reach"} 1' metrics
if [ "$RDMA" = exclusive ]; then
    check 'nor are its RDMA counters' has '^vfrail_devices_without_counters{counters="rdma",reason="pod_out_of_reach"} 1' metrics
fi

check 'vfrail may enter the namespaces of pods' installed --set metrics.podCounters=true
pod two hostdev 1
check 'another pod with a device runs' eventually running two
for name in one two; do
    check "the traffic of pod $name is known" eventually has "^vfrail_device_receive_bytes_total{.*namespace=\"default\",pod=\"$name\"" metrics
    check "and what its RDMA device counts" has "^vfrail_rdma_port_stats_total{.*namespace=\"default\",pod=\"$name\"" metrics
done
check 'no device is without counters' lacks '^vfrail_devices_without_counters{' metrics

check "in the host's network vfrail is ready, on the node's address" installed --set hostNetwork=true --set metrics.nodeAddress=true
check 'where Prometheus finds the metrics' eventually has '^vfrail_build_info{' metrics
check 'and not on the loopback' refused on_node 'exec 3<> /dev/tcp/127.0.0.1/9808'
check 'vfrail is as it was' installed
