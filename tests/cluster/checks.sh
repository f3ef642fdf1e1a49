# shellcheck shell=bash
# What scenarios are written with: checks (tests/support/checks.sh), pods, and questions to the cluster. Sourced by
# tests/cluster/run.
CHECK_DEADLINE=900                          # against hanging alone; a pod takes 20 s on a quiet machine, minutes on a busy one
CHECK_PAUSE=1                               # a try is a process of kubectl, and the node has the same two cores
TMPDIR=$work . tests/support/checks.sh
trap - EXIT                                 # the sum is printed for each scenario
# check WHAT COMMAND...: as in tests/support/checks.sh, but while this shell waits, whose traps run then at once: a check can
# take a quarter of an hour. In a process group, which is ended with all that it has started.
eval "checked_here() $(declare -f check | tail -n +2)"
checking=''
check() {
    local rc=0
    set -m
    checked_here "$@" < /dev/null &
    checking=$!
    set +m
    wait "$checking" || rc=$?
    checking=''
    return $rc
}
stop_checking() { [ -z "$checking" ] || kill -- "-$checking" 2> /dev/null; }
section() { echo "== $* ($(date +%T))"; }

# pod_spec COUNT [SECURITY] [FIRST] [MEMORY]: the spec of a pod with COUNT devices, as JSON, with a security context and a
# limit of MEMORY if need be. It does FIRST, and ends at once when asked. Of two nodes it is for the one of of_node.
pod_spec() {
    jq -cn --arg node "$([ "$NODES" = 1 ] || echo "$NODE")" --arg resource "$RESOURCE" --argjson count "$1" --argjson security "${2:-null}" --arg first "${3:-}" \
        --arg memory "${4:-}" '
        {restartPolicy: "Always", terminationGracePeriodSeconds: 1, automountServiceAccountToken: false, containers: [{
            name: "test", image: "docker.io/library/rdma-tools:latest", imagePullPolicy: "Never", securityContext: $security,
            command: ["/bin/bash", "-c", ($first + "\ntrap \"exit 0\" TERM; while :; do sleep 1000 & wait; done")],
            resources: {limits: ((if $count == 0 then {} else {($resource): $count} end) + (if $memory == "" then {} else {memory: $memory} end))}}]} +
        if $node == "" then {} else {nodeSelector: {"kubernetes.io/hostname": $node}} end'
}
# pod NAME NETWORKS COUNT [SECURITY] [FIRST] [MEMORY]: a pod on NETWORKS (a list of names, or JSON; '' and 0: without a device).
pod() {
    kubectl apply -f - << END > /dev/null
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {app: test}
  annotations: {$([ -z "$2" ] || echo "k8s.v1.cni.cncf.io/networks: '$2'")}
spec: $(pod_spec "$3" "${4:-}" "${5:-}" "${6:-}")
END
}
# job NAME NETWORKS [SECURITY]: a Job of two pods with a device each, of two nodes on each one.
job() {
    kubectl apply -f - << END > /dev/null
apiVersion: batch/v1
kind: Job
metadata: {name: $1}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    metadata: {labels: {app: test}, annotations: {k8s.v1.cni.cncf.io/networks: $2}}
    spec: $(pod_spec 1 "${3:-}" | jq -c --arg job "$1" '.restartPolicy = "Never" | if .nodeSelector then del(.nodeSelector) |
        .topologySpreadConstraints = [{maxSkew: 1, topologyKey: "kubernetes.io/hostname", whenUnsatisfiable: "DoNotSchedule",
            labelSelector: {matchLabels: {"job-name": $job}}}] else . end')
END
}
# network NAME PLUGINS: a network definition for devices of the resource; PLUGINS is JSON, a plugin or several with commas.
network() {
    kubectl apply -f - << END > /dev/null
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: $1
  annotations: {k8s.v1.cni.cncf.io/resourceName: $RESOURCE}
spec:
  config: '{"cniVersion": "1.0.0", "name": "$1", "plugins": [$2]}'
END
}
# in_pod NAME COMMAND...: in its container. Tried again if the runtime was too slow to begin it: nothing of it has run then.
in_pod() {
    local errors rc try
    errors=$(mktemp -p "$work")
    for ((try = 0; try < 10; try++)); do
        rc=0
        kubectl exec "$1" -- "${@:2}" 2> "$errors" || rc=$?
        [ $rc -ne 0 ] && grep -q '^error: Internal error occurred: .*deadline exceeded' "$errors" || break
    done
    cat "$errors" >&2
    rm -f "$errors"
    return $rc
}

phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
running() { is Running phase "$1"; }
how_many_run() { kubectl get pods -l app=test --field-selector status.phase=Running -o name | wc -l; }
gone() { is '' kubectl get pod "$1" --ignore-not-found -o name; }
# restarted POD TIMES: its container has been started again so many times, and is up.
restarted() { is "$2 true" kubectl get pod "$1" -o 'jsonpath={.status.containerStatuses[0].restartCount} {.status.containerStatuses[0].ready}'; }
network_status() { kubectl get pod "$1" -o 'jsonpath={.metadata.annotations.k8s\.v1\.cni\.cncf\.io/network-status}'; }
# The addresses of all pods' devices, sorted.
pod_addresses() {
    kubectl get pods -l app=test -o json | jq -r '.items[].metadata.annotations["k8s.v1.cni.cncf.io/network-status"] // "[]" |
        fromjson[] | select(.interface | startswith("net")) | .ips[]?' | sort
}
events() { kubectl get events --field-selector "involvedObject.name=$1" -o custom-columns=T:.type,R:.reason,M:.message --no-headers; }
allocatable() { kubectl get node "$NODE" -o "jsonpath={.status.allocatable.${RESOURCE//./\\.}}"; }
# capacity: how many devices kubelet knows of, healthy or not.
capacity() { kubectl get node "$NODE" -o "jsonpath={.status.capacity.${RESOURCE//./\\.}}"; }
addresses_assigned() { kubectl get ippools.whereabouts.cni.cncf.io -A -o json | jq '[.items[].spec.allocations | length] | add // 0'; }
reservations() { kubectl get overlappingrangeipreservations.whereabouts.cni.cncf.io -A -o name | wc -l; }
vfrail_log() { kubectl -n kube-system logs daemonset/vfrail "$@"; }

# installed [OPTION...]: vfrail from its own chart by Helm, as a user installs it, with the configuration of the file
# $config and OPTIONs of Helm; those of an earlier call do not last. Returns when the DaemonSet is rolled out.
installed() {
    helm upgrade vfrail manifests/chart --install --namespace kube-system --set-file "config=$config" "$@" || return
    kubectl -n kube-system rollout status daemonset/vfrail --timeout "${CHECK_DEADLINE}s"
}
# in_use: the PCI functions that pods have, as their containers were given them.
in_use() {
    local name
    for name in $(kubectl get pods -l app=test --field-selector status.phase=Running -o 'jsonpath={.items[*].metadata.name}'); do
        in_pod "$name" env | sed -nE '/_INFO=/d; s/^PCIDEVICE_[^=]*=//p' | tr , '\n'
    done
}

# ---- What holds around each scenario ----------------------------------------------------------------------------

# before: what the checks afterwards compare with, and what a scenario may say otherwise.
before() {
    skipped=''
    explained_here=''           # a regular expression: errors in logs that the scenario provokes
    stays_here=''               # a regular expression: paths of files that stay on the node by design
    # By CDI, which the newest set's containerd has: until the next Allocate (cni/README.md).
    [ "$set" = oldest ] || stays_here='^/run/vfrail/promised/|^/var/run/cdi/vfrail-'
    ends_without_pods=no        # yes: it has called each_sees_its_own itself, and deleted its pods
    list_rules=()               # of each node
    each_node on_node 'log_mark; stays > /node/stays'
}
# list_never_below COUNT: from now on the list that kubelet gets need not be whole and healthy, but it has COUNT devices or more,
# those in use among them. Called again when there are fewer, or more.
list_never_below() { list_rules[number]+=" $(lists_sent) $1"; }
# skip WHY: what the scenario needs is not there. The table at the end says so.
skip() { skipped=$1; }

# each_sees_its_own [POD...]: each container of a pod that runs, or of these, sees the RDMA nodes of its devices, and no others. A
# pod runs.
each_sees_its_own() {
    local pods
    pods=$(kubectl get pods -l app=test --field-selector status.phase=Running -o json |
        jq -r '.items[] | select(.metadata.deletionTimestamp == null) | .spec.nodeName as $node | .metadata |
            select($ARGS.positional == [] or IN(.name; $ARGS.positional[])) | "\($node) \(.uid)"' --args "$@")
    [ -n "$pods" ] || { echo 'no pod runs'; return 1; }
    each_node those_of_the_node_see_their_own
}
those_of_the_node_see_their_own() {
    local uids
    uids=$(awk -v node="$NODE" '$1 == node { print $2 }' <<< "$pods")
    # shellcheck disable=SC2086
    [ -z "$uids" ] || is '' on_node sees_its_own $uids
}
at_baseline() { on_node 'baseline | diff /node/baseline -'; }
# lists: the lists of devices that kubelet has had from vfrail in this scenario; it writes a line for each.
lists() { on_node "log_since | grep 'Processed device updates for resource.*resourceName=\"$RESOURCE\"'; true"; }
lists_sent() { lists | wc -l; }
# lists_had_all_in_use: prints each list that was not whole, or had fewer than list_never_below says.
lists_had_all_in_use() {
    local sent
    sent=$(lists) || { echo "$sent"; return 1; }
    [ -n "$sent" ] || return 0
    awk -v all=$DEVICES -v rules="${list_rules[number]-}" '
        function count(what) { return match($0, what "=[0-9]+") ? substr($0, RSTART + length(what) + 1, RLENGTH - length(what) - 1) + 0 : -1 }
        BEGIN { words = split(rules, word, " ") }
        {
            least = ""
            for (i = 1; i < words; i += 2) if (NR > word[i]) least = word[i + 1]
            if (least == "" ? count("totalCount") != all || count("healthyCount") != all : count("totalCount") < least)
                print "want " (least == "" ? "all" : least " or more") ": " $0
        }' <<< "$sent"
}
# files_left: files that were not there before the scenario, and do not stay by design.
files_left() {
    local left
    left=$(on_node 'stays | grep -vxFf /node/stays; true') || { echo "$left"; return 1; }
    grep -vE "${stays_here:-^$}" <<< "$left"
    return 0
}
# What kubelet calls an error, Multus too, and vfrail an error or a warning, unless the file `explained` has a reason.
unexplained() {
    local log
    log=$(on_node log_since) || { echo "$log"; return 1; }
    grep -E '^kubelet.log: E|^multus.log: .*\[error\]|^pods/.* (error|warning) ' <<< "$log" |
        grep -vEf <(grep -E '^[^#]' "$here/explained"; [ -z "$explained_here" ] || echo "$explained_here")
    return 0
}
# afterwards: ends the scenario's pods, and compares.
afterwards() {
    section 'afterwards'
    [ "$ends_without_pods" = yes ] || check 'each container sees its own RDMA nodes and no others' each_sees_its_own
    kubectl delete replicasets,jobs,pods -l app=test --wait=false > /dev/null
    check 'no pod is left' eventually is '' kubectl get pods -o name
    kubectl delete network-attachment-definitions --all > /dev/null
    check 'every device is in the host, as it was before' each_node eventually at_baseline
    check 'no record, link or lock is left' each_node eventually is '' on_node remains
    check 'no other file is left' each_node eventually is '' files_left
    check 'no address is assigned' eventually is 0 addresses_assigned
    check 'no reservation is left' eventually is 0 reservations
    check 'every device is allocatable' each_node eventually is $DEVICES allocatable
    check "no device was ever missing in kubelet's list" each_node is '' lists_had_all_in_use
    check 'no unexplained error in the logs' each_node is '' unexplained
}
