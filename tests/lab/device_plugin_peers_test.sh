#!/bin/bash
# vfrail serve beside the real device plugins on a node with VFs and RDMA devices of the kernel's own, in shared RDMA mode, which
# k8s-rdma-shared-dev-plugin demands: the comparison of tests/peers/run. Not in tests/run, which cannot fetch the peers: build
# them from their repositories (cmd/sriovdp, cmd/k8s-rdma-shared-dp), and name them by path; one that is not named is not compared.
#   tests/lab/run --limit 3600 --program .../vfrail --program .../test-kubelet --file tests/peers --program PATH/sriovdp
#       --program PATH/k8s-rdma-shared-dp tests/lab/device_plugin_peers_test.sh [PATTERN [all]]
# PATTERN: configurations with such names alone. "all" shows also those differences that are documented.
# shellcheck source=tests/lab/guest/lib.sh
. /lab/lib.sh
ONLY=${1:-} DIFFERENCES=${2:-}
sdp=$(command -v sriovdp) shr=$(command -v k8s-rdma-shared-dp) vfrail=$(command -v vfrail) test_kubelet=$(command -v test-kubelet)
[ -n "$sdp$shr" ] || { echo 'device_plugin_peers_test: no sriovdp and no k8s-rdma-shared-dp: give them by --program'; exit 2; }
lab_up 4 --rdma shared || exit
# Both read it for names that they only log.
mkdir -p /usr/share/misc
[ -e /usr/share/misc/pci.ids ] || printf '8086  Intel Corporation\n' > /usr/share/misc/pci.ids
. /host/files/peers/compare.sh

mapfile -t cards < <(pfs)
mapfile -t functions < <(vfs "${cards[0]}")
interface=$(netdev "${functions[0]}") pf=$(netdev "${cards[0]}")
place=([vendor]=8086 [VENDOR]=8086 [vendor2]=8086 [vf_device]=10ca [driver]=igbvf
    [pf]=$pf [PF]=${pf^^} [pf2]=$(netdev "${cards[1]}") [root]=${cards[0]} [root_short]=${cards[0]#0000:}
    [vf0]=${functions[0]} [vf1]=${functions[1]} [vf2]=${functions[2]} [vf3]=${functions[3]} [vf0_short]=${functions[0]#0000:}
    [vf0_if]=$interface [vf1_if]=$(netdev "${functions[1]}") [vf0_pattern]=${interface%?}? [sysfs]=real)
. /host/files/peers/configurations.sh
figures
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
