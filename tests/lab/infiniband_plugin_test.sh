#!/bin/bash
# vfrail serve, inspect, doctor, plan and top on a node of InfiniBand adapters, while GUIDs, ports, the subnet manager and drivers
# change; and a pod with a rail of each adapter, by one unit.
# Programs: vfrail, vfrail-cni, test-kubelet, static.
#   tests/lab/run ... tests/lab/infiniband_plugin_test.sh [exclusive|shared]
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
mode=${1:-exclusive}
lab_up 3 --fabric infiniband --rdma "$mode" && set_guids 2 || exit

PF=0000:21:00.0 A=0000:21:10.0 WITHOUT=0000:21:10.4
resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
config=/run/t/config.json
debug=/sys/kernel/debug/ib_lab/$PF/port1
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry /run/t
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
write() { echo "$1" > "$2"; }
# configure KEYS: one resource of the VFs, with these keys.
configure() {
    cat > $config.new << JSON
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", $1
                   "selectors": {"drivers": ["ib_lab"], "isRdma": true, "linkTypes": ["infiniband"]},
                   "health": {"guid": true}}]}
JSON
    mv $config.new $config
}
healthy() { test-kubelet capacity --kubelet-root $kubelet --json | jq "[.\"$resource\".devices[] | select(.health == \"Healthy\")] | length"; }
# What doctor finds, also where it is a fault.
doctor() { vfrail doctor --config-file $config || true; }
# reason ADDRESS: why it is not offered, with the id.
reason() { vfrail inspect --config-file $config -o json | jq -r ".devices[] | select(.id == \"$1\") | tojson"; }
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin vfrail-cni 2>> /run/t/cni.log << JSON
{"cniVersion": "1.0.0", "name": "ib", "type": "vfrail", "deviceID": "$3",
 "ipam": {"type": "static"}, "rails": {"ipam": [{"addresses": [{"address": "10.9.1.$4/24"}]}, {"addresses": [{"address": "10.9.2.$4/24"}]}]}}
JSON
}

configure ''
test-kubelet run --kubelet-root $kubelet > /run/t/kubelet.log 2>&1 &
vfrail serve --config-file $config > /run/t/serve.log 2>&1 &
serve=$!
section "VFs with and without a GUID, $mode"
check 'four VFs with a GUID are healthy' eventually is 4 healthy
check 'one without is not, and the reason is said' has 'VF-GUID-UNSET' reason $WITHOUT
for kind in node_guid port_guid; do ip link set "$(netdev $PF | head -n 1)" vf 2 $kind 00:11:22:33:44:55:01:02; done
rebind $WITHOUT
check 'with a GUID it is healthy' eventually is 5 healthy

section 'cable, subnet manager, driver'
write 0 $debug/cable
check 'a PF without its cable: its VFs are unhealthy' eventually is 2 healthy
check 'the reason is said' has 'VF-PORT-DOWN' reason $A
check 'doctor finds the port' has '^fault.*mlx5_0 is DOWN' doctor
write 1 $debug/cable
check 'with the cable they are healthy' eventually is 5 healthy
# A subnet manager that starts again must not cost the node its devices: the link is up, and only doctor minds.
write 0 /sys/module/ib_lab/parameters/sm
check 'no subnet manager: doctor finds it' eventually has 'no subnet manager has configured' doctor
check 'and the VFs stay healthy' is 5 healthy
write 1 /sys/module/ib_lab/parameters/sm
check 'with one it finds nothing' eventually lacks 'no subnet manager has configured' doctor
echo $A > $pci/$A/driver/unbind
check 'a VF without a driver is not healthy' eventually is 4 healthy
echo $A > /sys/bus/pci/drivers_probe
check 'with it again it is' eventually is 5 healthy

section 'what the commands print'
check 'plan: VFs, under a name with fabric and speed' has '"resourceName": "ib_200g_vf"' vfrail plan
check 'top' has '0000:21:10.0 .*rdma_rx_bytes=0' vfrail top -n 1 --interval 1

section 'a rail of each adapter by one unit'
configure '"bundle": true,'
check 'kubelet has bundles' eventually has bundle test-kubelet capacity --kubelet-root $kubelet --json
node_state > /tmp/before
for pod in a b; do
    ip netns add $pod
    test-kubelet allocate --kubelet-root $kubelet $resource 1 > /run/t/$pod.allocate || echo "FAIL Allocate"
    jq -r '.ids[0]' /run/t/$pod.allocate > /run/t/$pod.id
done
check 'ADD' cni ADD a "$(< /run/t/a.id)" 1
check 'ADD of another' cni ADD b "$(< /run/t/b.id)" 2
check 'over the first rail' eventually ip netns exec a ping -c 1 -W 1 10.9.1.2
check 'over the second' eventually ip netns exec a ping -c 1 -W 1 10.9.2.2
for pod in a b; do
    check "DEL of $pod" cni DEL $pod "$(< /run/t/$pod.id)" 1
    ip netns del $pod
    test-kubelet free --kubelet-root $kubelet --ids "$(< /run/t/$pod.id)" > /run/t/free.log
done
kill -TERM $serve
check 'TERM stops the plugin' eventually refused kill -0 $serve
# RDMA devices were moved, so their nodes' numbers may be dealt differently.
numbers() { sed -E 's/(uverbs|umad|issm)[0-9]+/\1N/g' "$1"; }
node_state > /tmp/after
check 'the node is as before' diff <(numbers /tmp/before) <(numbers /tmp/after)
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 /run/t/serve.log /run/t/cni.log
