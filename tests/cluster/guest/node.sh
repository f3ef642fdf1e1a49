#!/bin/bash
# Runs in the lab VM: makes a Kubernetes node of it, and serves a shell to the machine until /host/stop is there.
. /lab/lib.sh
. /host/files/settings
stamp() { echo "node: $*, $(cut -d' ' -f1 /proc/uptime) s after power-on"; }

# What the lab's own image lacks: disk, file system, card of QEMU's user-mode network.
while read -r module; do
    insmod "/host/files/modules/$module" 2>/dev/null || stamp "module $module: not loaded"
done < /host/files/modules/order
mkdir -p /node
mount -t ext4 -o noatime,nobarrier /dev/vda /node || exit
# These outlive a reboot; /run and the cgroups do not.
for dir in var/lib var/log opt etc/cni; do
    mkdir -p "/node/$dir" "/$dir"
    mount --bind "/node/$dir" "/$dir"
done
mkdir -p /var/lib/kubelet /opt/cni/bin /etc/cni/net.d /etc/kubernetes /var/run/cdi
mount --make-rshared /
cp -r /host/files/etc/. /etc/
[ -e /node/.installed ] || { cp /node/cni/* /opt/cni/bin/ && touch /node/.installed; }
cp /host/files/service.sh /run/service.sh
. /run/service.sh

for link in /sys/class/net/*; do
    case $(readlink "$link/device/driver") in */virtio_net)
        if [[ $(< "$link/address") == 52:54:00:ff:* ]]; then between=${link##*/}; else card=${link##*/}; fi ;;
    esac
done
# QEMU's user-mode network: 10.0.2.2 is the machine's own loopback.
ip link set "$card" up && ip addr add 10.0.2.15/24 dev "$card" && ip route add default via 10.0.2.2 || exit
echo 1 > /proc/sys/net/ipv4/ip_forward
# The other node, and its pods' eth0: by a network of their own. An address of QEMU's network would be that of both.
address=10.0.2.15 hca=''
if [ "$NODES" -gt 1 ]; then
    # By it the InfiniBand fabric goes on as well; RoCE has the wire of the cards.
    hca="trunk=$between machine=$NUMBER"
    address=10.245.0.$NUMBER other=$((3 - NUMBER))
    ip link set "$between" up && ip addr add "$address/24" dev "$between" &&
        ip route add "10.244.$((other - 1)).0/24" via "10.245.0.$other" || exit
fi
# Of services pods reach the API server's, and no other: there is no kube-proxy.
ip link set lo up && ip addr add 10.96.0.1/32 dev lo || exit
printf '#!/bin/sh\nexec /bin/busybox nc 10.0.2.2 %s\n' "$API" > /run/way-to-api
chmod 700 /run/way-to-api
busybox nc -ll -p 443 -e /run/way-to-api &
way_to_api=$!
: > /etc/resolv.conf
[ -s /node/machine-id ] || tr -d - < /proc/sys/kernel/random/uuid > /node/machine-id
cp /node/machine-id /etc/machine-id
hostname "$NODE"
modprobe -a overlay veth bridge
lab_up "$BOOT_VFS" --fabric "$FABRIC" --rdma "$RDMA" --hca "$hca" || exit
[ "$FABRIC" != infiniband ] || set_guids 1000 "$NUMBER" || exit
baseline > /node/baseline
stamp 'VFs are up'

# A root shell for the tests, on the loopback of the machine that this VM runs on, which its other users reach, too.
cat > /run/shell << 'END'
#!/bin/bash
. /host/files/settings
read -r -t 600 secret && [ "$secret" = "$SHELL_SECRET" ] && exec /bin/bash
END
chmod 700 /run/shell
busybox nc -ll -p "$SHELL_PORT" -e /run/shell &
shell=$!
service_start containerd containerd --config /etc/containerd/config.toml
eventually ctr version > /dev/null || { tail /var/log/containerd.log; exit 1; }
for image in /node/images/*.tar; do
    [ -e "$image.imported" ] && continue
    # As `kind load image-archive` does.
    ctr --namespace=k8s.io images import --all-platforms --digests - < "$image" > /dev/null || exit
    touch "$image.imported"
    stamp "${image##*/} is imported"
done
service_start kubelet kubelet --config /etc/kubernetes/kubelet.yaml --kubeconfig /etc/kubernetes/kubelet.conf \
    --hostname-override "$NODE" --node-ip "$address" --v 2
stamp 'kubelet is started'
(while sleep 1; do keep_logs; done) &
keeper=$!

until [ -e /host/stop ]; do sleep 0.5; done
# As an init system does it: kubelet, the containers, the runtime.
service_stop kubelet
containers() { find /sys/fs/cgroup/kubepods -name cgroup.procs -exec cat {} +; }
kill $(containers) 2> /dev/null
for ((try = 0; try < 100; try++)); do [ -z "$(containers)" ] || sleep 0.1; done
service_stop containerd
kill $shell $keeper $way_to_api
sync
stamp 'the node ends'
