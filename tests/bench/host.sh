#!/usr/bin/env bash
# The measurements on veth pairs, in a network namespace and a mount namespace of its own. Started by tests/bench/cni:
#   unshare --mount --net host.sh PROGRAMS ROUNDS FOLDER
set -euo pipefail
programs=$1 count=$2 bench=$3
floor=$programs/bench-floor measure=$programs/bench-measure vfrail_cni=$programs/vfrail-cni
host_device=/usr/lib/cni/host-device ipam_folder=/usr/lib/cni
. "$(dirname "${BASH_SOURCE[0]}")/rounds.sh"

# A node: devices vf0, vf1, ... at PCI addresses of a made-up sysfs. They are down, as a VF is that nobody has had.
kMost=32
address() { printf '0000:04:%02x.%x\n' $(($1 / 8)) $(($1 % 8)); }
pf=sys/bus/pci/devices/0000:03:00.0
make_node() {
    local i folder
    ip link set lo up
    mkdir -p "$bench/pods" "$bench/run" "$bench/root/proc/sys/kernel/random" "$bench/root/$pf"
    mount -t tmpfs -o mode=755 run "$bench/run"    # as /run is on a node; records are on the disk
    cp /proc/sys/kernel/random/boot_id "$bench/root/proc/sys/kernel/random/"
    for ((i = 0; i < kMost; i++)); do
        ip link add "vf$i" type veth peer "peer$i"
        ip link set "peer$i" up
        folder=$bench/root/sys/bus/pci/devices/$(address "$i")
        mkdir -p "$folder/net/vf$i"
        ln -s ../../drivers/igbvf "$folder/driver"
        ln -s ../0000:03:00.0 "$folder/physfn"
        : > "$bench/pods/$i"
        unshare --net mount --bind /proc/self/ns/net "$bench/pods/$i"
    done
}
# more_vfs N: from now on the PF has N VFs (an even number), each with a netdev in the host.
vfs_now=0
more_vfs() {
    for ((; vfs_now < $1; vfs_now += 2)); do
        ln -s "../$(address $vfs_now)" "$bench/root/$pf/virtfn$vfs_now"
        ln -s "../$(address $((vfs_now + 1)))" "$bench/root/$pf/virtfn$((vfs_now + 1))"
        ip link add "other$vfs_now" type veth peer "other$((vfs_now + 1))"
    done
}

# all_subjects COUNT IPAM: the floor and both plugins, with that many attachments each.
all_subjects() {
    local i common section
    for name in floor vfrail-cni host-device; do
        case $name in
            floor) subject floor "$floor" ;;
            vfrail-cni) subject vfrail-cni "$vfrail_cni" ;;
            host-device) subject host-device "$host_device" ;;
        esac
        for ((i = 0; i < $1; i++)); do
            section=$(ipam "$2" $((i + 1)))
            common=("CNI_CONTAINERID=bench$i" "CNI_NETNS=$bench/pods/$i" CNI_IFNAME=net1 "VFRAIL_ROOT=$bench/root"
                "VFRAIL_STATE_DIR=$bench/state" "VFRAIL_RUN_DIR=$bench/run" "FLOOR_LINK=vf$i")
            [ "$2" = none ] || common+=("FLOOR_IPAM=$ipam_folder/$2")
            case $name in
                vfrail-cni) attachment "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"vfrail\",
                    \"deviceID\": \"$(address "$i")\"$section}" "${common[@]}" ;;
                *) attachment "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"host-device\",
                    \"device\": \"vf$i\"$section}" "${common[@]}" ;;
            esac
        done
    done
}

# What stands on a device DEL asks the running kernel, where that describes its types.
kernel_types() { mkdir -p "$bench/root/sys/kernel/btf" && cp /sys/kernel/btf/vmlinux "$bench/root/sys/kernel/btf/"; }

make_node
kernel_types || echo 'this kernel does not describe its types: each DEL searches the node'
scene one 'one attachment, no IPAM'; all_subjects 1 none; counts; rounds "$count"
for kind in static host-local; do
    scene "$kind" "one attachment, IPAM $kind"; all_subjects 1 $kind; rounds "$count"
done
for parallel in 8 32; do
    scene "parallel$parallel" "$parallel attachments at the same time, no IPAM"
    all_subjects $parallel none
    rounds $((count / 4 + 1))
done
# Eight devices for one pod: one of them, all by one call (a bundle), and eight calls at the same time.
eight_rails() {
    local i unit=$bench/run/promised devices
    mkdir -p "$unit" && chmod 700 "$bench/run" "$unit"
    devices=$(for ((i = 0; i < 8; i++)); do printf '"%s",' "$(address "$i")"; done)
    echo "{\"resource\": \"rdma/hca\", \"devices\": [${devices%,}]}" > "$unit/bundle-0~rdma~hca.json"
    for name in one bundle eight; do
        subject $name "$vfrail_cni"
        for ((i = 0; i < ($([ $name = eight ] && echo 8 || echo 1)); i++)); do
            attachment "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"vfrail\",
                \"deviceID\": \"$([ $name = bundle ] && echo bundle-0 || address "$i")\"$(ipam "$1" $((i + 1)))}" \
                CNI_CONTAINERID=bench "CNI_NETNS=$bench/pods/0" "CNI_IFNAME=net$i" "VFRAIL_ROOT=$bench/root" \
                "VFRAIL_STATE_DIR=$bench/state" "VFRAIL_RUN_DIR=$bench/run"
        done
    done
}
for kind in none host-local; do
    scene "rails-$kind" "eight rails of one pod, IPAM $kind (x: to one)"; eight_rails $kind; rounds $((count / 4 + 1))
done
for vfs in 0 64 128; do
    more_vfs $vfs
    scene "vfs$vfs" "one attachment, PF with $vfs VFs (made up)"; all_subjects 1 none
    unset 'subjects[2]'
    counts
    rounds "$count"
done

# A busy node: so many other network namespaces, which a process each is in, and so many further processes. The node's
# /proc is the machine's.
crowd=()
busy() {
    local i
    for ((i = 0; i < $1; i++)); do unshare --net sleep infinity & crowd+=($!); done
    for ((i = 0; i < $2; i++)); do sleep infinity & crowd+=($!); done
}
trap 'kill "${crowd[@]}"' EXIT
mount --bind /proc "$bench/root/proc"
busy 500 0
scene busy500 'one attachment beside 500 other namespaces'; all_subjects 1 none; counts; rounds "$count"
scene busy500x8 '8 attachments at the same time, beside 500 other namespaces'; all_subjects 8 none; rounds $((count / 4 + 1))
busy 0 5000
scene busy5000 'one attachment beside 500 other namespaces and 5,500 processes'; all_subjects 1 none; counts; rounds "$count"
rm "$bench/root/sys/kernel/btf/vmlinux"
rm -f "$bench/state/baselines/uppers.kernel"
scene searched 'the same, on a kernel that does not list what stands on a device'; all_subjects 1 none; counts; rounds "$count"
