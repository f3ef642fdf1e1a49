# Each right of the chart's controller is taken away by itself: the controller says which it lacks, and with it again does its work.
#
# Whatever one right is for is wrong when the controller begins without it: a network is to be made, one to be put back, one to be
# moved; there is no lease; objects have no status. The API server has the admission plugin for which one rule is there.
. "$here/controller.sh"
explained_here=$without_server ends_without_pods=yes   # none begins
stop kube-apiserver
api_server --enable-admission-plugins OwnerReferencesPermissionEnforcement
check 'vfrail is installed with the controller' controller_installed
kubectl create namespace team > /dev/null
roles=('clusterrole vfrail-controller' 'role -n kube-system vfrail-controller' 'role -n default vfrail-controller-events')
ipam='{"type": "static"}'

# rights ROLE...: "RESOURCE VERB" of each rule.
rights() { kubectl get "$@" -o json | jq -r '.rules[] | .resources[] as $resource | .verbs[] | "\($resource) \(.)"'; }
# may RESOURCE VERB: yes or no, whether the API server lets the controller. Of leases it has one, of events those of one namespace.
may() {
    local resource=${1%/*} about=(--namespace kube-system)
    [ "$resource" != events ] || about=(--namespace default)
    [ "$resource" = "$1" ] || about+=(--subresource "${1#*/}")
    case $1 in leases) [ "$2" = create ] || resource=leases/vfrail-controller ;; esac
    case $resource in hostdevicenetworks | macvlannetworks | ipoibnetworks) resource+=.mellanox.com ;; network-*) resource+=.k8s.cni.cncf.io ;; esac
    case $resource in leases*) resource=leases.coordination.k8s.io${resource#leases} ;; events) resource=events.events.k8s.io ;; esac
    kubectl auth can-i "$2" "$resource" "${about[@]}" --as system:serviceaccount:kube-system:vfrail-controller 2> /dev/null || true
}
# without RESOURCE VERB ROLE...: the role without that right.
without() {
    local resource=$1 verb=$2
    shift 2
    kubectl get "$@" -o json | jq --arg resource "$resource" --arg verb "$verb" '.rules |= [.[] | .resources[] as $one | .resources = [$one] |
        if $one == $resource then .verbs -= [$verb] else . end | select(.verbs != [])]' | kubectl replace -f - > /dev/null
}
# all_right NAMESPACE: each network is as it should be, that which moves in NAMESPACE.
all_right() {
    local name
    for name in edited made moves; do is ready state $name || return; done
    is ready state flat macvlannetwork && has '"type":"macvlan"' definition flat || return
    is ready state ib ipoibnetwork && has '"type":"ipoib"' definition ib || return
    has '"type":"vfrail"' definition edited && has '"type":"vfrail"' definition made && definition moves "$1" &&
        no_definition moves "$([ "$1" = team ] && echo default || echo team)"
}
# says TEXT: the replica has logged it.
says() { tr -d "\\\\" < "$logs/replica.log" | grep -F "$1"; }

# others_made: one of each other kind, as it is before anybody has served it.
others_made() { other_network MacvlanNetwork flat '{"master": "eth1"}' && other_network IPoIBNetwork ib '{"master": "ib0"}'; }
for name in edited made moves; do host_device_network $name default "$ipam"; done
others_made
replica replica
check 'with all rights: each network is made' eventually all_right default
place=default
for role in "${roles[@]}"; do
    read -ra role_words <<< "$role"
    kubectl get "${role_words[@]}" -o json | jq 'del(.metadata.resourceVersion)' > "$work/role.json"
    while read -r resource verb; do
        stop replica
        place=$([ $place = team ] && echo default || echo team)
        kubectl delete hostdevicenetwork made > /dev/null
        kubectl delete macvlannetworks,ipoibnetworks --all > /dev/null
        for name in made flat ib; do eventually no_definition $name; done
        kubectl -n kube-system delete lease vfrail-controller > /dev/null
        edit_definition edited '{"cniVersion": "1.0.0", "name": "by-hand", "type": "bridge"}'
        host_device_network moves $place "$ipam"
        host_device_network made default "$ipam"
        others_made
        without "$resource" "$verb" "${role_words[@]}"
        eventually is no may "$resource" "$verb"
        : > "$logs/replica.log"
        replica replica
        missing="cannot $verb resource \"$resource\""
        case $resource in */finalizers) missing="cannot set blockOwnerDeletion" ;; esac
        check "without $verb of $resource: it says so" eventually says "$missing"
        kubectl replace -f "$work/role.json" > /dev/null
        check 'with it: all is done' eventually all_right $place
    done < <(rights "${role_words[@]}")
done
stop replica
kubectl delete hostdevicenetworks,macvlannetworks,ipoibnetworks --all > /dev/null
for name in edited made flat ib; do check "$name: the network is gone with its object" eventually no_definition $name; done
check 'so is that which has moved' eventually no_definition moves $place
kubectl delete namespace team > /dev/null
check 'vfrail without the controller' installed
kubectl delete crd {hostdevicenetworks,macvlannetworks,ipoibnetworks}.mellanox.com > /dev/null
stop kube-apiserver
api_server
