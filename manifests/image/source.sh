# shellcheck shell=bash
# What the image says about the source it was made from; sourced by the programs of this folder. Both can be given, for
# a source without git: then the image says no revision, and its time must be given.
: "${SOURCE_DATE_EPOCH:=$(git log -1 --format=%ct 2> /dev/null || true)}"
: "${SOURCE_REVISION:=$(git rev-parse HEAD 2> /dev/null || true)}"
[ -n "$SOURCE_DATE_EPOCH" ] || {
    echo "$0: this is not a git checkout: set SOURCE_DATE_EPOCH, the time that the image bears (seconds since 1970)" >&2
    exit 1
}
export SOURCE_DATE_EPOCH SOURCE_REVISION
# as_tar FOLDER: what is in it, with one time, owner, order and mode: the same files give the same bytes.
as_tar() (
    export LC_ALL=C
    cd "$1"
    tar --sort=name --format=ustar --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r,go-w,a+X \
        --mtime="@$SOURCE_DATE_EPOCH" -cf - -- *
)
iso_time() { date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ; }
