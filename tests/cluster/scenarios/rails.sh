# All rails by one word: a Job asks for one unit of a bundle and names one network, and has an interface on each NIC.
list_never_below "$VFS"
# Which devices a unit has, from its last Allocate on until the next one or the next boot.
stays_here='^/run/vfrail/promised/|^/var/run/cdi/vfrail-'   # cni/README.md: with CDI until the next Allocate
jq '.resourceList[0].bundle = true' examples/configs/igb-lab.json > "$work/bundle.json"
config=$work/bundle.json
check 'the devices are bundled' installed
check 'a unit is a VF of each NIC' eventually is "$VFS" allocatable
network rails '{"type": "vfrail", "sourceRouting": true, "ipam": {"type": "whereabouts"},
    "rails": {"ipam": [{"range": "192.168.140.0/24"}, {"range": "192.168.141.0/24"}]}}'

job rails rails
check 'both pods of the Job run' eventually is 2 how_many_run
check 'every unit is still advertised, healthy' is "$VFS" allocatable
for creating in $(kubectl get pods -l app=test -o 'jsonpath={.items[*].metadata.name}'); do
    check "$creating: net1 is on the first rail" has 'inet 192\.168\.140\.' in_pod "$creating" ip address show net1
    check "$creating: net1r1 is on the second" has 'inet 192\.168\.141\.' in_pod "$creating" ip address show net1r1
    check "$creating: an answer leaves by the rail of its address" has 'dev net1r1' in_pod "$creating" bash -c \
        'ip route get 192.168.141.250 from "$(ip -4 -o address show net1r1 | grep -o "192[0-9.]*" | head -1)"'
    check "$creating: two RDMA devices are active" is 2 in_pod "$creating" bash -c 'ibv_devinfo | grep -c PORT_ACTIVE'
    check "$creating: the status of its networks has both" is 2 bash -c \
        'grep -o "\"interface\": \"net1[r1]*\"" <<< "$1" | wc -l' - "$(network_status "$creating")"
done
check 'each container sees its own RDMA nodes and no others' each_sees_its_own
ends_without_pods=yes
kubectl delete job rails --cascade=foreground > /dev/null
config=examples/configs/igb-lab.json
check 'the devices are as before' installed
check 'every device is allocatable again' eventually is $DEVICES allocatable
