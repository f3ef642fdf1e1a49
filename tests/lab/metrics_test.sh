#!/bin/bash
# `vfrail serve --metrics-address` with real VFs and RDMA devices: the traffic of a device in a pod has the pod's name.
# igb reports nothing about its VFs' traffic (it has no ndo_get_vf_stats), so the counters are read in the pods' network
# namespaces, and in sysfs for devices in the host. Programs: vfrail, vfrail-cni, test-kubelet.
. /lab/lib.sh
lab_up 4

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
port=9808
mkdir -p $kubelet/device-plugins $kubelet/plugins_registry /run/t
ip link set lo up
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
cat > /run/t/config.json << 'END'
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                   "selectors": {"vendors": ["8086"], "isRdma": true}}]}
END

# page NAME: prints what is answered; fails unless that is 200. inside: the command that enters the plugin's namespace.
inside=()
page() {
    local answer
    answer=$("${inside[@]}" bash -c "exec 3<> /dev/tcp/127.0.0.1/$port && printf 'GET /$1 HTTP/1.0\r\n\r\n' >&3 && cat <&3") || return
    sed '1,/^\r$/d' <<< "$answer"
    [[ $answer == 'HTTP/1.'?' 200 '* ]]
}
scrape_has() { has "$1" scrape; }
scrape() { page metrics > /run/t/metrics && cat /run/t/metrics; }
# value NAME LABELS: of the series with these labels, in this order and maybe more behind them; sums if it has several.
value() { scrape | awk -v start="$1{$2" 'index($0, start) == 1 {sum += $NF; found = 1} END {if (found) printf "%d\n", sum; exit !found}'; }
more_than() { local now; now=$(value "$2" "$3") || return; echo "$now"; [ "$now" -gt "$1" ]; }
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni 2>> /run/t/cni.log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"vfrail\", \"deviceID\": \"$3\"}"
}
serve() { vfrail serve --config-file /run/t/config.json --metrics-address localhost:$port "$@" >> /run/t/serve.log 2>&1 & server=$!; }
stop() { kill -TERM $server; eventually refused kill -0 $server; }

section 'health and readiness'
serve
check 'alive without kubelet' eventually is ok page healthz
check 'not ready, and why' eventually refused_with 'kubelet has not registered it yet' page readyz
test-kubelet run --kubelet-root $kubelet > /run/t/kubelet.log 2>&1 &
check 'ready when kubelet has registered the resource' eventually is ok page readyz
check 'eight devices' is 8 value vfrail_devices 'resource="nvidia.com/hostdev",state="healthy"'
check 'the PFs are left out' is 2 value vfrail_devices_left_out 'reason="has_vfs"'
check 'none is in use' is 0 value vfrail_devices_in_use 'resource='

section 'pods'
a=${all[0]} b=${all[4]}
labels() { echo "resource=\"$resource\",device=\"$1\""; }
in_pod() { echo "$(labels "$1"),namespace=\"ml\",pod=\"$2\",container=\"main\""; }
for one in "$a train-0" "$b train-1"; do
    set -- $one
    ip netns add "$2"
    test-kubelet allocate --kubelet-root $kubelet $resource --ids "$1" --pod "ml/$2/main" > /dev/null || echo "FAIL allocate $1"
    cni ADD "$2" "$1" > /dev/null || echo "FAIL ADD $2"
done
ip -n train-0 addr add 10.7.0.1/24 dev net1
ip -n train-1 addr add 10.7.0.2/24 dev net1
check 'two are in use' is 2 value vfrail_devices_in_use 'resource='
check 'its counters are there, under the name of the pod' value vfrail_device_receive_bytes_total "$(in_pod "$a" train-0)"
received=$(value vfrail_device_receive_bytes_total "$(in_pod "$b" train-1)")
sent=$(value vfrail_device_transmit_packets_total "$(in_pod "$a" train-0)")
check 'one pod reaches the other' eventually ip netns exec train-0 ping -c 3 -s 1000 -W 2 10.7.0.2
check 'what one sends is counted for it' eventually more_than $((sent + 2)) vfrail_device_transmit_packets_total "$(in_pod "$a" train-0)"
check 'what the other receives is counted for that' eventually more_than $((received + 2999)) vfrail_device_receive_bytes_total "$(in_pod "$b" train-1)"
check 'the RDMA device in the pod is counted, too' value vfrail_rdma_port_stats_total "$(labels "$a"),rdma_device=\"mlx5_0\",port=\"1\",counter=\"sent_pkts\",namespace=\"ml\",pod=\"train-0\""
check 'nothing is without counters' lacks '^vfrail_devices_without_counters{' scrape

section 'vfrail top, vfrail doctor'
# Traffic of the pods while top reads twice.
top_while_pinging() {
    ip netns exec train-0 ping -q -i 0.05 -s 1000 10.7.0.2 > /dev/null &
    local ping=$! rc=0
    vfrail top --config-file /run/t/config.json -i 2 --once "$@" || rc=$?
    kill $ping
    wait $ping
    return $rc
}
check 'top shows the traffic of a pod under its name' has "$a pod=ml/train-0 .*net_tx_bytes=[1-9]" top_while_pinging --pod ml/train-0
check 'and no other' lacks train-1 top_while_pinging --pod ml/train-0
check 'as JSON, a document a line' has '^{"schema_version":2,"interval_ms":[1-9][0-9]*,"traffic":\[{"id":"'"$a"'"' top_while_pinging -o json "$a"
check 'a device that is not there is named' refused_with 'no function here is called "0000:ff:00.0"' vfrail top --once 0000:ff:00.0
check 'doctor finds the mode of RDMA' has 'ok      VF-N04 rdma-netns-mode     exclusive' vfrail doctor --all
check 'and that it cannot know which CNI plugins are installed' has 'unknown VF-N31 cni  */opt/cni/bin is not there' vfrail doctor

section 'RDMA in the host'
# rxe sends from the first namespace only.
c=${all[1]} d=${all[5]}
ip addr add 10.8.0.1/24 dev "$(netdev "$c")"; ip link set "$(netdev "$c")" up
ip addr add 10.8.1.1/24 dev "$(netdev "$d")"; ip link set "$(netdev "$d")" up
rdma_sent() { value vfrail_rdma_port_stats_total "$(labels "$c"),rdma_device=\"$(rdmadev "$c")\",port=\"1\",counter=\"sent_pkts\""; }
check 'the port comes up' eventually has 'state ACTIVE' rdma link show "$(rdmadev "$c")/1"
before=$(rdma_sent)
pingpong() {
    local server rc=0
    ibv_rc_pingpong -d "$(rdmadev "$c")" -g 1 -n 100 > /dev/null 2>&1 &
    server=$!
    # Until it listens the other end is refused; when it has served once it ends.
    eventually ibv_rc_pingpong -d "$(rdmadev "$c")" -g 1 -n 100 127.0.0.1 || { rc=1; kill $server; }
    wait $server
    return $rc
}
check 'traffic over the RDMA device' pingpong
rose() { local now; now=$(rdma_sent) && echo "$before, then $now" && [ "$now" -gt "$before" ]; }
check 'is counted' eventually rose
ip addr flush dev "$(netdev "$c")"; ip addr flush dev "$(netdev "$d")"
check 'TERM stops it' stop
check 'and nobody answers any more' refused page healthz

section 'as in its DaemonSet: another network namespace, the host below /host-root, and no way into the pods'
mkdir -p /host-root/sys /host-root/proc /host-root/dev
for folder in sys proc dev; do mount --bind /$folder /host-root/$folder; done
ip netns add plugin
inside=(ip netns exec plugin)
"${inside[@]}" ip link set lo up
"${inside[@]}" vfrail serve --root /host-root --config-file /run/t/config.json --metrics-address localhost:$port >> /run/t/serve.log 2>&1 &
server=$!
check 'ready' eventually is ok page readyz
check 'the traffic of devices in the host is reported' value vfrail_device_receive_bytes_total "$(labels "$d")"
check 'what cannot be read is reported, with the reason' is 2 value vfrail_devices_without_counters 'counters="traffic",reason="pf_out_of_reach"'
check 'and for RDMA' is 2 value vfrail_devices_without_counters 'counters="rdma",reason="pod_out_of_reach"'
check 'pods are known all the same' is 2 value vfrail_devices_in_use 'resource='
check 'TERM stops it' stop

section 'as the chart makes its container with metrics.podCounters: two capabilities, and the namespaces of pods'
# They are mounted as kubelet does for HostToContainer: those of later pods arrive.
bundle=/run/t/bundle
mkdir -p $bundle/rootfs/usr/bin $bundle/rootfs/{proc,dev,sys,tmp,run/t,host/sys,host/proc/1/net,host/run/netns}
mkdir -p $bundle/rootfs/{etc,var/lib/kubelet,var/lib/cni,var/run/k8s.cni.cncf.io}
cp "$(command -v vfrail)" $bundle/rootfs/usr/bin/
(cd $bundle && runc spec && mv config.json spec.json)
container() { # container CAPABILITY...
    jq --arg port $port '($ARGS.positional | map("CAP_" + .)) as $caps |
        .process.terminal = false | .root.readonly = false | .hostname = "plugin" |
        .process.args = ["/usr/bin/vfrail", "serve", "--root=/host", "--config-file=/run/t/config.json", "--metrics-address=localhost:\($port)"] |
        .process.capabilities = {bounding: $caps, effective: $caps, permitted: $caps} |
        .linux.namespaces |= (map(select(.type != "network")) + [{type: "network", path: "/run/netns/plugin"}]) |
        .mounts |= map(select(.type != "cgroup")) |
        .mounts += [{destination: "/host/sys", source: "/sys", type: "bind", options: ["rbind", "ro"]},
            {destination: "/host/proc/1/net", source: "/proc/1/net", type: "bind", options: ["rbind", "ro"]},
            {destination: "/host/run/netns", source: "/run/netns", type: "bind", options: ["rbind", "rslave", "ro"]},
            {destination: "/run/t/config.json", source: "/run/t/config.json", type: "bind", options: ["rbind", "ro"]},
            {destination: "/var/lib/kubelet", source: "/var/lib/kubelet", type: "bind", options: ["rbind"]}]' \
        $bundle/spec.json --args "$@" > $bundle/config.json
    runc run --bundle $bundle plugin >> /run/t/serve.log 2>&1 &
    server=$!
}
stop_container() { runc kill plugin TERM; eventually refused kill -0 $server; }
container NET_BROADCAST
check 'without SYS_ADMIN it is ready' eventually is ok page readyz
check 'and may not enter' is 2 value vfrail_devices_without_counters 'counters="rdma",reason="pod_out_of_reach"'
check 'TERM stops it' stop_container
container NET_BROADCAST SYS_ADMIN
check 'with it as well' eventually is ok page readyz
e=${all[2]}
ip netns add train-2
test-kubelet allocate --kubelet-root $kubelet $resource --ids "$e" --pod ml/train-2/main > /dev/null || echo 'FAIL allocate'
cni ADD train-2 "$e" > /dev/null || echo 'FAIL ADD'
for one in "$a train-0" "$b train-1" "$e train-2"; do
    set -- $one
    check "traffic of $2" eventually value vfrail_device_receive_bytes_total "$(in_pod "$1" "$2")"
    check 'and of its RDMA device' scrape_has "^vfrail_rdma_port_stats_total{$(labels "$1"),.*counter=\"sent_pkts\",namespace=\"ml\",pod=\"$2\""
done
check 'nothing is without counters' lacks '^vfrail_devices_without_counters{' scrape
check 'TERM stops it' stop_container
cni DEL train-2 "$e"; ip netns del train-2

inside=()
ip netns del plugin
for folder in sys proc dev; do umount /host-root/$folder; done
for one in "$a train-0" "$b train-1"; do set -- $one; cni DEL "$2" "$1"; ip netns del "$2"; done

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 /run/t/serve.log /run/t/cni.log /run/t/metrics
