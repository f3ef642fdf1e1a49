# shellcheck shell=bash
# Sourced by what builds with the packages of another release of Debian, from the mirror that this machine uses; the keyring
# of Debian 12 signs them all. Nothing is installed.

# of_release PROGRAM ARGUMENT...: apt-get or apt-cache with the packages of $suite, in lists of their own.
of_release() {
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
