# Claims over what goes wrong: kubelet killed while pods begin and end, the API server away for ten minutes, power lost, a reboot.
#
# A pod of the device plugin fails where kubelet admits it before the plugin is registered (kubelet-killed, power). A claim waits
# for its driver, so here each pod runs in the end, and after a boot as well.
. "$here/dra.sh"
dra_can_run || return
list_never_below 0
ends_without_pods=yes
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
check 'the node has a Multus that resolves claims' multus_is claims
check 'vfrail is installed with DRA' dra_installed
check 'every device is in a slice' eventually is $DEVICES published
template one-nic "$(nics 1)"
# Killed, kubelet leaves calls and streams without an end, and Multus asks it for the devices of a pod.
explained_here='^(kubelet|multus)\.log: '
explained_here+='|/kube/[0-9]+\.log: .* devices are not published |devices are not offered to the scheduler|the status of a claim cannot be written'
# A device that is just coming back, where the API server keeps no taints; a claim while nobody can read it.
explained_here+='|warning not published what="the device: it is unhealthy|error claim is not prepared claim=default/comes'
# some NAME: a pod with one device, by its extended resource or by a template, in turn.
turn=0
some() { if ((turn++ % 2)); then pod_with_claim "$1" hostdev resourceClaimTemplateName=one-nic; else asks "$1" hostdev 1; fi; }
kubelet_killed() { local seconds; for seconds in "$@"; do sleep "$seconds"; on_node 'service_stop kubelet KILL; service_start kubelet'; done; }
nothing_is_prepared() {
    check 'no pod is left' eventually is '' kubectl get pods -o name
    check 'no claim is left' eventually is '' kubectl get resourceclaims -o name
    check 'every device is in the host, as it was before' eventually at_baseline
    check 'and can be had again' eventually is $DEVICES published
    check 'no record and no spec of a claim is left' eventually is '' prepared
}

section 'kubelet is killed while pods begin'
for ((i = 0; i < DEVICES; i++)); do some "p$i"; done
kubelet_killed 2 8 15
check 'each of them runs' eventually is $DEVICES how_many_run
check 'none was refused' is '' kubectl get pods -l app=test --field-selector status.phase=Failed -o name
check 'each has a device of its own' is $DEVICES bash -c 'sort -u <<< "$1" | wc -l' - "$(in_use)"
check 'they are those of the claims' is "$(allocated | sort)" bash -c 'tr :. - <<< "$1" | sort' - "$(in_use)"
check 'each container sees its own RDMA nodes and no others' each_sees_its_own

section 'and while they end'
kubectl delete pods -l app=test --wait=false > /dev/null
kubelet_killed 1 4 8
nothing_is_prepared

section 'the API server is away for ten minutes'
for name in stays goes; do some $name; done
works stays
works goes
had() { in_pod stays ip -brief address show net1; in_pod stays env | grep ^PCIDEVICE_ | sort; }
before_absence=$(had)
some comes
bound() { has . kubectl get pod "$1" -o 'jsonpath={.spec.nodeName}'; }
check 'a pod is bound' eventually bound comes
kubectl delete pod goes --wait=false > /dev/null
stop kube-apiserver
sleep "${API_AWAY:-600}"
back=0
api_server > "$logs/api-server-comes-back.log" 2>&1 || back=$?
check 'the API server is back' is 0 echo "$back"
check 'the pod that ran runs' eventually is "$before_absence" had
check 'the one that was to end has ended' eventually gone goes
works comes
# whereabouts' DEL could not release that address, and succeeded (manifests/TROUBLESHOOTING.md): as its reconciler does it.
reconciled() {
    kubectl get ippools.whereabouts.cni.cncf.io -A -o json |
        jq --arg pod "default/$1" '.items[].spec.allocations |= with_entries(select(.value.podref != $pod))' | kubectl replace -f - > /dev/null
    kubectl get overlappingrangeipreservations.whereabouts.cni.cncf.io -A -o json |
        jq --arg pod "default/$1" '.items |= map(select(.spec.podref == $pod))' | kubectl delete -f - --ignore-not-found > /dev/null
}
check 'its address is released' reconciled goes
check 'its claim is released' eventually is 2 how_many_allocated
check 'the slices have every device' eventually is $DEVICES in_slices
check 'each container sees its own RDMA nodes and no others' each_sees_its_own

# boots DOWN TIMES: the node goes down and comes back, and "stays" runs again, for the so many'th time.
boots() {
    local came=0
    "$1"
    # In this shell: in that of a check the node would be a process of nobody.
    node_up > "$logs/node-comes-back.log" 2>&1 || came=$?
    check 'the node comes back' is 0 echo "$came"
    check 'the slices have every device' eventually is $DEVICES in_slices
    check 'the pod is started again' eventually restarted stays "$2"
    works stays
    check 'with the device of its claim' is "$of_claim" bash -c 'sed -n "s/^PCIDEVICE_NVIDIA_COM_HOSTDEV=//p" <<< "$1" | tr :. -' - "$(in_pod stays env)"
    check 'it sees its own RDMA nodes and no others' each_sees_its_own stays
}
of_claim=$(results_of stays | cut -d' ' -f2)

section 'the node loses power'
# "comes" gets no DEL, which vfrail reports until the sweep. kubelet asks for the claims of its pods as soon as the driver is
# registered, before it answers itself and vfrail-kube has reached the API server.
explained_here+='|pod-resources API unavailable|claim is not prepared .*the name of this node.s pool is not known yet'
explained_here+='|^pods/kube-system_vfrail-.* warning .* has the record of an attachment .*pod default/comes'
on_node sync
lost_power() {
    node_power_off
    kubectl delete pod comes --force --grace-period=0 > /dev/null 2>&1
}
boots lost_power 1
check 'the claim of the other is released' eventually is 1 how_many_allocated
records_of_claims() { prepared | grep -c '/run/vfrail/claims/[^/]*$'; }
check 'one record of a claim is left' eventually is 1 records_of_claims
check 'the sweep gives back what the power loss has left' on_node '/opt/cni/bin/vfrail sweep'
check 'one address is assigned, that of the pod' eventually is 1 addresses_assigned

section 'the node is rebooted'
boots node_ends 2
some next
works next
kubectl delete pods -l app=test --wait=false > /dev/null
nothing_is_prepared
kubectl delete resourceclaimtemplates --all > /dev/null

section 'the device plugin again'
check 'vfrail is installed without DRA' installed
check 'it serves the devices' eventually is $DEVICES allocatable
check 'the node has the Multus that it had' multus_is release
