#!/bin/bash
# vfrail-cni beside the real host-device (with tuning behind it) and sriov-cni, each under the same name, with the same
# configuration and the same VF. Not in tests/run, which cannot fetch sriov-cni: tests/peers/build builds the peers; one that is
# not named is not compared, and the last lines say so.
#   tests/lab/run --limit 3600 --program .../vfrail-cni --file tests/peers --program build/peers/host-device
#       --program build/peers/tuning --program build/peers/static --program build/peers/sriov-cni
#       tests/lab/cni_peers_test.sh [PATTERN [all [GROUPS]]]
# PATTERN: configurations with such names alone. "all" shows also those differences that are documented. GROUPS: groups with such
# names alone, so that several VMs can share the half hour. host-device is that of tests/peers/build: Debian's 1.1.1 prints an
# empty dns in each result.
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
ONLY=${1:-} DIFFERENCES=${2:-} ONLY_GROUPS=${3:-} all_differences=/host/differences
lab_up 2 --rdma none || exit
. /host/files/peers/cni_compare.sh
skipped=()
for peer in host-device tuning sriov-cni; do
    if [ -x /usr/local/bin/$peer ]; then cp /usr/local/bin/$peer "$theirs/${peer%-cni}"; else skipped+=("$peer"); fi
done
[ ${#skipped[@]} -lt 3 ] || { echo 'cni_peers_test: SKIPPED, nothing was compared: no host-device and no sriov-cni, give them by --program'; exit 77; }
cp /usr/local/bin/static $ours/ && cp /usr/local/bin/static $theirs/
for name in host-device sriov; do vfrail-cni install --as $name $ours >> $log || exit; done
PF=$(pfs | head -n 1)
mapfile -t functions < <(vfs "$PF")
interface=$(netdev "${functions[0]}")
place=([pf]=$PF [vf]=${functions[0]} [vf2]=${functions[1]} [if]=$interface [if2]=$(netdev "${functions[1]}")
    [mac]=$(< "$pci/${functions[0]}/net/$interface/address") [mac2]=$(< "$pci/${functions[1]}/net/$(netdev "${functions[1]}")/address") [folder]=$(realpath "$pci/${functions[0]}"))
place[MAC]=${place[mac]^^} place[mac_dashes]=${place[mac]//:/-} place[vf_short]=${place[vf]#0000:}
. /host/files/peers/cni_configurations.sh
figures
[ ${#skipped[@]} = 0 ] || echo "NOT COMPARED, no program by --program: ${skipped[*]}"
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
[ "$(wc -l < "$checks_dir/failed")" = 0 ] || tail -n 20 $log
