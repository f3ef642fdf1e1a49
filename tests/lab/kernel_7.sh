# shellcheck shell=bash
# Sourced by build with LAB_KERNEL=7: the kernel of Debian 13's backports, from the mirror that this machine uses; the keyring of
# Debian 12 signs both. Its module is built with this machine's compiler, and kbuild's own programs run with the C library
# of Debian 13 that is unpacked beside them. Nothing is installed.

tree=kernel/usr suite=trixie-backports
. "$here/other_release.sh"
download_kernel() {
    local image base
    of_release apt-get update
    image=$(kernel_image of_release)
    [ -n "$image" ] || return 1
    base=${image#linux-image-}              # 7.3.4+deb13-amd64
    of_release apt-get download linux-{binary,modules,base,headers}-"$base" "linux-headers-${base%-amd64}-common" \
        "linux-kbuild-${base%-amd64}" libc6 libelf1t64 zlib1g libzstd1
}

# kbuild's programs want a newer C library than this machine's.
prepare_headers() {
    local program loader=$LAB_BUILD/newer/usr/$libdir/ld-linux-x86-64.so.2
    find headers/usr/lib -type f -perm -u+x | while read -r program; do
        file_is_elf "$program" || continue
        mv "$program" "$program.newer"
        printf '#!/bin/sh\nexec %q --argv0 "$0" --library-path %q "$0.newer" "$@"\n' "$loader" "$LAB_BUILD/newer/usr/$libdir" > "$program"
        chmod 755 "$program"
    done
    # The headers are those of GCC 14: two of its options GCC 12 does not have, or calls otherwise.
    cat > headers/gcc << 'END'
#!/bin/bash
options=()
for option in "$@"; do
    case $option in
        -fmin-function-alignment=*) options+=("-falign-functions=${option#*=}") ;;
        -fstrict-flex-arrays*) ;;
        *) options+=("$option") ;;
    esac
done
exec gcc "${options[@]}"
END
    chmod 755 headers/gcc
}
file_is_elf() { [ "$(head -c 4 "$1" | tail -c 3)" = ELF ]; }
make_options=(CC="$LAB_BUILD/headers/gcc")
