# shellcheck shell=bash
# Devices by Dynamic Resource Allocation, for scenarios: the chart with it, the second Multus, slices and claims. Sourced by scenarios.
driver=vfrail.io

# dra_can_run: the scenario is skipped where what it needs is not there.
dra_can_run() {
    if [ "$set" = oldest ]; then
        skip "Kubernetes ${kubernetes[oldest]} has no resource.k8s.io/v1"
    elif [ ! -x "$CLUSTER_BUILD/bin/multus-claims" ]; then
        skip 'there is no Multus that resolves claims: tests/cluster/build says why'
    fi
    [ -z "$skipped" ]
}
# multus_is claims|release: the node's Multus is the second, or the first again.
multus_is() {
    local file=/node/multus-claims
    [ "$1" = claims ] || file=/node/cni/multus
    on_node "cp $file /opt/cni/bin/.multus.new && mv /opt/cni/bin/.multus.new /opt/cni/bin/multus && cmp $file /opt/cni/bin/multus"
}
# dra_installed [OPTION...]: the chart with DRA, and the class hostdev for the resource.
dra_installed() {
    installed --set dra.enabled=true --set-json "dra.deviceClasses=[{\"name\":\"hostdev\",\"resource\":\"$RESOURCE\"}]" "$@"
}
# no_plugin: kubelet's device plugin has none of the resource, or no such resource.
no_plugin() { [[ $(allocatable) =~ ^0?$ ]]; }

# devices JQ: of the devices in the driver's slices on the node JQ's raw output, a line for each.
devices() {
    kubectl get resourceslices --field-selector "spec.driver=$driver,spec.nodeName=$NODE" -o json |
        jq -r ".items | sort_by(.metadata.name)[].spec.devices[]? | $1"
}
# published: how many of them a claim can get.
published() { devices 'select(any(.taints[]?; .effect != "None") | not).name' | wc -l; }
# in_slices: all of them.
in_slices() { devices .name | wc -l; }
# attribute NAME: of each device, "none" of one that lacks it; NAME without a domain is the driver's.
attribute() { devices ".attributes[\"$1\"] | [.string?, .int?, .bool?, .version?] | map(select(. != null) | tostring) | first // \"none\""; }

# allocated: the devices of the driver in claims, a line for each.
allocated() {
    kubectl get resourceclaims -A -o json |
        jq -r --arg driver "$driver" '.items[].status.allocation.devices.results[]? | select(.driver == $driver).device'
}
# claims_of POD: names of its claims, that of its extended resources first.
claims_of() {
    kubectl get pod "$1" -o json |
        jq -r '.status | (.extendedResourceClaimStatus.resourceClaimName // empty), (.resourceClaimStatuses[]?.resourceClaimName // empty)'
}
# how_many_allocated, how_many_of POD: the same as numbers, for checks that wait.
how_many_allocated() { allocated | wc -l; }
how_many_of() { results_of "$1" | wc -l; }
# results_of POD: "DRIVER DEVICE" of each result of its claims.
results_of() {
    local claim
    for claim in $(claims_of "$1"); do
        kubectl get resourceclaim "$claim" -o json | jq -r '.status.allocation.devices.results[]? | "\(.driver) \(.device)"'
    done
}
# prepared: the files of claims on the node: vfrail's records, and specs that name a claim. Of what is offered the files are no claim's.
prepared() { on_node 'find /run/vfrail/claims /run/vfrail/prepared -type f -name "*.json" 2> /dev/null; grep -lE "[-=\"][0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}" /var/run/cdi/* 2> /dev/null; true'; }

# template NAME DEVICES: a ResourceClaimTemplate; DEVICES is the JSON of its spec.devices.
template() {
    jq -n --arg name "$1" --argjson devices "$2" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceClaimTemplate",
        metadata: {name: $name}, spec: {spec: {devices: $devices}}}' | kubectl apply -f - > /dev/null
}
# nics COUNT: the JSON for so many devices of the class.
nics() { echo '{"requests": [{"name": "nic", "exactly": {"deviceClassName": "hostdev", "count": '"$1"'}}]}'; }
# pod_with_claim NAME NETWORKS SOURCE: a pod whose container has a claim; SOURCE is resourceClaimTemplateName=NAME or
# resourceClaimName=NAME.
pod_with_claim() {
    jq -n --arg name "$1" --arg networks "$2" --arg key "${3%%=*}" --arg source "${3#*=}" --argjson spec "$(pod_spec 0)" '
        {apiVersion: "v1", kind: "Pod", metadata: {name: $name, labels: {app: "test"},
            annotations: {"k8s.v1.cni.cncf.io/networks": $networks}},
         spec: ($spec | .resourceClaims = [{name: "nic", ($key): $source}] | .containers[0].resources.claims = [{name: "nic"}])}' |
        kubectl apply -f - > /dev/null
}

# variables POD: what its programs see of its devices, without the numbers, which are others each time.
variables() {
    in_pod "$1" env | grep ^PCIDEVICE_ | sort | sed -E 's/0000:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]/FUNCTION/g; s/(uverbs|umad|issm|mlx5_|rdma|igb_)[0-9]+/\1N/g'
}
# works POD [INTERFACE...]: it runs, and has each interface with an address and an RDMA device for it (default net1).
works() {
    local name=$1 interface
    shift
    [ $# -gt 0 ] || set -- net1
    check "$name runs" eventually running "$name"
    for interface in "$@"; do
        check "its $interface has an address of the range" has 'inet 192\.168\.100\.' in_pod "$name" ip address show "$interface"
    done
    check "its RDMA devices are active" is $# bash -c 'grep -c PORT_ACTIVE <<< "$1"' - "$(in_pod "$name" ibv_devinfo)"
}
# extended: the scheduler makes claims for pods that ask for the resource (DRAExtendedResource, on by default from 1.36 on).
extended() { [ "$set" != 1.34 ]; }
# asks NAME NETWORKS COUNT: a pod that asks for so many devices as a pod of the device plugin does, or else by a template of that many.
asks() {
    if extended; then
        pod "$@"
    else
        template "nics-$3" "$(nics "$3")"
        pod_with_claim "$1" "$2" "resourceClaimTemplateName=nics-$3"
    fi
}
# agent_token [POD]: a token of vfrail's service account, for this pod or for none.
agent_token() {
    local bound=()
    [ $# -eq 0 ] || bound=(--bound-object-kind Pod --bound-object-name "$1")
    kubectl -n kube-system create token vfrail "${bound[@]}"
}
# slice DRIVER NODE: an empty ResourceSlice, as JSON.
slice() {
    jq -n --arg driver "$1" --arg node "$2" '{apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: {name: ("tried-" + $driver)},
        spec: {driver: $driver, nodeName: $node, pool: {name: "tried", generation: 1, resourceSliceCount: 1}, devices: []}}'
}
# as_agent TOKEN COMMAND...: kubectl with that token alone.
as_agent() {
    kubeconfig "https://127.0.0.1:$API" "$1" > "$work/agent.conf"
    shift
    KUBECONFIG=$work/agent.conf "$@"
}

# watch_both: from now on notes each change of what the node's device plugin and the slices have, with the resource version: etcd has
# one order for both. both_at_once: ends that, and prints each version at which both had devices.
watch_both() {
    kubectl get nodes --watch --output-watch-events -o json |
        jq -r --unbuffered --arg resource "$RESOURCE" '"\(.object.metadata.resourceVersion) plugin \(.object.status.allocatable[$resource] // 0)"' > "$work/of-plugin" 2>&1 &
    watches=($!)
    kubectl get resourceslices --watch --output-watch-events -o json |
        jq -r --unbuffered --arg driver "$driver" 'select(.object.spec.driver == $driver) | .object.metadata as $meta |
            "\($meta.resourceVersion) \($meta.name) \(if .type == "DELETED" then 0 else .object.spec.devices | length end)"' > "$work/of-slices" 2>&1 &
    watches+=($!)
    eventually test -s "$work/of-plugin"
}
both_at_once() {
    kill "${watches[@]}" 2> /dev/null
    wait "${watches[@]}" 2> /dev/null
    sort -n "$work/of-plugin" "$work/of-slices" | awk '
        { had[$2] = $3; slices = 0; for (name in had) if (name != "plugin") slices += had[name] }
        had["plugin"] > 0 && slices > 0 { print "version " $1 ": " had["plugin"] " by the device plugin, " slices " in slices" }'
}
