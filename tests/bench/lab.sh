#!/bin/bash
# The measurements on emulated VFs, run in the lab VM by tests/bench/cni. Argument: rounds.
. /lab/lib.sh
set -u
count=$1 bench=/tmp/bench
floor=$(command -v bench-floor) measure=$(command -v bench-measure) vfrail_cni=$(command -v vfrail-cni)
host_device=$(command -v host-device) ipam_folder=/usr/local/bin
. /host/files/rounds.sh

# VF properties, as JSON keys; the floor then sets the same VLAN on the PF.
properties=', "vlan": 100'

lab_up 7 --rdma exclusive
mapfile -t all < <(for pf in $(pfs); do vfs "$pf"; done)
for vf in "${all[@]}"; do ip link set "$(netdev "$vf")" down; done
for ((i = 0; i < ${#all[@]}; i++)); do ip netns add "p$i"; done

# of PROGRAM VF...: attaches these VFs; PROGRAM is floor, vfrail-cni or host-device. Each into a pod of its own.
of() {
    local program=$1 number=0 vf link rdma extra=${extra-} variables
    shift
    case $program in
        floor) subject floor "$floor" ;;
        vfrail-cni) subject vfrail-cni "$vfrail_cni" ;;
        host-device) subject host-device "$host_device" ;;
    esac
    for vf in "$@"; do
        link=$(netdev "$vf") rdma=$(ls "$pci/$vf/infiniband" 2> /dev/null)
        variables=("CNI_CONTAINERID=bench$number" "CNI_NETNS=/run/netns/p$number" CNI_IFNAME=net1
            VFRAIL_STATE_DIR=/tmp/state VFRAIL_RUN_DIR=/tmp/run "FLOOR_LINK=$link" "${floor_variables[@]}")
        [ -z "$rdma" ] || variables+=("FLOOR_RDMA=$(rdma dev show "$rdma" | cut -d: -f1)")
        [ "$ipam" = none ] || variables+=("FLOOR_IPAM=$ipam_folder/$ipam")
        attachment "{\"cniVersion\": \"1.0.0\", \"name\": \"rails\", \"type\": \"$program\", \"deviceID\": \"$vf\",
            \"pciBusID\": \"$vf\"$(ipam "$ipam" $((number + 1)))$extra}" "${variables[@]}"
        number=$((number + 1))
    done
}
floor_variables=() ipam=none

# igb's VFs of one PF, one of each PF in turn.
mapfile -t spread < <(for ((i = 0; i < 7; i++)); do for pf in $(pfs); do vfs "$pf" | sed -n $((i + 1))p; done; done)
pf=$(pfs | head -n 1) vf=${all[0]}
echo "lab: ${#all[@]} VFs on $(pfs | wc -l) PFs"

scene rdma 'a VF with its RDMA device'
for program in floor vfrail-cni; do of $program "$vf"; done
counts; rounds "$count"
for parallel in 8 32; do
    [ ${#all[@]} -ge $parallel ] || continue
    scene "rdma$parallel" "$parallel VFs with RDMA devices at the same time"
    for program in floor vfrail-cni; do of $program "${spread[@]:0:parallel}"; done
    rounds $((count / 4 + 1))
done

# again PF N: N new VFs on this PF, without RDMA devices.
again() {
    echo 0 > "$pci/$1/sriov_numvfs"
    echo "$2" > "$pci/$1/sriov_numvfs"
    eventually has . netdev "$(vfs "$1" | head -n 1)" > /dev/null
}
for number in 1 7; do
    again "$pf" $number
    scene "vfs$number" "a VF without RDMA device, PF with $number VFs"
    for program in floor vfrail-cni host-device; do of $program "$vf"; done
    counts; rounds "$count"
done
ipam=static
scene static 'a VF without RDMA device, IPAM static'
for program in floor vfrail-cni host-device; do of $program "$vf"; done
rounds "$count"
ipam=none

if [ -n "$properties" ]; then
    for number in 1 7; do
        again "$pf" $number
        scene "properties$number" "a VF with a VLAN, PF with $number VFs"
        floor_variables=("FLOOR_PF=$(netdev "$pf")" FLOOR_VF=0 FLOOR_VLAN=100)
        for program in floor vfrail-cni; do extra=$properties of $program "$vf"; done
        counts; rounds "$count"
    done
fi
