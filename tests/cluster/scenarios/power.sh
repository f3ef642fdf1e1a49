# The node loses power while pods have devices, and comes back.
#
# A pod that was bound to the node fails after a boot if kubelet admits it before the plugin has registered (so with any
# device plugin); what matters is that no device and no address remains taken.
kubectl apply -f manifests/network-attachment-definition.yaml > /dev/null
for name in stays goes; do pod $name hostdev 1; done
check 'two pods run' eventually is 2 how_many_run
check 'two addresses are assigned' is 2 addresses_assigned

# "goes" gets no DEL, which vfrail reports until the sweep.
explained_here='^pods/kube-system_vfrail-.* warning .* has the record of an attachment .*pod default/goes'
# kubelet finds the socket of before the power loss, and tries it. If it reaches the new socket of that name with such a try,
# it registers it, sees two seconds later that the file is another one, ends that registration and makes a new one.
explained_here+='|^kubelet.log: .*RegisterPlugin error -- dial failed at socket'
explained_here+='|^kubelet.log: .*"ListAndWatch ended unexpectedly for device plugin" .*(the client connection is closing|use of closed network connection)'
# A write that is a moment old may be lost with the power, and the programs of this disk must not be.
on_node sync
${down:-node_power_off}
kubectl delete pod goes --force --grace-period=0 > /dev/null 2>&1
# In this shell: in that of a check the node would be a process of nobody, and the check would wait for its end.
came=0
node_up > "$logs/node-comes-back.log" 2>&1 || came=$?
check 'the node comes back' is 0 echo "$came"
check 'vfrail serves again' eventually is $DEVICES allocatable
check 'the VFs are in the host, as the boot has made them' eventually at_baseline
kubectl delete pod stays --wait=false > /dev/null
check 'the pod that stayed can be deleted' eventually gone stays

pod next hostdev 1
check 'the next pod gets a device' eventually running next
check 'with an active RDMA device' has PORT_ACTIVE in_pod next ibv_devinfo

# What never gets a DEL is what the sweep is for.
check 'the sweep gives back what the power loss has left' on_node '/opt/cni/bin/vfrail sweep'
check 'one address is assigned, that of the pod' eventually is 1 addresses_assigned
