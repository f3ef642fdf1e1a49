# Eight pods at once, one for each VF of the node, and one pod more than there is.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
all=$DEVICES began=$SECONDS creating=()

# One request, so that they start together: the moves of eight RDMA devices renumber each other's nodes.
for ((i = 0; i < all; i++)); do pod "p$i" hostdev 1 & creating+=($!); done
wait "${creating[@]}"
check "all $all run" eventually is $all how_many_run
echo "     after $((SECONDS - began)) s"
check 'each has an address of its own' is $all bash -c 'sort -u <<< "$1" | wc -l' - "$(pod_addresses)"
check 'each sees its own RDMA nodes and no others' each_sees_its_own
for ((i = 0; i < all; i++)); do
    check "the RDMA device of p$i can be opened" has PORT_ACTIVE in_pod "p$i" ibv_devinfo
done

pod more hostdev 1
check 'one more cannot be scheduled' eventually has Insufficient events more
check 'and is Pending' is Pending phase more
kubectl delete pod p0 --wait=false > /dev/null
check 'it runs when a device is free' eventually running more
check 'with an RDMA device' has PORT_ACTIVE in_pod more ibv_devinfo
