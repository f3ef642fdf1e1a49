# shellcheck shell=bash
# The nodes' disk: programs, CNI plugins, container images, vfrail's as manifests/image/build has made it. Needs no root. Sourced by tests/cluster/run.

# The pods' image: the lab's own programs (ip, rdma, ibv_*, busybox), without kernel modules and init.
tools_image() {
    local root=$work/images/tools applet
    mkdir -p "$root"
    cp -a "$LAB_BUILD/root"/{bin,sbin,usr,lib,lib64,etc} "$root/"
    rm -rf "$root/lib/modules" "$root/usr/bin/runc"
    mkdir -p "$root"/{proc,sys,dev,tmp,run,bin/bb}
    for applet in $("$LAB_BUILD/root/bin/busybox" --list); do ln -sf /bin/busybox "$root/bin/bb/$applet"; done
    "$here/image" docker.io/library/rdma-tools:latest "$root" '[]' '["/bin/sh"]' "$1"
}

disk() (
    set -e
    tree=$work/tree
    rm -rf "$tree" "$work/images" "$work/node.ext4"
    mkdir -p "$tree"/{bin,cni,images,containerd} "$work/images/pause"
    cp "$bin/kubelet" "$tree/bin/"
    cp "$containerd_bin"/{containerd,containerd-shim-runc-v2,ctr} "$tree/containerd/"
    cp /usr/lib/cni/{bridge,host-local,loopback,static,dhcp} "$clients"/{multus,whereabouts} "$tree/cni/"
    [ ! -e "$CLUSTER_BUILD/bin/multus-claims" ] || cp "$CLUSTER_BUILD/bin/multus-claims" "$tree/"
    cp "$CLUSTER_BUILD/bin/gpu-driver" "$tree/"
    gcc -Os -static -o "$work/images/pause/pause" "$here/pause.c"
    "$here/image" docker.io/library/pause:1 "$work/images/pause" '["/pause"]' '[]' "$tree/images/pause.tar"
    tools_image "$tree/images/tools.tar"
    cp "build/image/vfrail-$(manifests/image/version)-amd64.tar" "$tree/images/vfrail.tar"
    truncate -s 4G "$work/node.ext4"
    /sbin/mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0 -d "$tree" "$work/node.ext4"
    for ((number = 2; number <= NODES; number++)); do cp --sparse=always "$work/node.ext4" "$work/node-$number.ext4"; done
)
