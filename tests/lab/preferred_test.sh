#!/bin/bash
# Which VFs a pod gets, with real VFs and a GPU: the test kubelet asks `vfrail serve` as kubelet does.
# Programs: vfrail, test-kubelet. The VM has a GPU beside pf1, on the second NUMA node (see tests/run).
. /lab/lib.sh
lab_up 4 --rdma none

kubelet=/var/lib/kubelet
config=/run/t/config.json
mkdir -p $kubelet/plugins_registry /run/t

# resource PREFERENCE: a configuration with all VFs in one resource.
resource() {
    jq -n --arg preference "$1" '{resourceList: [{resourcePrefix: "lab", resourceName: "vf",
        preferredAllocation: $preference, selectors: {vendors: ["8086"], drivers: ["igbvf"]}}]}' > $config
}
inspect() { vfrail inspect --config-file $config --distances "$@"; }
# allocate COUNT: the buses of the VFs that a container gets, "21 41".
allocate() { test-kubelet allocate --kubelet-root $kubelet lab/vf "$1" | jq -r '[.ids[][5:7]] | sort | join(" ")'; }
# prefers PREFERENCE: serves with it, to a kubelet that has allocated nothing.
server=
prefers() {
    [ -z "$server" ] || { kill -TERM $server; wait $server; kill -TERM $player; wait $player; }
    resource "$1"
    test-kubelet run --kubelet-root $kubelet >> /run/t/kubelet.log 2>&1 & player=$!
    vfrail serve --config-file $config --registration watcher --log-level debug >> /run/t/serve.log 2>&1 & server=$!
    check "$1: all VFs are offered" eventually test-kubelet capacity --kubelet-root $kubelet --wait lab/vf=8 --timeout 60
}

section 'distances'
resource pcie
gpu=$(grep -l '^0x0380' $pci/*/class)
gpu=$(basename "$(dirname "$gpu")")
check 'the GPU is found' is "$gpu" jq -r '.gpus[].address' <<< "$(inspect -o json)"
distances=$(inspect -o json | jq '.distances[0].pfs')
check 'it shares the host bridge of pf1' is PHB jq -r --arg gpu "$gpu" '.[1].gpus[$gpu]' <<< "$distances"
check 'and is on another NUMA node than pf0' is SYS jq -r --arg gpu "$gpu" '.[0].gpus[$gpu]' <<< "$distances"
check 'so are the two PFs from each other' is SYS jq -r '.[0].pfs["0000:41:00.0"]' <<< "$distances"
check 'the table says the same' has '^P1  *PHB  *SYS  *X  *1  *4  *0000:41:00.0' inspect

section 'preferred devices'
prefers pcie
check 'pcie: VFs of the NIC beside the GPU' is '41' allocate 1
check 'pcie: as many as there are' is '41 41 41' allocate 3
check 'pcie: then the others' is '21 21' allocate 2
prefers distinctPF
check 'distinctPF: one of each' is '21 41' allocate 2
check 'distinctPF: two of each' is '21 21 41 41' allocate 4
prefers pack
check 'pack: all of one' is '21 21' allocate 2
check 'pack: what is left of it first' is '21' allocate 1
check 'pack: a PF that has enough' is '41 41' allocate 2
prefers spread
check 'spread: one' is '21' allocate 1
check 'spread: the other PF next' is '41' allocate 1
check 'what was proposed is in the log at debug level' has 'preferred devices.*0000:41:10' cat /run/t/serve.log
prefers none
asked() { grep -c 'preferred devices' /run/t/serve.log; }
asked=$(asked)
check 'none: kubelet chooses' is '21 21' allocate 2
check 'and has not asked' is "$asked" asked
kill -TERM $server $player
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 40 /run/t/serve.log /run/t/kubelet.log
