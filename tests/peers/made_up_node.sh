# shellcheck shell=bash
# A node out of files, in mount and network namespaces of its own: what the peers and vfrail read of sysfs and /dev, and an
# interface for each that sysfs has.

tree= far=0
# fact FILE TEXT, link FILE TARGET: below /sys.
fact() { mkdir -p "$(dirname "$tree/sys/$1")" && printf '%s\n' "$2" > "$tree/sys/$1"; }
link() { mkdir -p "$(dirname "$tree/sys/$1")" && ln -sfn "$2" "$tree/sys/$1"; }
interface() {
    local folder=$1 name=$2
    ip link add name "$name" type veth peer name "far$((++far))"
    fact "$folder/net/$name/ifindex" "$(ip -o link show "$name" | cut -d: -f1)"
    fact "$folder/net/$name/type" 1
    fact "$folder/net/$name/address" "$(ip -j link show "$name" | jq -r '.[0].address')"
    fact "$folder/net/$name/operstate" down
    fact "$folder/net/$name/flags" 0x1002
    link "class/net/$name" "../../$folder/net/$name"
}
nodes=0
rdma_device() {
    local folder=$1 name=$2
    fact "$folder/infiniband/$name/node_type" '1: CA'
    fact "$folder/infiniband/$name/ports/1/link_layer" Ethernet
    fact "$folder/infiniband/$name/ports/1/state" '4: ACTIVE'
    fact "$folder/infiniband/$name/ports/1/phys_state" '5: LinkUp'
    link "class/infiniband/$name" "../../$folder/infiniband/$name"
    fact "$folder/infiniband_verbs/uverbs$nodes/ibdev" "$name"
    link "class/infiniband_verbs/uverbs$nodes" "../../$folder/infiniband_verbs/uverbs$nodes"
    for node in umad issm; do
        fact "$folder/infiniband_mad/$node$nodes/ibdev" "$name"
        fact "$folder/infiniband_mad/$node$nodes/port" 1
        link "class/infiniband_mad/$node$nodes" "../../$folder/infiniband_mad/$node$nodes"
        : > "$tree/dev/infiniband/$node$nodes"
    done
    : > "$tree/dev/infiniband/uverbs$nodes"
    nodes=$((nodes + 1))
}
# function ADDRESS CLASS VENDOR DEVICE NUMA DRIVER [INTERFACE [RDMA]]
groups=30
pci_function() {
    local address=$1 class=$2 vendor=$3 device=$4 numa=$5 driver=$6
    local folder=devices/pci0000:00/0000:00:02.0/$address
    link "bus/pci/devices/$address" "../../../$folder"
    fact "$folder/class" "0x$class"
    fact "$folder/vendor" "0x$vendor"
    fact "$folder/device" "0x$device"
    fact "$folder/subsystem_vendor" "0x$vendor"
    fact "$folder/subsystem_device" 0x0008
    fact "$folder/revision" 0x00
    fact "$folder/modalias" "pci:v0000${vendor^^}d0000${device^^}sv0000${vendor^^}sd00000008bc${class:0:2}sc${class:2:2}i${class:4:2}"
    fact "$folder/numa_node" "$numa"
    fact "kernel/iommu_groups/$groups/type" DMA
    link "$folder/iommu_group" "../../../../kernel/iommu_groups/$groups"
    groups=$((groups + 1))
    [ "$driver" = - ] || { mkdir -p "$tree/sys/bus/pci/drivers/$driver" && link "$folder/driver" "../../../../bus/pci/drivers/$driver"; }
    [ "${7:--}" = - ] || interface "$folder" "$7"
    [ "${8:--}" = - ] || rdma_device "$folder" "$8"
}
# vf PF INDEX ADDRESS ...: as pci_function.
vf() {
    local parent=$1 index=$2
    local folder=devices/pci0000:00/0000:00:02.0
    shift 2
    pci_function "$@"
    link "$folder/$1/physfn" "../$parent"
    link "$folder/$parent/virtfn$index" "../$1"
}
with_vfs() { fact "bus/pci/devices/$1/sriov_totalvfs" 8; fact "bus/pci/devices/$1/sriov_numvfs" "$2"; }
# sub_function PF NUMBER SFNUM [INTERFACE [RDMA]]
sub_function() {
    local name=mlx5_core.sf.$2 folder=devices/pci0000:00/0000:00:02.0/$1/mlx5_core.sf.$2
    fact "$folder/sfnum" "$3"
    link "bus/auxiliary/devices/$name" "../../../$folder"
    mkdir -p "$tree/sys/bus/auxiliary/drivers/mlx5_core.sf"
    link "$folder/driver" '../../../../../bus/auxiliary/drivers/mlx5_core.sf'
    [ "${4:--}" = - ] || interface "$folder" "$4"
    [ "${5:--}" = - ] || rdma_device "$folder" "$5"
}

make_node() {
    # In this mount namespace alone, like all that follows.
    for tree in /run /var/lib /mnt; do mount -t tmpfs tmpfs $tree; done
    mkdir -p "$tree"/sys/{bus/pci/devices,class/net} "$tree"/dev/{infiniband,net,vfio}
    local a=0000:3b:00 b=0000:86:00
    pci_function $a.0 020000 15b3 101d 0 mlx5_core ens1f0np0 mlx5_0
    fact "bus/pci/devices/$a.0/acpi_index" 101
    with_vfs $a.0 6
    vf $a.0 0 $a.2 020000 15b3 101e 0 mlx5_core ens1f0v0 mlx5_1
    vf $a.0 1 $a.3 020000 15b3 101e 0 mlx5_core ens1f0v1 mlx5_2
    fact "bus/pci/devices/$a.3/acpi_index" 12
    vf $a.0 2 $a.4 020000 15b3 101e 0 vfio-pci
    vf $a.0 3 $a.5 020000 15b3 101e 0 mlx5_core - mlx5_3
    vf $a.0 4 $a.6 020000 15b3 101e 0 -
    vf $a.0 5 $a.7 020000 15b3 101e 0 igb_uio
    fact "bus/pci/devices/$a.7/uio/uio0/name" igb_uio
    pci_function $b.0 020000 8086 158b 1 ice ens2f0
    with_vfs $b.0 3
    vf $b.0 0 $b.2 020000 8086 154c 1 iavf ens2f0v0
    vf $b.0 1 $b.3 020000 8086 154c 1 iavf ens2f0v1
    vf $b.0 2 $b.4 020000 8086 154c 1 vfio-pci
    pci_function 0000:d8:00.0 020000 15b3 1017 1 mlx5_core ens3f0
    with_vfs 0000:d8:00.0 5
    vf 0000:d8:00.0 0 0000:d8:00.2 020000 15b3 1018 1 mlx5_core ens3f0v0
    vf 0000:d8:00.0 3 0000:d8:00.5 020000 15b3 1018 1 mlx5_core ens3f0v3
    fact bus/pci/devices/0000:d8:00.5/acpi_index ' 77 '
    vf 0000:d8:00.0 4 0000:d8:00.6 020000 15b3 1018 1 mlx5_core ens3f0v4
    pci_function 0000:af:00.0 020000 15b3 a2d6 1 mlx5_core p0 mlx5_4
    sub_function 0000:af:00.0 2 1 enp175s0f0s1 mlx5_5
    sub_function 0000:af:00.0 3 88 enp175s0f0s88
    pci_function 0000:af:00.1 020700 15b3 101b -1 mlx5_core ibp175 mlx5_6
    pci_function 0000:c1:00.0 120000 8086 0d8f 1 vfio-pci
    pci_function 0000:c1:00.1 120000 8086 0d90 1 -
    pci_function 0000:c2:00.0 030200 10de 2330 1 nvidia
    : > "$tree/dev/infiniband/rdma_cm"
    : > "$tree/dev/vhost-net"
    : > "$tree/dev/net/tun"
    mkdir -p "$tree/sys/module/ib_core/parameters"
    fact module/ib_core/parameters/netns_mode Y
    for node in null zero random urandom tty; do touch "$tree/dev/$node" && mount --bind "/dev/$node" "$tree/dev/$node"; done
    ln -s /proc/self/fd "$tree/dev/fd"
    mkdir -p "$tree/dev/shm" /var/lib/kubelet /run/k8s.cni.cncf.io /run/cdi
    mount --bind "$tree/dev" /dev
    mount --bind "$tree/sys" /sys
}

# @NAME@ of the configurations on the made-up node.
find_places() {
    place=([vendor]=15b3 [VENDOR]=15B3 [vendor2]=8086 [vf_device]=101e [driver]=mlx5_core [uio_driver]=igb_uio
        [pf]=ens1f0np0 [PF]=ENS1F0NP0 [pf2]=ens2f0 [root]=0000:3b:00.0 [root_short]=3b:00.0
        [vf0]=0000:3b:00.2 [vf1]=0000:3b:00.3 [vf2]=0000:3b:00.4 [vf3]=0000:3b:00.5 [vf0_short]=3b:00.2
        [vf0_if]=ens1f0v0 [vf1_if]=ens1f0v1 [vf0_pattern]=ens1f0v? [acpi]=12
        [accelerator]=0000:c1:00.0 [accelerator_vendor]=8086 [sf_pf]=p0 [sf_root]=0000:af:00.0
        [hole_pf]=ens3f0 [acpi_blanks]=77 [no_driver]=0000:3b:00.6)
}
