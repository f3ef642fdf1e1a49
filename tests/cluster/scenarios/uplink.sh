# What the host itself uses is not offered: a VF gets the default route, and loses it.
list_never_below $((DEVICES - 1))
ends_without_pods=yes
# The address that comes before the route, and stays a moment longer.
explained_here='^pods/kube-system_vfrail-.* warning .* advertises 0000:21:10.2, which the host uses: '
on_node 'ip address add 192.168.150.1/24 dev $(netdev 0000:21:10.2); ip link set $(netdev 0000:21:10.2) up
    ip route add default via 192.168.150.254 dev $(netdev 0000:21:10.2) metric 500'
check 'one device fewer is allocatable' eventually is $((DEVICES - 1)) allocatable
inspect() { kubectl -n kube-system exec daemonset/vfrail -c vfrail -- vfrail inspect -o wide 21:10.2; }
check 'vfrail says why' eventually has 'the host uses it: .* carries the IPv4 default route' inspect
on_node 'ip route del default dev $(netdev 0000:21:10.2); ip address del 192.168.150.1/24 dev $(netdev 0000:21:10.2)
    ip link set $(netdev 0000:21:10.2) down'
check 'every device is allocatable again' eventually is $DEVICES allocatable
