# Every example, every manifest and all that `vfrail example` prints: the API server accepts it, and no field that there is not.
#
# Dry runs on the server. The kinds of other projects are validated by the projects' own CRDs, which tests/cluster/build takes
# from their modules; a kind whose CRD is missing fails. No operator runs here, so what one refuses by a webhook of its own is
# not found; of the templates in its jobs the API server is asked as of pods.
ends_without_pods=yes               # none begins
program=build/release/bin/vfrail crds=$CLUSTER_BUILD/crds tried=$work/examples
rm -rf "$tried"
mkdir -p "$tried"/{files,kustomize,chart}

section 'kinds of other projects'
# not_served: the CRDs whose kinds kubectl does not find yet.
not_served() {
    local there served
    there=$(kubectl get -f "$crds" -o name) && served=$(kubectl api-resources -o name) || return
    sed 's|.*/||' <<< "$there" | grep -vxF -f <(echo "$served")
    return 0
}
# By the server: they are too long for the annotation that kubectl would keep them in.
check 'the API server takes their CRDs' kubectl apply --server-side -f "$crds"
check 'and serves them' eventually is '' not_served

# accepted FILE: the API server accepts every object of it, a folder or standard input (-), and has no warning for it.
accepted() { kubectl apply --dry-run=server --validate=strict --warnings-as-errors -f "$1"; }

section 'vfrail example'
# What no configuration of examples/ has: a resource with memlock, and RoCE devices that are shared.
jq -n '{resourceList: [{resourceName: "limit_lifted", memlock: "unlimited", selectors: {isRdma: true}}],
    configList: [{resourceName: "shared_roce", rdmaHcaMax: 8, selectors: {linkTypes: ["ether"]}}]}' > "$work/others.json"
resources_of() { "$program" check-config "$1" 2> /dev/null | grep -E '^[^ ]+/[^ ]+$'; }
# print_all KIND: for each resource of each configuration, with the network that is printed with it and with two of the user's.
print_all() {
    local file resources resource words to
    mkdir "$tried/$1"
    for file in examples/config.json examples/configs/*.json "$work/others.json"; do
        resources=$(resources_of "$file") || { echo "$file: no resource"; return 1; }
        for resource in $resources; do
            to=$tried/$1/$(basename "$file" .json)-${resource//\//-}
            words=(example --config-file "$file" --resource "$resource" --kind "$1")
            "$program" "${words[@]}" > "$to.yaml" || return
            "$program" "${words[@]}" --gpus 8 --network rail0 --network team/rail1 > "$to-networks.yaml" || return
        done
    done
}
kinds=$("$program" example --help | sed -nE 's/^ +--kind ([^ ]+).*/\1/p' | tr '|' ' ')
check 'there are kinds to print' has pod echo "$kinds"
for kind in $kinds; do
    check "$kind is printed for each resource" print_all "$kind"
    check "$kind is accepted" accepted "$tried/$kind"
done

section 'examples and manifests'
# elsewhere: what is for kube-system, in another namespace: there vfrail is installed, and kubectl would merge the two.
elsewhere() { sed -E 's/^( *namespace:) kube-system$/\1 default/'; }
# Without the chart and what kustomizations are made of, which are no objects before they are rendered; that follows.
objects() {
    find examples manifests -name '*.yaml' ! -name kustomization.yaml \
        ! -path 'manifests/host-device/*' ! -path 'manifests/chart/*' | sort
}
for name in $(objects); do
    elsewhere < "$name" > "$tried/files/${name//\//-}"
    check "$name" accepted "$tried/files/${name//\//-}"
done

# The component is turned on as the comment in the kustomization says: by those two lines.
cp -r manifests "$work/host-device"
sed -i -E 's/^# (components:|  - host-device)$/\1/' "$work/host-device/kustomization.yaml"
for name in manifests examples/cdi "$work/host-device"; do
    kubectl kustomize "$name" | elsewhere > "$tried/kustomize/${name##*/}.yaml"
    check "kustomization: ${name##*/}" accepted "$tried/kustomize/${name##*/}.yaml"
done
check 'that of host-device has its container' has 'name: install-host-device' cat "$tried/kustomize/host-device.yaml"
rm -rf "$work/host-device"

# chart NAME OPTION...
chart() {
    local made=$tried/chart/$1.yaml
    helm template vfrail manifests/chart --namespace default --kube-version "${kubernetes[$set]}" "${@:2}" > "$made" &&
        accepted "$made"
}
check 'the chart as it is' chart plain
check 'the chart with all that can be turned on' chart all --set cdi.enabled=true,openshift.enabled=true,log.format=json \
    --set metrics.podMonitor.enabled=true,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true \
    --set 'cni.takeOver={host-device,sriov},cni.binDir=/var/lib/cni/bin,nodes.preset=nvidia,extraDeviceNodes={/dev/nvidiactl}' \
    --set 'image.pullSecrets={pull},seLinuxOptions.type=container_device_plugin_t'
check "the chart in the host's network" chart host-network --set hostNetwork=true
check 'the chart that uninstalls' chart uninstall --set uninstall=true

section 'pods of templates'
# A CRD knows less of a template than the API server of a pod.
find "$tried" -name '*.yaml' | sort | while read -r name; do yaml_to_json < "$name"; done | jq -s add > "$tried/all.json"
# A pod of each template of other projects' kinds, and one of those that are equal.
jq '[.[] | select(.apiVersion | contains(".")) | .kind as $kind | .. | objects | select(.spec?.containers?) |
        {kind: $kind, spec, annotations: .metadata.annotations}] | unique | {apiVersion: "v1", kind: "List", items: [
    to_entries[] | {apiVersion: "v1", kind: "Pod", spec: .value.spec,
        metadata: {name: "\(.value.kind | ascii_downcase)-\(.key)", annotations: .value.annotations}}]}' \
    "$tried/all.json" > "$tried/pods.json"
check 'there are some' jq -e '.items | length > 0' "$tried/pods.json"
check 'they are accepted' accepted "$tried/pods.json"

section 'fields that there are not'
# with_nonsense KIND: one of them, with a field more at its top and in each spec within it.
with_nonsense() {
    jq --arg kind "$1" 'first(.[] | select("\(.apiVersion) \(.kind)" == $kind)) |
        .nonsense = 1 | (.. | objects | .spec? | objects).nonsense = 1' "$tried/all.json"
}
# nonsense_refused KIND: it is refused, and the reason names each of these fields.
nonsense_refused() {
    local object output
    object=$(with_nonsense "$1")
    output=$(refused accepted - <<< "$object" 2>&1) || { echo "not refused: $output"; return 1; }
    echo "$output"
    is "$(jq '[.. | objects | select(has("nonsense"))] | length' <<< "$object")" \
        wc -l < <(grep -oE 'unknown field "[^"]*nonsense"' <<< "$output" | sort -u)
}
while read -r name; do
    check "$name" nonsense_refused "$name"
done < <(jq -r 'map("\(.apiVersion) \(.kind)") | unique[]' "$tried/all.json")

check 'the CRDs are removed again' kubectl delete -f "$crds"
