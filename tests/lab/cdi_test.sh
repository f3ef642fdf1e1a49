#!/bin/bash
# CDI in RDMA's exclusive mode: eight pods at once, each with a VF whose device nodes get other numbers by the move, and
# a container of each, made by runc from what the CDI spec says, opens the node of its own device and of no other.
# What a runtime does with CDI specs (read the folder, check, find the device, edit the OCI configuration) is done here by
# jq, as the specification of CDI 0.5.0 has it.
# Programs: vfrail, vfrail-cni, test-kubelet.
. /lab/lib.sh
lab_up 5

resource=nvidia.com/hostdev
kubelet=/var/lib/kubelet
specs=/var/run/cdi
work=/run/t
mkdir -p $kubelet/plugins_registry $work
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
first=("${all[@]:0:2}") pods=("${all[@]:2:8}")
config=$work/config.json
cat > $config << 'END'
{"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                   "selectors": {"vendors": ["8086"], "isRdma": true}}]}
END

# ---- A node's programs --------------------------------------------------------------------------------------------

serve() { vfrail serve --config-file $config --use-cdi "$@" >> $work/serve.log 2>&1 & server=$!; }
allocate() { test-kubelet allocate --kubelet-root $kubelet $resource --ids "$1"; }
cni() {
    CNI_COMMAND=$1 CNI_CONTAINERID=$2 CNI_NETNS=/run/netns/$2 CNI_IFNAME=net1 CNI_PATH=/usr/local/bin \
        vfrail-cni 2>> $work/cni.log <<< "{\"cniVersion\": \"1.0.0\", \"name\": \"n\", \"type\": \"vfrail\", \"deviceID\": \"$3\"}"
}
# verbs_of VF: "uverbs4". The folder that shows it knows no namespaces.
verbs_of() { ls "$pci/$1/infiniband_verbs"; }
nodes_of() { (cd "$pci/$1" && ls infiniband_verbs infiniband_mad) | grep -E '^(uverbs|umad|issm)' | sort | paste -sd ' '; }
nodes_in_spec() { jq -r '.devices[].containerEdits.deviceNodes[].hostPath' "$1" | sed 's,.*/,,' | grep -v rdma_cm | sort | paste -sd ' '; }
spec_of() { echo "$specs/vfrail-nvidia.com-net-pci-$1.json"; }

# ---- A runtime's part of CDI --------------------------------------------------------------------------------------

# valid_spec FILE: the rules of CDI 0.5.0 (schema.json, and validation by its library).
valid_spec() {
    jq -e '
        def only(names): (keys - names) == [];
        def name: test("^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$");
        def node: only(["path", "hostPath", "type", "major", "minor", "fileMode", "permissions", "uid", "gid"])
            and (.path | startswith("/")) and (.hostPath | startswith("/")) and (.permissions | test("^[rwm]+$"));
        def edits: only(["env", "deviceNodes", "hooks", "mounts"])
            and (.deviceNodes | type == "array" and length > 0 and all(node));
        only(["cdiVersion", "kind", "devices", "containerEdits"])
            and (.cdiVersion | . == "0.5.0")
            and (.kind | test("^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$"))
            and (.devices | type == "array" and length > 0
                and all(only(["name", "containerEdits"]) and (.name | name) and (.containerEdits | edits)))' "$1"
}
# find_spec NAME: the one file that defines the device "vendor/class=device"; two are a conflict.
find_spec() {
    local found
    found=$(jq -r --arg kind "${1%%=*}" --arg name "${1#*=}" \
        'select(.kind == $kind and any(.devices[]; .name == $name)) | input_filename' $specs/*.json)
    [ -n "$found" ] && [ "$(wc -l <<< "$found")" = 1 ] && echo "$found"
}
# inject CONFIG NAME...: edits an OCI configuration: each node is made in the container, and allowed by its device cgroup.
inject() {
    local config=$1 name spec path host permissions numbers devices
    shift
    devices=$(for name in "$@"; do
        spec=$(find_spec "$name") && valid_spec "$spec" > /dev/null || { echo "\"unresolvable CDI device $name\""; return; }
        jq -r --arg name "${name#*=}" '.devices[] | select(.name == $name).containerEdits.deviceNodes[] |
            "\(.path) \(.hostPath) \(.permissions)"' "$spec"
    done | while read -r path host permissions; do
        [ -c "$host" ] || { echo "\"no character device $host\""; return; }
        numbers=$(stat -c '0x%t,0x%T' "$host")
        echo "{\"path\": \"$path\", \"major\": $((${numbers%,*})), \"minor\": $((${numbers#*,})), \"access\": \"$permissions\"}"
    done)
    jq --argjson edits "$(jq -s . <<< "$devices")" '
        if any($edits[]; type == "string") then error($edits | tostring) else . end |
        .linux.devices = [$edits[] | {path, type: "c", major, minor}] |
        .linux.resources.devices += [$edits[] | {allow: true, type: "c", major, minor, access}]' \
        "$config" > "$config.new" && mv "$config.new" "$config"
}

# ---- Containers ---------------------------------------------------------------------------------------------------

# What runs in the container: which nodes are there, what the kernel says of the one that is opened, and which of all
# verbs nodes that a node can have (/nodes has one for each minor number) can be opened.
cat > $work/inside << 'END'
#!/bin/bash
echo nodes $(ls /dev/infiniband)
ibv_devinfo
for node in /nodes/*; do
    # Whether the device cgroup or RDMA's namespaces say no, it is EPERM. ENXIO would be "you may, but there is none".
    if answer=$( (exec 3<> "$node") 2>&1); then echo "can open ${node##*/}"
    elif [[ $answer != *'not permitted'* ]]; then echo "may open ${node##*/}"; fi
done
END
chmod 755 $work/inside
mkdir $work/nodes
# 231:192 is uverbs0.
for ((i = 0; i < 12; i++)); do mknod $work/nodes/uverbs$i c 231 $((192 + i)); done

# bundle POD: a container of the pod without any device.
bundle() {
    local dir=$work/bundle.$1
    rm -rf "$dir"
    mkdir -p "$dir/rootfs"/{bin,usr,lib,lib64,etc,proc,sys,dev,run,nodes}
    (cd "$dir" && runc spec)
    cp $work/inside "$dir/rootfs/run/"
    jq --arg netns "/run/netns/$1" --arg name "$1" '
        .process.terminal = false | .process.args = ["/bin/bash", "/run/inside"] | .root.readonly = false |
        .process.env = ["PATH=/usr/bin:/bin:/bin/bb"] | .hostname = $name |
        .linux.namespaces |= (map(select(.type != "network")) + [{type: "network", path: $netns}]) |
        .linux.devices = [] | .linux.cgroupsPath = "/\($name)" |
        .mounts |= map(select(.type != "cgroup")) |
        .mounts += [("/bin", "/usr", "/lib", "/lib64", "/etc") |
                    {destination: ., type: "bind", source: ., options: ["rbind", "ro"]}] |
        .mounts += [{destination: "/nodes", type: "bind", source: "/run/t/nodes", options: ["bind"]}]' \
        "$dir/config.json" > "$dir/config.new" && mv "$dir/config.new" "$dir/config.json"
}
# run_container POD NAME...: with these CDI devices. What it printed.
run_container() {
    local pod=$1
    shift
    bundle "$pod" && inject "$work/bundle.$pod/config.json" "$@" && runc run --bundle "$work/bundle.$pod" "$pod" 2>&1
}
names_in() { jq -r '.cdi_devices[]' "$1"; }

# device_in FILE: "mlx5_2 GUID" of each device that ibv_devinfo could open.
device_in() { sed -nE 's/^(hca_id|\s*node_guid):\s*//p' "$1" | paste -sd ' '; }

# start_pod I: what kubelet, Multus and the runtime do for a pod whose devices have been allocated.
start_pod() {
    local names
    mapfile -t names < <(names_in $work/answer.$1)
    cni ADD "p$1" "${pods[$1]}" > $work/add.$1 || { echo "ADD failed" > $work/said.$1; return; }
    verbs_of "${pods[$1]}" > $work/number.$1
    run_container "p$1" "${names[@]}" > $work/said.$1
}
own_device_only() {
    is "nodes $(echo rdma_cm "$(nodes_of "${pods[$1]}")" | tr ' ' '\n' | sort | paste -sd ' ')" grep '^nodes ' $work/said.$1 &&
        is "$(cat $work/device.$1)" device_in $work/said.$1 &&
        is "can open $(verbs_of "${pods[$1]}")" grep -E '^(can|may) open' $work/said.$1
}

# ---- The test -----------------------------------------------------------------------------------------------------

section 'eight devices are allocated'
# The name and the GUID of each pod's device, which no move changes: "mlx5_2 ....".
for i in "${!pods[@]}"; do
    device=$(rdmadev "${pods[i]}")
    device_in <(ibv_devinfo -d "$device") > $work/device.$i
done
check 'no two devices look alike' is 8 bash -c "sort -u $work/device.* | wc -l"
test-kubelet run --kubelet-root $kubelet > $work/kubelet.log 2>&1 &
echo theirs > /run/theirs; mkdir -p $specs; cp /run/theirs $specs/other.txt
serve
check 'kubelet is offered ten devices' eventually test-kubelet capacity --kubelet-root $kubelet --wait "$resource=10" --timeout 60
for i in "${!pods[@]}"; do
    allocate "${pods[i]}" > $work/answer.$i || echo "FAIL Allocate $i"
    nodes_of "${pods[i]}" > $work/nodes.$i
    verbs_of "${pods[i]}" > $work/before.$i
done
check 'the answer to kubelet has no device node' is 0 jq -s '[.[].devices[]] | length' $work/answer.*
check 'but a name, in the field and in an annotation' is "nvidia.com/net-pci=${pods[0]} nvidia.com/net-pci=${pods[0]}" \
    jq -r '.cdi_devices[0] + " " + (.annotations | to_entries[] | select(.key | startswith("cdi.k8s.io/")).value)' $work/answer.0
check 'no two annotation keys are the same' is 8 jq -s '[.[].annotations | keys[]] | unique | length' $work/answer.*
check 'the variables are there as without CDI' has "\"PCIDEVICE_NVIDIA_COM_HOSTDEV\": \"${pods[3]}\"" cat $work/answer.3
for i in "${!pods[@]}"; do
    check "spec of pod $i is one by the rules of CDI" valid_spec "$(spec_of "${pods[i]}")"
    check "spec of pod $i has the nodes of its device" is "$(cat $work/nodes.$i)" nodes_in_spec "$(spec_of "${pods[i]}")"
done

section 'eight pods at once'
# The two lowest numbers come free, and every device that moves now takes a number which was another's.
for vf in "${first[@]}"; do rdma link del "$(rdmadev "$vf")"; done
for i in "${!pods[@]}"; do ip netns add "p$i"; done
starting=()
for i in "${!pods[@]}"; do start_pod "$i" & starting+=($!); done
wait "${starting[@]}"
changed=$(for i in "${!pods[@]}"; do cmp -s $work/before.$i $work/number.$i || echo "$i"; done | wc -l)
echo "numbers: before $(cat $work/before.* | paste -sd ' '), after $(cat $work/number.* | paste -sd ' ')"
check "numbers have changed ($changed of 8)" [ "$changed" -ge 1 ]
for i in "${!pods[@]}"; do
    check "spec of pod $i has the nodes of its device now" is "$(nodes_of "${pods[i]}")" nodes_in_spec "$(spec_of "${pods[i]}")"
    check "container of pod $i opens its own device, and no other" own_device_only "$i" || cat $work/said.$i
done
check 'no half-written file is left' is '' find $specs -name '*.new*'

section 'what would have been without it'
run_container p0 > $work/said.without
check 'without the spec the container cannot open even its own device' lacks '^\(can\|may\) open' cat $work/said.without
check 'two files that define a device would be a conflict' bash -c "cp '$(spec_of "${pods[0]}")' $specs/copy.json"
check 'and the device unresolvable' refused find_spec "nvidia.com/net-pci=${pods[0]}"
rm $specs/copy.json

section 'the sandbox is made again without another Allocate'
for i in 0 1; do cni DEL "p$i" "${pods[i]}" || echo "FAIL DEL p$i"; done
for i in 1 0; do start_pod "$i"; done
for i in 0 1; do check "container of pod $i opens its own device, and no other" own_device_only "$i" || cat $work/said.$i; done

section 'the plugin is restarted while pods run'
sha256sum $specs/* > $work/specs.before
kill -9 $server; wait $server 2> /dev/null
serve
check 'kubelet is offered the devices again' eventually test-kubelet capacity --kubelet-root $kubelet --wait "$resource=8" --timeout 60
kill -TERM $server
check 'TERM stops it' eventually refused kill -0 $server
check 'the specs of running pods are untouched, and what is not ours' diff $work/specs.before <(sha256sum $specs/*)
run_container p5 "nvidia.com/net-pci=${pods[5]}" > $work/said.5
check 'a container that kubelet starts again opens its own device, and no other' own_device_only 5

section 'the next pods'
for i in "${!pods[@]}"; do cni DEL "p$i" "${pods[i]}" || echo "FAIL DEL p$i"; ip netns del "p$i"; done
serve
check 'kubelet is offered the devices' eventually test-kubelet capacity --kubelet-root $kubelet --wait "$resource=8" --timeout 60
test-kubelet free --kubelet-root $kubelet --ids "$(IFS=,; echo "${pods[*]}")"
allocate "${pods[4]}" > /dev/null
check 'Allocate writes the spec anew' is "$(nodes_of "${pods[4]}")" nodes_in_spec "$(spec_of "${pods[4]}")"
echo 0 > "$pci/0000:41:00.0/sriov_numvfs"
kill -HUP $server
check 'the specs of VFs that are destroyed go' eventually refused test -e "$(spec_of "${pods[7]}")"
check 'the others stay' test -e "$(spec_of "${pods[0]}")"
check 'and what is not ours' cmp -s /run/theirs $specs/other.txt
kill -TERM $server
check 'TERM stops it' eventually refused kill -0 $server

check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 $work/serve.log $work/cni.log
