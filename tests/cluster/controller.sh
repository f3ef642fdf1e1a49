# shellcheck shell=bash
# vfrail-kube controller for scenarios. No pod reaches the API server here (README.md, "What is not real"), so its replicas are
# processes of this machine, with the token of the chart's own service account and so with exactly the chart's rights; the
# chart's Deployment has no replicas. Sourced by scenarios.
kube=build/release/bin/vfrail-kube

# controller_installed [OPTION...]: the chart with the controller, and $work/controller.conf, by which replicas ask as its
# service account. Whoever stops the API server does not stop them.
controller_installed() {
    printf '%s\n' '#!/bin/sh' 'exec sed -E "s/^  replicas: [12]$/  replicas: 0/"' > "$work/no-replicas"
    chmod +x "$work/no-replicas"
    installed --set controller.enabled=true --post-renderer "$work/no-replicas" "$@" || return
    is 0 kubectl -n kube-system get deployment vfrail-controller -o 'jsonpath={.spec.replicas}' || return
    eventually kubectl get hostdevicenetworks || return
    kubeconfig "https://127.0.0.1:$API" "$(kubectl -n kube-system create token vfrail-controller --duration 24h)" > "$work/controller.conf"
}
# replica NAME: begins a replica of this name. `stop NAME` asks it to end, `killed NAME` does not ask.
replica() {
    start "$1" env POD_NAME="$1" "$kube" controller --kubeconfig "$work/controller.conf" --namespace kube-system --log-level debug
}
killed() {
    kill -9 "${processes[$1]}"
    wait "${processes[$1]}" 2> /dev/null
    unset "processes[$1]"
}
# runs NAME: the same process as ever.
runs() { kill -0 "${processes[$1]}"; }
holder() { kubectl -n kube-system get lease vfrail-controller -o 'jsonpath={.spec.holderIdentity}'; }

# host_device_network NAME NAMESPACE IPAM: one, or what becomes of it.
host_device_network() {
    jq -n --arg name "$1" --arg namespace "$2" --arg ipam "$3" '{apiVersion: "mellanox.com/v1alpha1", kind: "HostDeviceNetwork",
        metadata: {name: $name}, spec: {networkNamespace: $namespace, resourceName: "hostdev", ipam: $ipam}}' |
        kubectl apply -f - > /dev/null
}
# other_network KIND NAME SPEC: a MacvlanNetwork or IPoIBNetwork, or what becomes of it.
other_network() {
    jq -n --arg kind "$1" --arg name "$2" --argjson spec "$3" '{apiVersion: "mellanox.com/v1alpha1", kind: $kind, metadata: {name: $name},
        spec: $spec}' | kubectl apply -f - > /dev/null
}
# definition NAME [NAMESPACE]: the CNI configuration in the network of that name.
definition() { kubectl -n "${2:-default}" get network-attachment-definitions "$1" -o 'jsonpath={.spec.config}'; }
no_definition() { is '' kubectl -n "${2:-default}" get network-attachment-definitions "$1" --ignore-not-found -o name; }
# edit_definition NAME CONFIG: by hand.
edit_definition() {
    kubectl patch network-attachment-definitions "$1" --type merge -p "$(jq -n --arg config "$2" '{spec: {config: $config}}')" > /dev/null
}
# state NAME [KIND], reason NAME [KIND]: of a HostDeviceNetwork unless it is of another kind.
state() { kubectl get "${2:-hostdevicenetwork}" "$1" -o 'jsonpath={.status.state}'; }
reason() { kubectl get "${2:-hostdevicenetwork}" "$1" -o 'jsonpath={.status.reason}'; }
# away SECONDS: nobody answers at the API server's port for so long; 0: it is restarted. Not in a check, with which it would end.
away() {
    echo "     the API server is away for $1 s"
    stop kube-apiserver
    sleep "$1"
    api_server
}
# What kubelet and Multus say of an API server that is away, or has just begun and does not know yet what they may.
without_server="^multus\.log: .* is forbidden: User \"system:serviceaccount:kube-system:multus\"|^kubelet\.log: .*(10\.0\.2\.2:$API: connect: connection refused|\"https://10\.0\.2\.2:$API/[^ ]*\": |Unable to update node status.*exceeds retry count|\"Failed to watch\" .*no relationship found between node|Failed to watch [^ ]*: unknown \(get )|^multus\.log: .*dial tcp 127\.0\.0\.1:$API: connect: connection refused"
