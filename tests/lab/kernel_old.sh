# shellcheck shell=bash
# Sourced by build with LAB_KERNEL=6.1, Debian 12's own kernel, or 5.10, that of Debian 11: many clusters have such kernels.
# The modules are built with this machine's compiler.

suite=bookworm make_options=(InfiniBand=no)
fetch() { apt_get "$@"; }
if [ "$LAB_KERNEL" = 5.10 ]; then
    suite=bullseye
    . "$here/other_release.sh"
    fetch() { of_release apt-get "$@"; }
    make_options+=(CC=gcc)                  # its Makefile names gcc-10
fi
download_kernel() {
    local image base
    [ "$LAB_KERNEL" = 6.1 ] || fetch update
    image=$(kernel_image $([ "$LAB_KERNEL" = 6.1 ] || echo of_release))
    [ -n "$image" ] || return 1
    base=${image#linux-image-}              # 6.1.0-50-amd64
    base=${base%-amd64}
    fetch download "$image" "linux-headers-$base-amd64" "linux-headers-$base-common" "linux-kbuild-$LAB_KERNEL"
}
