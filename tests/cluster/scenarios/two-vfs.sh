# Two devices on two networks: each network has its own VF, and the container both RDMA devices.
kubectl apply -f examples/networks.yaml > /dev/null

pod two hostdev-a,hostdev-b 2
check 'it runs' eventually running two
check 'net1 has an address of the first network' has 'inet 192\.168\.102\.' in_pod two ip address show net1
check 'net2 has an address of the second' has 'inet 192\.168\.103\.' in_pod two ip address show net2
# In shared mode each namespace has all of them.
[ "$RDMA" = shared ] || check 'two RDMA devices are there, and no other' is 2 in_pod two bash -c 'rdma link | wc -l'
check 'both can be opened' is 2 in_pod two bash -c 'ibv_devinfo | grep -c PORT_ACTIVE'
check 'the interfaces are of two PCI functions' is 2 bash -c \
    'grep -o "\"pci-address\": \"[^\"]*\"" <<< "$1" | sort -u | wc -l' - "$(network_status two)"

# A container that ends is started again in the same sandbox: the devices stay, Allocate is not called again.
before_kill=$(in_pod two ip -brief address show)
on_node "kill -9 \$(container_pid $(kubectl get pod two -o 'jsonpath={.metadata.uid}'))"
check 'a killed container is started again' eventually restarted two 1
check 'with the interfaces that it had' is "$before_kill" in_pod two ip -brief address show
