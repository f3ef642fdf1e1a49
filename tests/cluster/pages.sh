# shellcheck shell=bash
# The pages of vfrail on the nodes, for scenarios that ask for the whole cluster. Sourced by them.

# pages_reachable: the API server has a way to the pods' addresses, by which it asks for the pages. It is started again for it.
pages_reachable() {
    start way-to-pods "$here/way_to_pods" "$work/pods.sock" "$SHELL_PORT" "$work/shell-secret"
    cat > "$work/egress.yaml" << END
apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
  - name: cluster
    connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: $work/pods.sock}}}
END
    stop kube-apiserver
    api_server --egress-selector-config-file "$work/egress.yaml"
}
# pages_as_before: that way ends.
pages_as_before() {
    stop kube-apiserver
    api_server
    stop way-to-pods
}
