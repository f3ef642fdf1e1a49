# Addresses from static, host-local and dhcp, each by the real plugin.
kubectl apply -f examples/networks.yaml > /dev/null

pod static '[{"name": "hostdev-static", "ips": ["192.168.130.7/24"], "mac": "02:00:00:00:07:01"}]' 1
check 'static: the pod runs' eventually running static
check 'static: net1 has the address of the annotation' has 'inet 192\.168\.130\.7/24' in_pod static ip address show net1
check 'static: and its MAC address' has 'link/ether 02:00:00:00:07:01' in_pod static ip link show net1

pod host-local hostdev-lab 1
check 'host-local: the pod runs' eventually running host-local
check 'host-local: net1 has an address of the range' has 'inet 10\.56\.0\.' in_pod host-local ip address show net1
check 'host-local: it is written down' has '^/var/lib/cni/networks/hostdev-lab/10\.56\.0\.' on_node remains

# A DHCP server on the other NIC's cable: PF 1 in the host, and the daemon of the plugin.
on_node 'card=$(netdev 0000:41:00.0); ip address add 192.168.140.1/24 dev $card
    printf "%s\n" "interface $card" "start 192.168.140.10" "end 192.168.140.50" "option subnet 255.255.255.0" \
        "lease_file /run/udhcpd.leases" "pidfile /run/udhcpd.pidfile" > /run/udhcpd.conf
    : > /run/udhcpd.leases; mkdir -p /run/cni
    service_start udhcpd busybox udhcpd -f /run/udhcpd.conf; rm -f /run/cni/dhcp.sock; service_start dhcp /opt/cni/bin/dhcp daemon'
network dhcp '{"type": "vfrail", "ipam": {"type": "dhcp"}}'
pod dhcp dhcp 1
check 'dhcp: the pod runs' eventually running dhcp
check 'dhcp: net1 has an address of the server' has 'inet 192\.168\.140\.' in_pod dhcp ip address show net1
kubectl delete pod dhcp --wait=false > /dev/null
check 'dhcp: the pod ends' eventually gone dhcp
# The signal makes the server write its leases down.
leases() { on_node 'kill -USR1 $(< /run/udhcpd.pid); sleep 1; busybox dumpleases -f /run/udhcpd.leases'; }
check 'dhcp: the server has got its address back' eventually has '192\.168\.140\..* expired' leases
on_node 'service_stop dhcp; service_stop udhcpd; ip address del 192.168.140.1/24 dev $(netdev 0000:41:00.0)'
