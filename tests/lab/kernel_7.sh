# shellcheck shell=bash
# Sourced by build with LAB_KERNEL=7: the kernel of Debian 13's backports, from the mirror that this machine uses; the keyring of
# Debian 12 signs both. Its module is built with this machine's compiler, and kbuild's own programs run with the C library
# of Debian 13 that is unpacked beside them. Nothing is installed.

tree=kernel/usr suite=trixie-backports
# newer PROGRAM ARGUMENT...: apt-get and apt-cache with package lists of their own.
newer() {
    local state=$LAB_BUILD/apt program=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror
    shift
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2> /dev/null |
        sed -nE 's/^URIs: *([^ ]*\/debian)\/?$/\1/p; s/^deb (\[[^]]*\] )?([^ ]*\/debian)\/? .*/\2/p' | sed -n 1p)
    [ -n "$mirror" ] || { echo "apt's sources have no mirror of Debian"; return 1; }
    mkdir -p "$state"/{lists,archives}/partial
    : > "$state/status"
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$mirror" ${suite%-backports} "$keyring" "$mirror" $suite > "$state/sources.list"
    "$program" -q -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::State="$state" \
        -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state" \
        -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=true "$@"
}
download_kernel() {
    local image base
    newer apt-get update
    image=$(kernel_image newer)
    [ -n "$image" ] || return 1
    base=${image#linux-image-}              # 7.3.4+deb13-amd64
    newer apt-get download linux-{binary,modules,base,headers}-"$base" "linux-headers-${base%-amd64}-common" \
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
