#!/bin/bash
# vfrail inspect and vfrail serve with real VFs and real RDMA devices, against the test kubelet over real sockets.
# Programs: vfrail, vfrail-cni, test-kubelet.
. /lab/lib.sh
lab_up 4

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry /run/t
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
config=/run/t/config.json
cat > $config << 'END'
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                   "selectors": {"vendors": ["8086"], "isRdma": true}}]}
END

# devices FILE JQ: ids of an inspect answer, sorted, on one line.
ids() { vfrail inspect --config-file $config -o json | jq -r "[$1] | sort | join(\" \")"; }
sysfs_vfs() { (cd $pci && for f in */physfn; do echo "${f%/physfn}"; done | sort | paste -sd ' '); }
kubelet_list() { test-kubelet capacity --kubelet-root $kubelet --json | jq -S "del(.\"$resource\".allocated)"; }
serve() { vfrail serve --config-file $config "$@" >> /run/t/serve.log 2>&1 & server=$!; }
stop() { kill -TERM $server; eventually refused kill -0 $server; }
offered() { eventually test-kubelet capacity --kubelet-root $kubelet --wait "$resource=$1" --timeout 60; }
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni 2>> /run/t/cni.log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"vfrail\", \"deviceID\": \"$3\"}"
}

section 'inspect'
check 'every VF that sysfs has is in the pool' is "$(sysfs_vfs)" ids '.resources[].devices[]'
check 'the PFs are left out, as PFs with VFs' has 'PF with 4 VFs' vfrail inspect -o wide --config-file $config
check 'RDMA devices are reported' is 'mlx5_0 mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7' ids '.devices[] | select(.resources != []) | .rdma[].name'
rdma link del mlx5_7
check 'isRdma leaves out a VF without an RDMA device' is "${all[*]:0:7}" ids '.resources[].devices[]'
rdma link add mlx5_7 type rxe netdev "$(netdev "${all[7]}")"
check 'and takes it again when it has one' is "${all[*]}" ids '.resources[].devices[]'
rebind "${all[6]}" vfio-pci
check 'a VF given to vfio is no RDMA device' is "${all[*]:0:6} ${all[7]}" ids '.resources[].devices[]'
rebind "${all[6]}"
eventually netdev "${all[6]}" > /dev/null
rdma link add mlx5_6 type rxe netdev "$(netdev "${all[6]}")"
ip link set "$(netdev "${all[0]}")" up
ip route add default dev "$(netdev "${all[0]}")" table 77
check 'a VF with a default route, in whatever table, is refused' is "${all[*]:1}" ids '.resources[].devices[]'
check 'and the reason is shown' has 'default route' vfrail inspect -o wide --config-file $config
ip route del default dev "$(netdev "${all[0]}")" table 77
ip -6 route add default dev "$(netdev "${all[0]}")"
check 'the same with IPv6' is "${all[*]:1}" ids '.resources[].devices[]'
ip -6 route del default dev "$(netdev "${all[0]}")"
ip link add br9 type bridge vlan_default_pvid 0   # igbvf of 5.10 is refused the VLAN that a bridge adds by itself
ip link set "$(netdev "${all[0]}")" master br9
check 'a VF in a bridge is refused' is "${all[*]:1}" ids '.resources[].devices[]'
ip link del br9
ip link set "$(netdev "${all[0]}")" down
check 'afterwards it is offered again' is "${all[*]}" ids '.resources[].devices[]'

# Not earlier: a VF that is bound anew gets another random MAC from igbvf.
node_state > /tmp/before

section 'serve, plugin watcher'
test-kubelet run --kubelet-root $kubelet > /run/t/kubelet.log 2>&1 &
serve
check 'kubelet is offered eight devices' offered 8
check 'the socket is for root alone' is 600 stat -c %a $kubelet/plugins_registry/nvidia.com_hostdev.sock
check 'NUMA nodes are reported' is '0 0 0 0 1 1 1 1' bash -c \
    "test-kubelet capacity --kubelet-root $kubelet --json | jq -r '[.\"$resource\".devices[].numa[0]] | map(tostring) | join(\" \")'"
check 'Allocate' test-kubelet allocate --kubelet-root $kubelet $resource --ids "${all[2]},${all[5]}"
test-kubelet free --kubelet-root $kubelet --ids "${all[2]},${all[5]}"
test-kubelet allocate --kubelet-root $kubelet $resource --ids "${all[2]}" > /run/t/answer
check 'the answer has the nodes that sysfs has' is "$(ls "$pci/${all[2]}/infiniband_verbs" "$pci/${all[2]}/infiniband_mad" | grep -E '^(uverbs|umad|issm)' | sort)" \
    bash -c "jq -r '.devices[].host_path' /run/t/answer | grep -v rdma_cm | sed 's,.*/,,' | sort"
check 'an unknown device is refused' refused_with 'unknown\|not in\|no device' \
    test-kubelet allocate --kubelet-root $kubelet $resource --ids 0000:99:00.0
check 'the device-info file' has "\"rdma-device\":\"$(rdmadev "${all[2]}")\"" \
    cat "/var/run/k8s.cni.cncf.io/devinfo/dp/nvidia.com-hostdev-${all[2]}-device.json"
test-kubelet free --kubelet-root $kubelet --ids "${all[2]}"

section 'restart with every VF in a pod'
kubelet_list > /run/t/list.before
cd $pci || exit
for i in "${!all[@]}"; do ip netns add "p$i"; cni ADD "p$i" "${all[i]}" > /dev/null || echo "FAIL ADD p$i"; done
check 'no netdev of a VF is left in the host' is '' find "${all[@]/%//net}" -mindepth 1
kill -9 $server
wait $server 2> /dev/null
eventually refused kill -0 $server
serve
check 'kubelet is offered eight devices' offered 8
kubelet_list > /run/t/list.after
check 'the list is identical' diff /run/t/list.before /run/t/list.after
check 'inspect has every VF in the pool' is "${all[*]}" ids '.resources[].devices[]'
for i in "${!all[@]}"; do cni DEL "p$i" "${all[i]}" || echo "FAIL DEL p$i"; ip netns del "p$i"; done
check 'TERM stops it' stop
check 'its socket is gone' refused test -e $kubelet/plugins_registry/nvidia.com_hostdev.sock
check 'the device-info file stays' test -e "/var/run/k8s.cni.cncf.io/devinfo/dp/nvidia.com-hostdev-${all[2]}-device.json"

section 'as in its DaemonSet: another network namespace, the host below /host'
mkdir -p /host-root/sys /host-root/proc /host-root/dev
for folder in sys proc dev; do mount --bind /$folder /host-root/$folder; done
ip netns add plugin
inside() { ip netns exec plugin vfrail inspect --root /host-root --config-file $config -o json | jq -r '[.resources[].devices[]] | sort | join(" ")'; }
check 'inspect sees the same devices' is "${all[*]}" inside
ip link set "$(netdev "${all[0]}")" up
ip route add default dev "$(netdev "${all[0]}")"
check 'and refuses a VF with the default route' is "${all[*]:1}" inside
ip route del default
ip link set "$(netdev "${all[0]}")" down
ip netns del plugin
for folder in sys proc dev; do umount /host-root/$folder; done

section 'serve, legacy registration'
rmdir $kubelet/plugins_registry
serve --registration legacy
check 'kubelet is offered eight devices' offered 8
check 'after a restart of kubelet again' test-kubelet restart --kubelet-root $kubelet
check 'kubelet is offered eight devices' offered 8
grep VmRSS /proc/$server/status
check 'TERM stops it' stop

# RDMA devices were made anew and moved, so their nodes' numbers may be dealt differently.
numbers() { sed -E 's/(uverbs|umad)[0-9]+/\1N/g' "$1"; }
node_state > /tmp/after
check 'the node is as before' diff <(numbers /tmp/before) <(numbers /tmp/after)
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 /run/t/serve.log /run/t/cni.log
