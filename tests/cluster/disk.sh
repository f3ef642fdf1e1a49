# shellcheck shell=bash
# The node's disk: programs, CNI plugins, container images. Needs no root. Sourced by tests/cluster/run.

# vfrail_image OUT.tar: the DaemonSet's image as $vfrail_image_name: what manifests/Dockerfile puts into it, with the
# libraries of this machine. The one place to change when the image is built by a command of its own.
vfrail_image_name=docker.io/library/vfrail:0.1.0
vfrail_image() {
    local root=$work/images/vfrail program library
    mkdir -p "$root"/{usr/bin,usr/libexec/cni,proc,sys,dev,etc,tmp,run,host,var}
    cp "$VFRAIL_BIN/vfrail" "$root/usr/bin/"
    cp "$VFRAIL_BIN/vfrail-cni" "$root/usr/libexec/cni/"
    for library in $(ldd "$VFRAIL_BIN/vfrail" | grep -o '/[^ ]* (0x' | cut -d' ' -f1); do
        mkdir -p "$root${library%/*}"
        cp -L "$library" "$root$library"
    done
    "$here/image" "$vfrail_image_name" "$root" '["/usr/bin/vfrail"]' '["serve"]' "$1"
}

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
    gcc -Os -static -o "$work/images/pause/pause" "$here/pause.c"
    "$here/image" docker.io/library/pause:1 "$work/images/pause" '["/pause"]' '[]' "$tree/images/pause.tar"
    tools_image "$tree/images/tools.tar"
    vfrail_image "$tree/images/vfrail.tar"
    truncate -s 4G "$work/node.ext4"
    /sbin/mke2fs -q -t ext4 -E lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0 -d "$tree" "$work/node.ext4"
)
