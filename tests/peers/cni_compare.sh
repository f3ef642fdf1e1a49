# shellcheck shell=bash
# vfrail-cni and the CNI plugins that it replaces, each with the same network configuration and the same VF: whether each verb
# succeeds, the result, what the pod has, the VF's settings at its PF, and what is otherwise on the node afterwards. Sourced,
# behind tests/lab/guest/lib.sh, by tests/lab/cni_peers_test.sh.
#
# Not compared are texts and codes of errors, the alias in which host-device keeps the host's name, optimistic_dad, and files of
# the plugins' own.

work=$(mktemp -d)
ours=/opt/ours theirs=/opt/theirs
pod=a ifname=net1
declare -A place          # @NAME@ in a configuration -> what this node has for it
compared=0 equal=0 as_documented=0 wrong=0
declare -A of_row of_group equal_of_group
group= dirty=1
address_key='[mM][aA][cC](=|")'
log=$work/log

# An IPAM plugin that answers what the configuration wants, and remembers whether its address is assigned.
ipam=$work/ipam
mkdir -p $ours $theirs $ipam
cat > $ours/fixed << EOF
#!/bin/bash
case \$CNI_COMMAND in
    ADD) echo assigned > $ipam/held; cat $ipam/answer; exit \$(< $ipam/status) ;;
    DEL) rm -f $ipam/held; [ ! -e $ipam/del-fails ] || { echo '{"code": 100, "msg": "no"}'; exit 1; } ;;
    CHECK) [ -e $ipam/held ] ;;
    VERSION) echo '{"cniVersion": "1.1.0", "supportedVersions": ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]}' ;;
esac
EOF
chmod 755 $ours/fixed
cp $ours/fixed $theirs/
usual_answer='{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24", "gateway": "10.9.0.1"}], "routes": [{"dst": "10.20.0.0/16"}]}'

# ---- The node ---------------------------------------------------------------------------------------------------

# No jq here: in the lab's VM each start of it takes half a second. Left out is what the kernel changes by itself. A VF whose
# address nobody has set has none at its PF, or its own, once it has been up.
links() {
    sed -E "/^ *alias /d; s/^[0-9]+: //; s/,?(LOWER_UP|NO-CARRIER)//g; s/<,/</; s/ (qdisc|state|permaddr) [^ ]+//g; s/^ +vf ([0-9]+) .*link\/ether/vf \\1/
        /^vf/s/ (00:00:00:00:00:00|${place[mac]}|${place[mac2]}) / its own /; s/^( +|)/$1 /"
}
state() {
    ip -d link show | links node
    [ ! -e $ipam/held ] || echo 'node address assigned'
}
# The node as it was before, by hand: plugins leave traces. Rebound, the VF may set its address itself again.
restore() {
    local name pf
    ip netns del $pod 2> /dev/null
    pf=$(netdev "${place[pf]}")
    eventually netdev "${place[vf]}" > /dev/null || return
    ip link set "$(netdev "${place[vf]}")" down
    ip link set "$pf" vf 0 mac 00:00:00:00:00:00 vlan 0 qos 0
    ip link set "$pf" vf 0 spoofchk on
    ip link set "$pf" vf 0 trust off
    # Which it cannot do without a link.
    ip link set "$pf" vf 0 max_tx_rate 0 2> /dev/null
    rebind "${place[vf]}"
    eventually netdev "${place[vf]}" > /dev/null || return
    name=$(netdev "${place[vf]}")
    [ "$name" = "${place[if]}" ] || ip link set "$name" name "${place[if]}"
    ip link set "${place[if]}" address "${place[mac]}"
    rm -rf /var/lib/cni /run/cni /run/vfrail $ipam/held
}
fresh() {
    restore || { echo 'the node cannot be restored'; return 1; }
    state > $work/before
    dirty=
}

# ---- One attachment ---------------------------------------------------------------------------------------------

# call FOLDER TYPE VERB CONFIGURATION: one plugin as a runtime calls it.
call() {
    local env=(CNI_COMMAND="$3" CNI_CONTAINERID="${CONTAINER-a}" CNI_NETNS="${NETNS-/run/netns/$pod}" CNI_IFNAME="${IFNAME-$ifname}" CNI_PATH="$1")
    case $3 in GC | STATUS) env=(CNI_COMMAND="$3" CNI_PATH="$1") ;; esac
    env "${env[@]}" CNI_ARGS="${ARGS-IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod}" timeout 60 "$1/$2" > $work/answer 2>> $log <<< "$4"
}
with_result() { printf '%s, "prevResult": %s}' "${1%\}}" "$(< $work/answer)"; }
# verb WHO VERB CONFIGURATION: what is chained behind host-device there, vfrail reads in one entry.
verb() {
    local behind='' first=$type
    case $type in tuning) behind=$type first=host-device ;; esac
    if [ -z "$behind" ] || [ "$1" = ours ]; then call "${!1}" "$first" "$2" "$3"; return; fi
    case $2 in
        ADD)
            call "$theirs" host-device ADD "$3" || return
            call "$theirs" $behind ADD "$(with_result "$3")" && return
            cp $work/answer $work/refused
            call "$theirs" $behind DEL "$3"
            call "$theirs" host-device DEL "$3"
            cp $work/refused $work/answer
            return 1 ;;
        DEL) call "$theirs" $behind DEL "$3" && call "$theirs" host-device DEL "$3" ;;
        *) call "$theirs" host-device "$2" "$3" && call "$theirs" $behind "$2" "$3" ;;
    esac
}
# Addresses that the kernel makes, and routes that come of them, are not the plugin's.
facts_of_pod() {
    ip netns exec $pod bash -c '
        ip -d address show
        ip route show table all | sed "s/^/route /; s/ linkdown//; s/ *$//" | sort
        ip -6 route show table all | sed "s/^/route /; s/ linkdown//; s/ *$//" | sort
        for name in ipv4/conf/net1/{arp_notify,arp_filter,rp_filter} ipv6/conf/net1/{ndisc_notify,disable_ipv6} ipv4/ip_forward; do
            [ ! -e /proc/sys/net/$name ] || echo "$name $(< /proc/sys/net/$name)"
        done
        ' 2> /dev/null |
        awk '/^[0-9]+: / { lo = $2 == "lo:" } /^route / { lo = 0 } !lo' |
        sed -E '/^route (local|broadcast|multicast|anycast|fe80|ff00)/d; /inet6 fe80/d; /valid_lft/d; s/ (tentative|dadfailed|optimistic)//g' | links pod
}
facts_of_vf() {
    ip -d link show "$(netdev "${place[pf]}")" | links pf | grep -m 1 'pf vf 0'
    [ ! -e $ipam/held ] || echo 'pod address assigned'
}
# What a pod, or the node, does between two verbs.
step() {
    case $1 in
        down) ip -n $pod link set $ifname down ;;
        mtu) ip -n $pod link set $ifname mtu 1400 ;;
        address) ip -n $pod address flush dev $ifname ;;
        renamed) ip -n $pod link set $ifname down && ip -n $pod link set $ifname name other ;;
        promisc) ip -n $pod link set $ifname promisc on ;;
        taken) ip -n $pod link add $ifname type dummy ;;
        ended) ip netns del $pod; eventually netdev "${place[vf]}" > /dev/null ;;
        name-in-use) ip link add "${place[if]}" type dummy ;;
        up) ip link set "${place[if]}" up ;;
        carries-default-route)
            ip link set "${place[if]}" up && ip address add 10.8.0.2/24 dev "${place[if]}" &&
                ip route add default via 10.8.0.1 dev "${place[if]}" metric 9999 ;;
        altname) ip link property add dev "${place[if]}" altname rail-zero ;;
        *) echo "no step $1"; exit 2 ;;
    esac
}
# attachment WHO: what $verbs do.
attachment() {
    local who=$1 word text=$configuration result=
    [ -z "$dirty$sets_address" ] || fresh || return
    ip netns add $pod
    ip -n $pod link set lo up
    printf %s "${ANSWER-$usual_answer}" > $ipam/answer
    printf %s "${STATUS_OF_IPAM-0}" > $ipam/status
    rm -f $ipam/del-fails
    [ -z "${DEL_FAILS-}" ] || : > $ipam/del-fails
    for word in $verbs; do
        case $word in
            ADD)
                if verb "$who" ADD "$text"; then
                    echo 'ADD succeeds'
                    result=$(< $work/answer)
                    cp $work/answer $work/$who.result
                    facts_of_pod
                else
                    echo 'ADD fails'
                    cp $work/answer $work/$who.why
                fi
                facts_of_vf ;;
            # A runtime passes the result on since 0.4.0, and has none of an ADD that failed.
            CHECK | DEL | DEL!)
                [ -n "$result" ] || [ $word = DEL! ] || [ "$verbs" = CHECK ] || continue
                case $text in *'"0.1.0"'* | *'"0.2.0"'* | *'"0.3.0"'* | *'"0.3.1"'*) ;; *)
                    [ -z "$result" ] || text="${configuration%\}}, \"prevResult\": $result}" ;; esac
                if verb "$who" ${word%!} "$text"; then echo "${word%!} succeeds"; else
                    echo "${word%!} fails"
                    cat $work/answer >> $work/$who.why
                fi
                [ $word = CHECK ] || [ -z "$result" ] || facts_of_vf
                grep -q '^ *{\|^$' $work/answer || [ ! -s $work/answer ] || echo "$word prints: $(< $work/answer)" ;;
            GC | STATUS) if verb "$who" $word "$text"; then echo "$word succeeds"; else echo "$word fails"; fi ;;
            *) step $word ;;
        esac
    done
    [ ! -e /run/netns/$pod ] || ip -n $pod -o link show | sed -nE '/: lo:/!s/^[0-9]+: ([^:@]+).*/still in the pod: \1/p'
    ip netns del $pod 2> /dev/null
    eventually netdev "${place[vf]}" > /dev/null
    state > $work/after
    diff $work/before $work/after > $work/changed || { sed -nE 's/^([-+])node /after: \1 /p' $work/changed; dirty=1; }
    [[ " $verbs " != *' name-in-use '* ]] || ip link del "${place[if]}" type dummy
}

written() {
    local text=$1 name
    for name in "${!place[@]}"; do text=${text//"@$name@"/${place[$name]}}; done
    printf %s "$text"
}
# configuration ROW TYPE NAME TEXT: ROW is "equal", or the key of a row in the table of differences of cni/INTERNALS.md. TEXT is
# a whole configuration, or keys of one, behind a comma. $VERBS: other verbs and steps than usual.
configuration() {
    local row=$1 type=$2 name=$3 configuration=$4 verbs sets_address
    [ -x "$theirs/$type" ] || return 0
    [[ $name == ${ONLY:-*} && $group == ${ONLY_GROUPS:-*} ]] || return 0
    verbs=${VERBS-ADD CHECK DEL}
    case $configuration in ', '* | '') configuration="{\"cniVersion\": \"1.0.0\", \"name\": \"net\", \"type\": \"$type\"$configuration}" ;; esac
    configuration=$(written "$configuration")
    # An address that was set at the PF keeps the VF from setting its own, though it is restored.
    sets_address=
    [[ ! "$configuration ${ARGS-}" =~ $address_key ]] || sets_address=1
    compared=$((compared + 1))
    of_group[$group]=$((${of_group[$group]:-0} + 1))
    rm -f $work/*.why $work/*.result
    attachment theirs > $work/theirs.facts
    attachment ours > $work/ours.facts
    results
    if diff -u $work/theirs.facts $work/ours.facts > $work/difference; then
        equal=$((equal + 1))
        equal_of_group[$group]=$((${equal_of_group[$group]:-0} + 1))
        check "$type, $group: $name: equal" test "$row" = equal
        return
    fi
    if [ "$row" = equal ] || others_differ "$row"; then
        check "$type, $group: $name: $row" false
        wrong=$((wrong + 1))
        show_difference
    else
        as_documented=$((as_documented + 1))
        of_row[$row]=$((${of_row[$row]:-0} + 1))
        check "$type, $group: $name: differs as documented ($row)" true
        [ -z "${DIFFERENCES:-}" ] || show_difference
    fi
}
# The results into the facts, with their keys in one order.
results() {
    local who
    [ -e $work/theirs.result ] || [ -e $work/ours.result ] || return 0
    ! cmp -s $work/theirs.result $work/ours.result || return 0
    for who in theirs ours; do
        [ ! -e $work/$who.result ] || jq -S . $work/$who.result 2>&1 | sed 's/^/result /' >> $work/$who.facts
    done
}
# others_differ ROW: something differs that the row is not about. With another answer to ADD all else differs, too.
others_differ() {
    local lines=${lines_of[$1]-}
    case $lines in
        '') echo "no lines of $1"; return 0 ;;
        ADD) ! grep -q '^-ADD' $work/difference ;;
        *) grep '^[-+][^-+]' $work/difference | grep -qvE "^[-+]($lines)" ;;
    esac
}
show_difference() {
    local who
    [ -z "${all_differences-}" ] || { echo "== $type, $group: $name"; sed 1,3d $work/difference; } >> $all_differences
    for who in theirs ours; do [ ! -s $work/$who.why ] || jq -r '"(\(.code): \(.msg))"' $work/$who.why 2>&1 | sed "s/^/     | $who: /" | cut -c 1-330; done
    grep '^[-+]ADD' $work/difference > $work/shown || grep '^[-+][^-+]' $work/difference > $work/shown
    cut -c 1-330 $work/shown | head -n 16 | sed 's/^/     | /'
}

figures() {
    local name
    echo "$compared configurations compared: $equal equal, $as_documented differ as documented, $wrong otherwise"
    for name in "${!of_group[@]}"; do echo "  $name: ${of_group[$name]}, ${equal_of_group[$name]:-0} equal"; done | sort
    for name in "${!of_row[@]}"; do echo "  difference \"$name\": ${of_row[$name]}"; done | sort
    [ -n "${ONLY:-}${ONLY_GROUPS:-}" ] || for name in "${!lines_of[@]}"; do
        [ -n "${of_row[$name]-}" ] || echo "  difference \"$name\": in the table, but seen in no configuration"
    done
    check 'a configuration was compared' test $compared -gt 0
}
