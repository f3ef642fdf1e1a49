# shellcheck shell=bash
# etcd, kube-apiserver, kube-controller-manager and kube-scheduler as processes of this machine, on loopback, with real
# RBAC, service accounts and admission. Sourced by tests/cluster/run.

# start NAME COMMAND...: runs it until this script ends, however it ends: the kernel sends the signal even after kill -9.
declare -A processes=()
start() {
    local name=$1
    shift
    setpriv --pdeathsig TERM "$@" >> "$logs/$name.log" 2>&1 &
    processes[$name]=$!
}
# stop NAME...: asks, waits, insists: without etcd the API server does not end by itself.
stop() {
    local name pid try
    for name in "$@"; do
        pid=${processes[$name]-}
        [ -n "$pid" ] || continue
        kill "$pid" 2> /dev/null
        for ((try = 0; try < 50; try++)); do kill -0 "$pid" 2> /dev/null && sleep 0.1; done
        kill -9 "$pid" 2> /dev/null
        wait "$pid" 2> /dev/null
        unset "processes[$name]"
    done
}

certificates() (
    set -e
    mkdir -p "$work/pki"
    cd "$work/pki"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=cluster-ca -keyout ca.key -out ca.crt
    openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver -keyout api.key -out api.csr
    openssl x509 -req -in api.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out api.crt -extfile \
        <(echo 'subjectAltName=DNS:localhost,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.0.2.2,IP:10.96.0.1')
    openssl genrsa -out sa.key 2048
    openssl rsa -in sa.key -pubout -out sa.pub
    # The API server, and nobody else, at etcd and at the kubelet.
    openssl req -newkey rsa:2048 -nodes -subj /CN=kube-apiserver-client -keyout client.key -out client.csr
    openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -out client.crt -extfile \
        <(echo 'extendedKeyUsage=clientAuth')
    echo "$ADMIN_TOKEN,admin,admin,\"system:masters\"" > tokens.csv
    each_node kubelet_account >> tokens.csv
) > "$logs/certificates.log" 2>&1

kubelet_account() { echo "${kubelet_tokens[number]},system:node:$NODE,kubelet-of-$NODE,\"system:nodes\""; }

# kubeconfig SERVER TOKEN
kubeconfig() {
    cat << END
apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "$1", certificate-authority-data: $(base64 -w0 "$work/pki/ca.crt")}}]
users: [{name: me, user: {token: "$2"}}]
contexts: [{name: lab, context: {cluster: lab, user: me}}]
current-context: lab
END
}

# api_server [OPTION...]: starts it, with OPTIONs of a scenario; returns when it is ready. Again after `stop kube-apiserver`.
api_server() {
    local pki=$work/pki
    # 10.0.2.2 is 127.0.0.1 of this machine as the VM sees it. The node is called localhost, a second one as an address of
    # the loopback, so that the API server finds their kubelets at the port that QEMU forwards.
    start kube-apiserver "$bin/kube-apiserver" --etcd-servers "https://127.0.0.1:$ETCD" \
        --etcd-cafile "$pki/ca.crt" --etcd-certfile "$pki/client.crt" --etcd-keyfile "$pki/client.key" \
        --kubelet-client-certificate "$pki/client.crt" --kubelet-client-key "$pki/client.key" \
        --bind-address 127.0.0.1 --secure-port "$API" --advertise-address 10.0.2.2 \
        --tls-cert-file "$pki/api.crt" --tls-private-key-file "$pki/api.key" --client-ca-file "$pki/ca.crt" \
        --token-auth-file "$pki/tokens.csv" --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
        --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$pki/sa.pub" \
        --service-account-signing-key-file "$pki/sa.key" --service-cluster-ip-range 10.96.0.0/16 --allow-privileged \
        --kubelet-preferred-address-types Hostname "$@"
    eventually kubectl get --raw /readyz > /dev/null || { tail "$logs/kube-apiserver.log" >&2; return 1; }
}

control_plane() {
    local pki=$work/pki
    certificates || { tail "$logs/certificates.log" >&2; return 1; }
    kubeconfig "https://127.0.0.1:$API" "$ADMIN_TOKEN" > "$KUBECONFIG"
    # No fsync: nothing here outlives the run.
    start etcd "$clients/etcd" --data-dir "$work/etcd" --unsafe-no-fsync --listen-client-urls "https://127.0.0.1:$ETCD" \
        --advertise-client-urls "https://127.0.0.1:$ETCD" --listen-peer-urls "https://127.0.0.1:$((ETCD + 1))" \
        --initial-advertise-peer-urls "https://127.0.0.1:$((ETCD + 1))" \
        --initial-cluster "default=https://127.0.0.1:$((ETCD + 1))" \
        --cert-file "$pki/api.crt" --key-file "$pki/api.key" --trusted-ca-file "$pki/ca.crt" --client-cert-auth \
        --peer-cert-file "$pki/api.crt" --peer-key-file "$pki/api.key" --peer-trusted-ca-file "$pki/ca.crt" \
        --peer-client-cert-auth
    api_server || return
    start kube-controller-manager "$bin/kube-controller-manager" --kubeconfig "$KUBECONFIG" --leader-elect=false \
        --bind-address 127.0.0.1 --secure-port $((API + 1)) --service-account-private-key-file "$pki/sa.key" \
        --root-ca-file "$pki/ca.crt" --node-monitor-grace-period "${NODE_GRACE:-10m}"
    start kube-scheduler "$bin/kube-scheduler" --kubeconfig "$KUBECONFIG" --leader-elect=false \
        --bind-address 127.0.0.1 --secure-port $((API + 2))
    eventually kubectl get serviceaccount -n kube-system default
}

# What the second Multus asks for beside it: the devices of claims, and what the driver says of each.
claims_for_multus() {
    kubectl apply -f - << 'END'
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: multus-claims}
rules:
  - {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
  - {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: multus-claims}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: multus-claims}
subjects: [{kind: ServiceAccount, name: multus, namespace: kube-system}]
END
}

# CRDs, roles and service accounts of Multus and whereabouts from their own files, less the DaemonSets: there is no
# kube-proxy, so pods have no way to the API server, and both run as executables. They ask it through a proxy on this
# machine, as their service accounts: Multus asks for 250 ms a try, and TLS alone takes the emulated node longer when eight
# pods start at once. The proxies ask nobody who he is, so each has a socket in a folder of this user, and on the way to it
# only processes of this user pass, of which QEMU is one.
peers() {
    local manifests=$clients/manifests file
    for file in "$manifests/multus-daemonset.yml" "$manifests/daemonset-install.yaml"; do
        awk -v RS='---\n' '!/kind: (DaemonSet|ConfigMap)/ && /kind:/ { print "---\n" $0 }' "$file" |
            kubectl apply -f - || return
    done
    claims_for_multus || return
    for file in "$manifests"/whereabouts.cni.cncf.io_*.yaml; do kubectl apply -f "$file" || return; done
    for file in multus whereabouts; do
        kubeconfig "https://127.0.0.1:$API" "$(kubectl -n kube-system create token "$file" --duration 24h)" > "$work/$file.conf"
        start "proxy-of-$file" kubectl proxy --kubeconfig "$work/$file.conf" --unix-socket "$work/$file.sock" --accept-hosts '^10\.0\.2\.2$'
        start "way-to-$file" "$here/own_user_only" "${proxy_port[$file]}" "$work/$file.sock"
    done
}
