# shellcheck shell=bash
# The lab's scripts as stages, for tests/run and tests/lab/all. Sourced in the top folder, with tests/support/stages.sh.

# lab OPTION... SCRIPT...: tests/lab/run, with the programs that the scripts call.
lab() {
    local options=() name
    for name in release/bin/{vfrail,vfrail-cni,vfrail-check} \
        dev/bin/{test-kubelet,kernel_contract_tests,inject,inject_sweep,stress,attach_program}; do
        options+=(--program "build/$name")
    done
    tests/lab/run "${options[@]}" --program /usr/lib/cni/host-local --program /usr/lib/cni/static "$@"
}

# inject WORD...: at each third system call one errno, before each that may change something a kill with one
# continuation, in turn (on made-up devices tests/run has each call, all errnos and all continuations).
# VFRAIL_INJECT=all: those here as well (an hour).
inject() {
    local turns='--in-turn --fault-step 3'
    [ "${VFRAIL_INJECT:-}" != all ] || turns=--all
    # shellcheck disable=SC2086
    lab --name "inject-${1%% *}" --limit 5400 tests/lab/inject_test.sh exclusive $turns "$@"
}

# The module of the emulated adapters is for the kernels from 6 on.
queue_infiniband() {
    local mode
    for mode in exclusive shared; do
        queue "lab, InfiniBand, $mode" lab --name "infiniband-$mode" --limit 600 tests/lab/infiniband_test.sh "$mode"
        queue "lab, InfiniBand of two ports, $mode" lab --name "infiniband-ports-$mode" --limit 600 tests/lab/infiniband_ports_test.sh "$mode"
        queue "lab, InfiniBand traffic, $mode" lab --name "infiniband-traffic-$mode" --limit 300 \
            tests/lab/infiniband_traffic_test.sh "$mode"
        queue "lab, InfiniBand at once, $mode" lab --name "infiniband-storm-$mode" --limit 300 \
            tests/lab/infiniband_storm_test.sh "$mode" 2
        # At each twentieth point, others each time.
        queue "lab, InfiniBand killed, $mode" lab --name "infiniband-kill-$mode" --limit 900 tests/lab/infiniband_kill_test.sh "$mode" 20
    done
    queue 'lab, InfiniBand, device plugin' lab --name infiniband-plugin --limit 600 tests/lab/infiniband_plugin_test.sh
    queue 'lab, InfiniBand, interfaces upon one' lab --name shared-interface-infiniband --limit 600 tests/lab/shared_interface_test.sh infiniband
    queue 'lab, InfiniBand, provision' lab --name infiniband-provision --limit 600 tests/lab/provision_infiniband_test.sh
    queue 'lab, InfiniBand, demo' lab --name infiniband-demo --limit 600 examples/demo/story.sh infiniband
}

# Each keeps one core busy most of the time. The longest come first.
queue_lab() {
    local mode
    queue 'lab, ADD by system call' inject 'ADD with IPAM'
    queue 'lab, DEL by system call' inject 'DEL with IPAM'
    queue 'lab, CHECK by system call' inject 'CHECK with IPAM'
    for mode in exclusive shared; do
        queue "lab, CNI, $mode" lab --name "cni-$mode" --limit 900 tests/lab/cni_test.sh "$mode"
    done
    case ${LAB_KERNEL:-6} in 6 | 7) queue_infiniband ;; esac
    queue 'lab, CDI' lab --name cdi --limit 900 tests/lab/cdi_test.sh
    queue 'lab, traffic' lab --name traffic --limit 600 tests/lab/traffic_test.sh
    queue 'lab, lifecycle' lab --name lifecycle --limit 600 tests/lab/lifecycle_test.sh
    queue 'lab, machine' lab --name machine --limit 900 tests/lab/machine_test.sh
    # Another crowd each time; what it printed last says which.
    queue 'lab, stress' lab --name stress --limit 600 tests/lab/stress_test.sh exclusive 60 "$EPOCHSECONDS"
    queue 'lab, metrics' lab --name metrics --limit 900 tests/lab/metrics_test.sh
    queue 'lab, preferred devices' lab --name preferred --qemu -device --qemu pcie-root-port,id=port7,bus=node1,chassis=8,slot=8 \
        --qemu -device --qemu virtio-gpu-pci,bus=port7 tests/lab/preferred_test.sh
    queue 'lab, hostile pods' lab --name hostile --limit 900 tests/lab/hostile_test.sh
    queue 'lab, trouble' lab --name trouble --limit 900 tests/lab/trouble_test.sh
    queue 'lab, device plugin' lab --name plugin --limit 900 tests/lab/plugin_test.sh
    queue 'lab, interfaces upon one' lab --name shared-interface --limit 600 tests/lab/shared_interface_test.sh
    queue 'lab, provision' lab --name provision --limit 600 tests/lab/provision_test.sh
    queue 'lab, demo' lab --name demo --limit 900 examples/demo/story.sh
    [ "${LAB_KERNEL:-6}" = 7 ] || return 0
    queue 'lab, traffic of pods' lab --name pods-traffic --limit 900 tests/lab/pods_traffic_test.sh exclusive
    queue 'lab, traffic of rails' lab --name rails-traffic --limit 600 tests/lab/rails_traffic_test.sh 5
}
