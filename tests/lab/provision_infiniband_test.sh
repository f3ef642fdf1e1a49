#!/bin/bash
# vfrail provision on InfiniBand: no VF is bound before it has its GUID, which stays the same. Programs: vfrail.
. /lab/lib.sh
lab_up 0 --fabric infiniband

mkdir -p /run/t
mapfile -t pf < <(pfs)
link=$(netdev "${pf[0]}" | head -n 1)
provision() { vfrail provision --config-file /run/t/config.yaml "$@"; }
exits() {
    local wanted=$1 rc=0
    shift
    "$@" > /run/t/out 2>&1 || rc=$?
    cat /run/t/out
    [ "$rc" -eq "$wanted" ]
}
printed() { cat /run/t/out; }
guids() {
    local vf
    for vf in $(vfs "$1"); do cat "$pci/$vf/infiniband"/*/node_guid; done
}
all_bound() { [ "$(guids "$1" | wc -l)" = "$2" ]; }
different() { cat "$pci"/*/infiniband/*/node_guid | sort -u | wc -l; }

section 'from none to four on each adapter'
cat > /run/t/config.yaml << END
vfs:
- {pf: ["${pf[0]}", "${pf[1]}"], count: 4, linkType: infiniband, linkState: enable}
rdma: {netns: exclusive}
END
check 'provision makes them' exits 0 provision
for one in "${pf[@]}"; do check "each VF of $one has its RDMA device" eventually all_bound "$one" 4; done
check 'no GUID is zero' lacks '^0000:0000:0000:0000' guids "${pf[0]}"
check 'all are different' is 10 different
check 'autoprobe is as before' is 1 cat "$pci/${pf[0]}/sriov_drivers_autoprobe"
check 'a second run has nothing to do' exits 0 provision
check 'and says so' has '^nothing to do$' printed

section 'the same GUIDs when they are made anew'
guids "${pf[0]}" > /run/t/before
echo 0 > "$pci/${pf[0]}/sriov_numvfs"
check 'provision makes them again' exits 0 provision
check 'each has its RDMA device' eventually all_bound "${pf[0]}" 4
check 'with the GUIDs of before' is "$(cat /run/t/before)" guids "${pf[0]}"

section 'VFs that somebody else has made, with GUIDs of zero'
echo 0 > "$pci/${pf[0]}/sriov_numvfs"
echo 4 > "$pci/${pf[0]}/sriov_numvfs"
eventually all_bound "${pf[0]}" 4
check 'are repaired while they are free' exits 0 provision
check 'each has its RDMA device' eventually all_bound "${pf[0]}" 4
check 'with the GUIDs of before' is "$(cat /run/t/before)" guids "${pf[0]}"
check 'a second run has nothing to do' exits 0 provision
check 'and says so' has '^nothing to do$' printed

section 'the GUIDs of sriov-network-operator'
mkdir -p /etc/sriov-operator/infiniband
echo "[{\"pciAddress\": \"${pf[0]}\", \"rangeStart\": \"02:00:00:00:00:00:00:01\", \"rangeEnd\": \"02:00:00:00:00:00:00:08\"}]" \
    > /etc/sriov-operator/infiniband/guids
cat > /run/t/config.yaml << END
vfs:
- {pf: "$link", count: 2, guids: {file: /etc/sriov-operator/infiniband/guids}}
END
check 'are read' exits 0 provision
check 'each has its RDMA device' eventually all_bound "${pf[0]}" 2
check 'and used' is $'0200:0000:0000:0001\n0200:0000:0000:0002' guids "${pf[0]}"
cat > /run/t/config.yaml << END
vfs:
- {pf: "$link", count: 2, linkType: ether}
END
check 'a port of the other type is no failure of the node' exits 3 provision
check 'and needs the firmware' has 'is InfiniBand, and linkType is ether' printed
check 'no kernel warning' lacks 'WARNING:\|BUG:\|Call Trace' dmesg
