#!/usr/bin/env bash
# Runs one block of commands of a document, in a folder with copies of manifests/ and examples/:
#   commands.sh REPOSITORY PROGRAMS TREE BLOCK
# vfrail, jq and what else reads runs as it is, on the node TREE. What would change a cluster or this machine is replaced by
# a function that checks what it names: files, objects of manifests/, units, presets. Whatever has no function here fails.
set -euo pipefail
top=$1 programs=$2 tree=$3 block=$4
tools=$PATH
version=$("$top/manifests/image/version")
version_regex=${version//./\\.}

wrong() {
    echo "documents: $*" >&2
    exit 1
}
real() { PATH=$tools command "$@"; }
has() { real grep -qE -- "$1" "${@:2}"; }
# Words in capitals stand for names of the reader's.
placeholder() { [[ $1 =~ ^[A-Z][A-Z0-9_]*$ ]]; }
there() { [ -e "$1" ] || released "$1" || wrong "there is no $1"; }
# Files that manifests/release makes.
released() {
    case $1 in
        install.yaml) { real cat manifests/configmap.yaml && echo --- && real cat manifests/daemonset.yaml; } > "$1" ;;
        uninstall.yaml) real cp manifests/uninstall/daemonset.yaml "$1" ;;
        *) return 1 ;;
    esac
    has "> \"\\\$out/$1\"" "$top/manifests/release"
}

# --- programs that only read, as they are

function jq { real jq "$@"; }
function diff { real diff "$@"; }
# On copies, like all that is not below $top; what it replaces must be there.
function sed {
    local file
    [ "$1" != -i ] || for file in "${@:3}"; do there "$file"; done
    if [ "$1" = -i ]; then
        local before
        before=$(real cat "${@:3}" | real cksum)
        real sed "$@"
        [ "$before" != "$(real cat "${@:3}" | real cksum)" ] || wrong "sed $* changes nothing"
    else
        there "$2"
        real sed "$@" | real cmp -s - "$2" && wrong "sed $* changes nothing"
        real sed "$@"
    fi
}
function lsns { [ "$*" = '-t net' ] || wrong "lsns $*"; }
function journalctl {
    [ "$1" = -u ] || wrong "journalctl $*"
    [ "$2" = kubelet ] || there "manifests/$2.service"
}

# --- our own

function vfrail {
    case ${1:-} in
        version | check-config | render | explain | example) real "$programs/vfrail" "$@" ;;
        # It writes below --root, so that it is tried with --dry-run alone, with the document's own configuration.
        provision)
            real sed -n '/^vfs:/,/^```/{/^```/q;p}' "$top/plugin/README.md" > config.yaml
            [[ " $* " == *' --dry-run '* ]] || set -- "$@" --dry-run
            real "$programs/vfrail" "$@" --root "$tree"
            ;;
        inspect | doctor | capture | top | plan | compare)
            local root=(--root "$tree")
            [ "$1" != top ] || root+=(-i 0.1 -n 1)
            [[ " $* " != *' --root '* ]] || root=()
            real "$programs/vfrail" "$@" "${root[@]}"
            ;;
        *) wrong "no check for vfrail $*" ;;
    esac
}
function vfrail-check {
    # This machine is no pod: what it finds is not asked for, and nobody is called.
    local option options=("$@")
    case " $* " in
        *' --listen '* | *' --to '* | *' --loopback '*)
            for option in "$@"; do
                [[ $option != -* ]] || real "$programs/vfrail-check" --help | has "(^|[ ,])$option([ ,]|$)" || wrong "vfrail-check $option"
            done
            return
            ;;
        # There is no RDMA device in the tree.
        *' --top '*) set -- "$@" -i 0.1 -n 1 ;;
        *' --nccl-log '*) : > "$PWD/nccl.log"; options=("${options[@]/*.log/$PWD/nccl.log}"); set -- "${options[@]}" ;;
    esac
    [ "${1:-}" = explain ] || { real "$programs/vfrail-check" --root "$tree" "$@" > /dev/null || [ $? = 1 ]; return; }
    real "$programs/vfrail-check" "$@"
}
function vfrail-cni {
    case ${1:-} in
        version) real "$programs/vfrail-cni" "$@" ;;
        install)
            local name=vfrail options=("${@:2:$#-2}")
            case $* in
                'install --as '*' /opt/cni/bin') name=$3 && [[ $name =~ ^(host-device|sriov|ib-sriov|rdma)$ ]] || wrong "vfrail-cni $*" ;;
                'install --check vfrail-check /opt/cni/bin') options=(--check "$programs/vfrail-check") ;;
                'install /opt/cni/bin') ;;
                *) wrong "vfrail-cni $*" ;;
            esac
            real mkdir -p opt/cni/bin
            real "$programs/vfrail-cni" install "${options[@]}" "$PWD/opt/cni/bin"
            [ -x "opt/cni/bin/$name" ] || wrong "vfrail-cni $* installs nothing"
            ;;
        check-network) real "$programs/vfrail-cni" "$@" ;;
        # On empty folders: the flags are parsed, and there is nothing to release.
        sweep) VFRAIL_STATE_DIR=$PWD/state VFRAIL_RUN_DIR=$PWD/run VFRAIL_ROOT=$tree real "$programs/vfrail-cni" "$@" ;;
        *) wrong "no check for vfrail-cni $*" ;;
    esac
}
function /opt/cni/bin/vfrail { vfrail-cni "$@"; }
function ./vfrail-cni { vfrail-cni "$@"; } # of the archive of a release

# The scripts of the repository: they and their flags exist.
script() {
    [ -x "$top/$1" ] || wrong "there is no program $1"
    local word
    for word in "${@:2}"; do
        [[ $word != --* ]] || has "(^|[^a-z-])$word([^a-z-]|$)" "$top/$1" || wrong "$1 has no $word"
        [[ $word != *.sh || $word == my_* ]] || there "$top/$word"
    done
}
for one in tests/{setup,style,run} tests/lab/{setup,build,run} tests/fuzz/run tests/cluster/{run,many_nodes} tests/nccl/run tests/bench/{cni,plugin} examples/demo/run; do
    eval "function $one { script $one \"\$@\"; }; function ./$one { script $one \"\$@\"; }"
done
function build/fuzz/bin/fuzz_stdin { there "$top/tests/fuzz/stdin_fuzz.cpp"; }
function build/dev/bin/documents_tests {
    has "TEST_CASE\\(\"$1\"" "$top"/tests/documents/*.cpp || wrong "no test is called $1"
}

# --- build

cmake_files() { (cd "$top" && real git ls-files -- '*CMakeLists.txt'); }
function cmake {
    local preset='' word
    for word in "$@"; do
        case $word in
            --build | --preset | --target | -j2) ;;
            -D*) has "${word:2:8}" $(cmake_files | real sed "s|^|$top/|") || wrong "no CMake file has ${word#-D}" ;;
            *)
                if [ -z "$preset" ]; then
                    preset=$word
                    has "\"name\": \"$word\"" "$top/CMakePresets.json" || wrong "there is no preset $word"
                else
                    has "(add_executable|unit_tests|add_custom_target)\\($word[ )]" $(cmake_files | real sed "s|^|$top/|") ||
                        wrong "there is no target $word"
                fi
                ;;
        esac
    done
}
function ctest {
    [ "$1 $2" = '--test-dir build/dev' ] || wrong "ctest $*"
    case $3 in
        -L) has "LABELS $4" $(cmake_files | real sed "s|^|$top/|") || wrong "no test has the label $4" ;;
        -R) has "(unit_tests|add_program_test)\\([a-z_]+ ${4//[\^\$]/}[ )]" $(cmake_files | real sed "s|^|$top/|") || wrong "no test is called $4" ;;
        *) wrong "ctest $*" ;;
    esac
}
# Not expanded in a script; the programs behind it are the functions above.
function alias { [[ $* =~ ^vfrail=docker\ run\ --rm\ -i\ -v\ .*PWD:/work:ro.\ -w\ /work\ REGISTRY/vfrail:$version_regex$ ]] || wrong "alias $*"; }
function docker {
    case $1 in
        # With the name that the Dockerfile says.
        build)
            [ "$2 $4 $6" = '-f -t .' ] && there "$top/$3" &&
                has "docker build -f $3 -t (registry\\.example\\.com/)?${5#REGISTRY/} \\." "$top/$3" || wrong "docker $*"
            ;;
        push) [[ $2 =~ ^REGISTRY/(vfrail:$version_regex|rdma-tools:1)$ ]] || wrong "docker $*" ;;
        run) [ "$2 $3 $4 $5 $6" = "--rm -i --entrypoint vfrail-cni REGISTRY/vfrail:$version" ] && inside vfrail-cni "${@:7}" || wrong "docker $*" ;;
        create) [ "$2 $3 $4" = "--name vfrail REGISTRY/vfrail:$version" ] || wrong "docker $*" ;;
        cp) [[ $2 =~ ^vfrail:/usr/bin/(vfrail|vfrail-check)$ ]] && real cp "$programs/${BASH_REMATCH[1]}" "$3" || wrong "docker $*" ;;
        rm) [ "$2" = vfrail ] || wrong "docker $*" ;;
        *) wrong "docker $*" ;;
    esac
}
# Of a release, as the scripts that make it say.
function tar { [ "$*" = "-xzf vfrail-$version-linux-amd64.tar.gz --strip-components=1" ] && has 'vfrail-VERSION-linux-ARCH.tar.gz ' "$top/manifests/release" || wrong "tar $*"; }
function sha256sum { [ "$*" = '--check --ignore-missing SHA256SUMS' ] && has '"\$tmp/SHA256SUMS"' "$top/manifests/release" || wrong "sha256sum $*"; }
function openssl { real grep -qF "openssl $*" "$top/manifests/release" || wrong "openssl $*"; }
function skopeo { real grep -qF "skopeo ${*//$version/VERSION}" "$top/manifests/image/build" || wrong "skopeo $*"; }
function helm {
    [ "$2" = vfrail ] || wrong "helm $*: the DaemonSet has the release's name"
    case $1 in
        install | upgrade) there "$3/Chart.yaml" && set -- "${@:4}" ;;
        uninstall) set -- "${@:3}" ;;
        *) wrong "helm $*" ;;
    esac
    while [ $# -gt 0 ]; do
        case $1 in
            -n) [ "$2" = kube-system ] || wrong "helm in namespace $2"; shift ;;
            --set | --set-file | --set-json)
                local key=${2%%=*}
                real jq -e ".properties.${key//./.properties.}" manifests/chart/values.schema.json > written || wrong "the chart has no value $key"
                [ "$1" != --set-file ] || there "${2#*=}"
                [ "$1" != --set-json ] || real jq -e . <<< "${2#*=}" > written || wrong "helm --set-json: no JSON: ${2#*=}"
                shift
                ;;
            --reset-then-reuse-values) ;;
            *) wrong "no check for helm $1" ;;
        esac
        shift
    done
}

# --- the machine

function cp {
    [[ $1 != /* && $2 != /* ]] || { [[ "$1$2" =~ ^(/opt/cni/[a-z./-]+)+$ ]] && return || wrong "cp $*"; }
    there "$1" && there "$2" && real cp "$1" "$2"
}
function rm {
    local word
    for word in "$@"; do
        [[ $word =~ ^(-rf|-f|/opt/cni/bin/[a-z-]+|/var/lib/cni/[a-z-]+|/run/vfrail|/var/run/cdi/[a-z*.-]+)$ ]] || wrong "rm $word"
    done
}
function install {
    [ "$1" = -m ] || wrong "install $*"
    local file
    for file in "${@:3:$#-3}"; do
        case $file in
            vfrail | vfrail-kube | /opt/cni/*.original) ;;
            *.service | *.timer) there "manifests/$file" ;;
            *) there "$file" ;;
        esac
    done
    [[ ${!#} =~ ^(/etc/systemd/system/|/usr/local/bin/(kubectl-)?vfrail|/opt/cni/bin/[a-z-]+)$ ]] || wrong "install to ${!#}"
}
function scp { there "$1" && [ "$2" = root@NODE:/usr/local/bin/ ] || wrong "scp $*"; }
function systemctl {
    local unit=${!#}
    case $1 in
        enable) has '^\[Install\]' "manifests/$unit" || wrong "systemctl cannot enable $unit" ;;
        edit | restart) [ "$unit" = containerd ] || wrong "systemctl $*" ;;
        *) wrong "systemctl $*" ;;
    esac
}
function update-initramfs { [ "$*" = -u ] || wrong "update-initramfs $*"; }
function tee {
    real cat > written
    case $1 in
        /sys/class/net/PF/device/sriov_numvfs) has '^[0-9]+$' written ;;
        /etc/modprobe.d/*.conf) has '^options [a-z_]+ [a-z_]+=' written ;;
        /sys/bus/pci/devices/????:??:??.?/driver/unbind | /sys/bus/pci/drivers_probe) has '^[0-9a-f:]+\.[0-7]$' written ;;
        *) wrong "tee $*" ;;
    esac
}

# --- the cluster

# Objects of other projects that documents name: those of their own manifests.
peers='daemonset/rdma-shared-dp-ds configmap/sriovdp-config configmap/rdma-devices app=sriovdp app=sriov-cni app=ib-sriov-cni
    app=rdma-cni kube-sriovdp nicclusterpolicies.mellanox.com/nic-cluster-policy'
of_peers() { [[ " ${peers//$'\n'/ } " == *" $1 "* ]]; }

# config_of FILE: what `kubectl create --dry-run -o jsonpath={.data.config\.json}` prints of a ConfigMap.
config_of() { real sed -n '/^  config.json: |/,/^[^ ]/p' "$1" | real sed -n 's/^    //p'; }
config_map() { # config_map NAME FILE
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: kube-system\ndata:\n  config.json: |\n' "$1"
    real sed 's/^/    /' "$2"
}
# named KIND NAME: an object of manifests/ or examples/.
named() {
    real cat manifests/*.yaml examples/*.yaml | NAME=$2 KIND=$1 real awk '
        /^---/ {kind = ""; meta = 0}
        /^apiVersion:/ {kind = ""}
        /^kind: / {kind = tolower($2)}
        /^[a-z]/ {meta = ($1 == "metadata:")}
        meta && /^  name: / && $2 == ENVIRON["NAME"] && kind == ENVIRON["KIND"] {found = 1}
        END {exit !found}'
}
object() { # object KIND NAME
    local kind=$1
    [ "$kind" != ds ] || kind=daemonset
    case $kind in
        node | pod) placeholder "$2" || named "$kind" "$2" || wrong "there is no $kind $2" ;;
        daemonset | configmap)
            of_peers "$kind/$2" || named "$kind" "$2" || wrong "there is no $kind $2"
            [ "$namespace" = kube-system ] || wrong "$kind $2 is in kube-system, not in $namespace"
            ;;
        hostdevicenetwork) named hostdevicenetwork "$2" || wrong "there is no HostDeviceNetwork $2" ;;
        network-attachment-definitions) named networkattachmentdefinition "$2" || wrong "there is no network $2" ;;
        nicclusterpolicies.mellanox.com) of_peers "$1/$2" || wrong "there is no $1 $2" ;;
        *) wrong "no check for objects of kind $kind" ;;
    esac
}
objects() { # the words behind a verb: KIND NAME..., KIND/NAME, or KIND alone
    local name
    case $# in
        0) ;;
        1) [[ $1 != */* ]] || object "${1%%/*}" "${1#*/}" ;;
        *) for name in "${@:2}"; do object "$1" "$name"; done ;;
    esac
}
label() {
    local key=${1%%=*} value=${1#*=}
    # The job controller labels the pods of a job.
    [ "$key" != job-name ] || { named job "$value" && return; }
    of_peers "$1" || has "^ +$key: $value$" manifests/daemonset.yaml || wrong "no object has the label $1"
}
applied() { # a file for apply and delete
    [ "$1" != - ] || { real cat > applied.yaml && set -- applied.yaml; }
    [ "$1" != POD.yaml ] || return 0
    there "$1"
    case $1 in
        *.json) real jq -e 'if .items then .items | length > 0 else .kind end' "$1" > /dev/null ;;
        *.yaml) has '^kind: ' "$1" ;;
        *) wrong "kubectl apply -f $1" ;;
    esac
}
applied_folder() {
    there "$1/kustomization.yaml"
    local file
    for file in $(real awk '/^[a-z]/ {on = /^(resources|components):/} on && /^  - / {print $2}' "$1/kustomization.yaml"); do there "$1/$file"; done
}
cluster_networks() {
    real jq -n '{apiVersion: "v1", kind: "List", items: [
        {"host": {type: "host-device", ipam: {type: "static"}}}, {"vlan": {type: "sriov", vlan: 5}}, {"other": {type: "bridge"}},
        {"chain": {name: "chain", plugins: [{type: "ib-sriov"}, {type: "rdma"}, {type: "tuning"}]}}]
        | map(to_entries[0] | {kind: "NetworkAttachmentDefinition", metadata: {name: .key, uid: "1", resourceVersion: "7"}, spec: {config: (.value | tojson)}})}'
}
printed() { # what `kubectl get` prints of an object
    case "$1 $2" in
        'configmap {.data.config\.json}') [ "$3" != rdma-devices ] && real cat examples/configs/rdma-all.json || real cat examples/configs/shared-one-hca.json ;;
        'network-attachment-definitions json') cluster_networks ;;
        'nicclusterpolicies.mellanox.com json')
            real jq -n --rawfile config examples/configs/rdma-all.json \
                '{spec: {sriovDevicePlugin: {image: "x", config: $config}, secondaryNetwork: {cniPlugins: {image: "y"}, multus: {}}}}' ;;
        'sriovnetworknodepolicies.sriovnetwork.openshift.io json')
            real jq -n '{apiVersion: "v1", kind: "List", items: [{apiVersion: "sriovnetwork.openshift.io/v1", kind: "SriovNetworkNodePolicy",
                metadata: {name: "rail0", namespace: "sriov-network-operator"},
                spec: {resourceName: "rail0", numVfs: 8, mtu: 9000, isRdma: true, nicSelector: {vendor: "15b3", pfNames: ["eth0"]}}}]}' ;;
        'daemonset json') real jq -n --arg name "$3" '{apiVersion: "apps/v1", kind: "DaemonSet", metadata: {name: "x", uid: "1"}, status: {}}
            | if $name == "" then {apiVersion: "v1", kind: "List", items: [.]} else . end' ;;
        'daemonset {.items[*].spec.template.spec.containers[*].args}') echo '["--log-level=10","--use-cdi"]' ;;
        'node {.status.allocatable}') echo '{"nvidia.com/hostdev":"8"}' ;;
        'network-attachment-definitions {.metadata.annotations}' | 'pod {.spec.containers[*].resources.limits}' | *' ' | *' wide') ;;
        *) wrong "kubectl get $1 -o $2" ;;
    esac
}
# In the plugin's container: the configuration is where the ConfigMap is mounted. In others: what their image has.
inside() {
    local words=() word
    case $1 in
        vfrail)
            config_of manifests/configmap.yaml > mounted.json
            for word in "$@"; do words+=("${word/#\/etc\/pcidp\/config.json/mounted.json}"); done
            [ "$*" != 'vfrail check-config' ] || words+=(mounted.json)
            "${words[@]}"
            ;;
        vfrail-cni) # 1: it has found something in cluster_networks
            [ "${2:-}" = check-network ] || wrong "kubectl exec -- $*"
            "$@" || [ $? = 1 ]
            ;;
        ip | sh | /tmp/vfrail-check) ;;
        ibv_devinfo) has 'ibverbs-utils' examples/Dockerfile ;;
        ib_write_bw) has 'perftest' examples/Dockerfile ;;
        *) wrong "kubectl exec -- $*" ;;
    esac
}

# The plugin: its commands and their options are read, and their help is printed in place of an answer of a cluster.
function kubectl_vfrail { real bash -c 'exec -a kubectl-vfrail "$@"' - "$programs/vfrail-kube" "$@" --help > /dev/null; }
function kubectl {
    [ "${1-}" != vfrail ] || { kubectl_vfrail "${@:2}"; return; }
    local namespace=default words=() files=() folder='' output='' from='' dry='' inner=()
    while [ $# -gt 0 ]; do
        case $1 in
            -n) namespace=$2 && shift ;;
            -f) files+=("$2") && shift ;;
            -k) folder=$2 && shift ;;
            -l) label "$2" && shift ;;
            -o) output=${2#jsonpath=} && shift ;;
            -c) has "name: $2\$" manifests/daemonset.yaml || wrong "no container is called $2"; shift ;;
            -p) real jq -e . <<< "$2" > /dev/null && shift ;;
            --patch-file) real jq -e .spec "$2" > /dev/null && shift ;;
            --image=REGISTRY/vfrail:"$version" | --profile=sysadmin) ;;
            -i | --type=json | --type=merge | --all-namespaces | --for=condition=Ready | "--for=jsonpath={.status.phase}=Succeeded" | --timeout=*) ;;
            --dry-run=client) dry=yes ;;
            --from-file=*) from=${1##*=} ;;
            --) shift && inner=("$@") && break ;;
            -*) wrong "no check for kubectl $1" ;;
            *) words+=("$1") ;;
        esac
        shift
    done
    placeholder "$namespace" || [[ $namespace =~ ^(default|kube-system)$ ]] || wrong "there is no namespace $namespace"
    case "${words[0]} ${words[1]:-}" in
        'apply '* | 'delete ' | 'create ')
            local file
            for file in "${files[@]}"; do applied "$file"; done
            [ -z "$folder" ] || applied_folder "$folder"
            [ -z "$output" ] || { [ "$dry" = yes ] && config_of "${files[0]}"; }
            ;;
        'create configmap') object configmap "${words[2]}" && there "$from" && [ "$dry $output" = 'yes yaml' ] && config_map "${words[2]}" "$from" ;;
        'rollout status' | 'rollout undo') objects "${words[@]:2}" ;;
        'set image') [[ ${words[3]} =~ ^(.*)=REGISTRY/vfrail:$version_regex$ ]] && of_peers "${BASH_REMATCH[1]}" || wrong "kubectl ${words[*]}" ;;
        # The image has the program; the node's folders are below /host.
        'debug node/NODE') [ "${inner[*]}" = 'vfrail plan --root /host' ] && vfrail plan --root "$tree" ;;
        'exec '*) object_or_pod "${words[1]}" && inside "${inner[@]}" ;;
        'cp '*) there "${words[1]}" && [ "${words[2]}" = NAME:/tmp/vfrail-check ] || wrong "kubectl ${words[*]}" ;;
        'logs ') ;; # by a label
        'logs '*) object_or_pod "${words[1]}" ;;
        'get '*) objects "${words[@]:1}" && printed "${words[1]}" "$output" "${words[2]:-}" ;;
        'describe '* | 'delete '* | 'wait '* | 'patch '*) objects "${words[@]:1}" ;;
        *) wrong "no check for kubectl ${words[*]}" ;;
    esac
}
object_or_pod() { [[ $1 == */* ]] && objects "$1" || object pod "$1"; }

has '>+ *["'\'']?/' "$block" && wrong 'a redirection to a path of this machine'
PATH=/nowhere
command_not_found_handle() { wrong "no check for the command $1"; }
. "$block"
