# shellcheck shell=bash
# Which kernel the VM has, LAB_KERNEL, and where it is built, LAB_BUILD; sourced by all that build or boot it.
#   6     that of Debian 12's backports (default), 6.12
#   7     that of Debian 13's, whose Soft-RoCE sends in every network namespace
#   6.1   that of Debian 12
#   5.10  that of Debian 11, which is older than much that is asked of a kernel
LAB_KERNEL=${LAB_KERNEL:-6}
case $LAB_KERNEL in
    6) lab_folder=lab ;;
    5.10 | 6.1 | 7) lab_folder=lab-$LAB_KERNEL ;;
    *) echo "the lab VM has no kernel \"$LAB_KERNEL\", but 5.10, 6.1, 6 and 7" >&2; exit 2 ;;
esac
LAB_BUILD=$(realpath -m "${LAB_BUILD:-$(dirname "${BASH_SOURCE[0]}")/../../build/$lab_folder}")
export LAB_KERNEL LAB_BUILD
