# How long a pod takes with and without the VF network, and who takes it: each CNI executable of the node has a clock.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
ends_without_pods=yes
clocked='multus vfrail whereabouts bridge host-local'
on_node 'mkdir -p /opt/cni/clocked; rm -f /var/log/cni-times
for name in '"$clocked"'; do
    mv /opt/cni/bin/$name /opt/cni/clocked/$name
    cat > /opt/cni/bin/$name << "END"
#!/bin/bash
name=${0##*/} begin=$EPOCHREALTIME
/opt/cni/clocked/$name "$@"
rc=$? end=$EPOCHREALTIME
echo "${WAVE-} $name ${CNI_COMMAND:-$*} ${CNI_IFNAME-} $rc $(( (${end/./} - ${begin/./}) / 1000 ))" >> /var/log/cni-times
exit $rc
END
    chmod 755 /opt/cni/bin/$name
done'
# start_of NAME: milliseconds from the pod's creation to its container's start, as kubelet and the API server see them.
wave() {
    local networks=$1 count=$2 began=${EPOCHREALTIME/./} i creating=()
    for ((i = 0; i < count; i++)); do pod "w$i" "$networks" "$([ -z "$networks" ] && echo 0 || echo 1)" & creating+=($!); done
    wait "${creating[@]}"
    check "$count at once ${networks:+on $networks}" eventually is "$count" how_many_run
    echo "     $count pods ${networks:-without a VF}: $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
    [ -z "$networks" ] || check 'each container sees its own RDMA nodes and no others' each_sees_its_own
    kubectl delete pods -l app=test --wait=false > /dev/null
    check 'they end' eventually is 0 bash -c 'kubectl get pods -l app=test -o name | wc -l'
    on_node 'echo "wave '"${networks:-none} $count"'" >> /var/log/cni-times'
}
for ((round = 0; round < 3; round++)); do wave '' 1; wave hostdev 1; done
for ((count = 8; count <= DEVICES; count *= 2)); do
    wave '' $count
    wave hostdev $count
done
echo '     milliseconds by executable and verb: calls, mean, most'
on_node 'cat /var/log/cni-times' | awk '
    $1 == "wave" { for (k in n) printf "     %-8s %d  %-28s %3d %7.0f %7d\n", $2, $3, k, n[k], sum[k] / n[k], most[k]
        split("", n); split("", sum); split("", most); next }
    { k = $1 " " $2 " " $3; n[k]++; sum[k] += $NF; if ($NF > most[k]) most[k] = $NF }' | sort
on_node 'for name in '"$clocked"'; do mv /opt/cni/clocked/$name /opt/cni/bin/$name; done'
