# shellcheck shell=bash
# The network configurations that are compared: each key of host-device, tuning and sriov-cni, right, wrong and odd, and what
# happens to an attachment. @NAME@ is what the node has for it. Sourced by what has made the node.

# What a row of differences is about: the answer to ADD, or lines of the facts.
declare -A lines_of=([contradiction]=ADD [each-device-key]=ADD [short-address]=ADD [path-as-device]=ADD [empty-words]=ADD
    [vlan-trunk]=ADD [whole-numbers]=ADD [words]=ADD [capitals]='pf vf' [capital-link-state]=ADD [as-it-is]=ADD [mac-at-first]=ADD
    [mac-forms]=ADD [mac-of-the-pod]='pod link/ether|pf vf|result' [host-use]=ADD
    [args-read]=ADD [half-set]='pf vf|after:' [failed-add]='still in the pod|pod address assigned|after:' [failed-ipam]='pod address assigned|after:'
    [announced]='pod ipv6/conf/net1/ndisc_notify' [dns]=result [answer-version]=ADD [gateway-off-link]=ADD [route-scope]='pod route'
    [route-twice]=ADD [own-keys]=ADD [result-fields]=result [del-fails]='DEL|still in the pod|pod address assigned|pf|after:'
    [not-restored]=after: [check]=CHECK [impossible-queue]=ADD [taken]='still in the pod|after:' [ipam-first]='still in the pod|pf|after:' [route-mtu]='pod route|CHECK|result')

# hd ROW NAME KEYS, sr ROW NAME KEYS; those of sriov-cni have the VF.
hd() { configuration "$1" host-device "$2" "$3"; }
sr() { configuration "$1" sriov "$2" ", \"deviceID\": \"@vf@\"$3"; }
tuned() { configuration "$1" tuning "$2" ", \"pciBusID\": \"@vf@\"$3"; }
vf=', "pciBusID": "@vf@"'
fixed=', "ipam": {"type": "fixed"}'

group='which device'
hd equal 'pciBusID' "$vf"
hd equal 'device' ', "device": "@if@"'
hd equal 'hwaddr' ', "hwaddr": "@mac@"'
hd equal 'hwaddr in upper case' ', "hwaddr": "@MAC@"'
hd equal 'hwaddr with dashes' ', "hwaddr": "@mac_dashes@"'
hd equal 'kernelpath' ', "kernelpath": "@folder@"'
hd equal 'kernelpath with a slash behind' ', "kernelpath": "@folder@/"'
hd equal 'kernelpath elsewhere' ', "kernelpath": "/sys/bus/pci/devices/@vf@"'
hd equal 'kernelpath of nothing' ', "kernelpath": "/sys/devices/pci0000:ff"'
hd equal 'runtimeConfig.deviceID' ', "runtimeConfig": {"deviceID": "@vf@"}'
hd equal 'runtimeConfig.deviceID and pciBusID' ', "runtimeConfig": {"deviceID": "@vf@"}, "pciBusID": "@vf@"'
hd contradiction 'runtimeConfig.deviceID and pciBusID of another' ', "runtimeConfig": {"deviceID": "@vf@"}, "pciBusID": "@vf2@"'
hd equal 'runtimeConfig.deviceID of nothing' ', "runtimeConfig": {"deviceID": "0000:ff:1f.7"}'
hd equal 'runtimeConfig.deviceID, an interface' ', "runtimeConfig": {"deviceID": "@if@"}'
hd equal 'runtimeConfig.deviceID, empty' ', "runtimeConfig": {"deviceID": ""}, "pciBusID": "@vf@"'
hd equal 'runtimeConfig null' ', "runtimeConfig": null, "pciBusID": "@vf@"'
hd equal 'runtimeConfig, a text' ', "runtimeConfig": "x", "pciBusID": "@vf@"'
hd equal 'device and pciBusID' ', "device": "@if@", "pciBusID": "@vf@"'
hd contradiction 'device and pciBusID of another' ', "device": "@if@", "pciBusID": "@vf2@"'
hd contradiction 'hwaddr and pciBusID of another' ', "hwaddr": "@mac@", "pciBusID": "@vf2@"'
hd equal 'device, hwaddr, kernelpath, pciBusID' ', "device": "@if@", "hwaddr": "@mac@", "kernelpath": "@folder@", "pciBusID": "@vf@"'
hd equal 'none' ''
hd each-device-key 'deviceID' ', "deviceID": "@vf@"'
hd equal 'pciBusID, empty' ', "pciBusID": ""'
hd equal 'pciBusID null' ', "pciBusID": null'
hd equal 'pciBusID, a number' ', "pciBusID": 1'
hd short-address 'pciBusID without domain' ', "pciBusID": "@vf_short@"'
hd equal 'pciBusID with a blank' ', "pciBusID": " @vf@"'
hd path-as-device 'pciBusID with a path' ', "pciBusID": "../devices/@vf@"'
hd equal 'pciBusID of nothing' ', "pciBusID": "0000:ff:1f.7"'
hd equal 'pciBusID of a bridge' ', "pciBusID": "0000:20:00.0"'
hd equal 'device that is not there' ', "device": "nic77"'
hd equal 'device, a long name' ', "device": "an-interface-with-a-long-name"'
hd equal 'device with a slash' ', "device": "a/b"'
hd equal 'device, a list' ', "device": ["@if@"]'
hd equal 'hwaddr of nothing' ', "hwaddr": "02:00:00:00:00:99"'
hd equal 'hwaddr, no address' ', "hwaddr": "zz"'
hd equal 'hwaddr, empty, and device' ', "hwaddr": "", "device": "@if@"'
hd equal 'all empty but one' ', "device": "", "hwaddr": "", "kernelpath": "", "pciBusID": "@vf@"'
hd equal 'keys in lower case' ', "pcibusid": "@vf@"'
hd equal 'keys in upper case' ', "PCIBUSID": "@vf@", "IPAM": {"TYPE": "fixed"}'
hd equal 'half a surrogate pair' ', "x": "a\ud800b"'"$vf"
VERBS='altname ADD DEL' hd equal 'device, an alternative name' ', "device": "rail-zero"'
VERBS='carries-default-route ADD DEL' hd host-use 'a device with a default route' "$vf"
sr equal 'deviceID' ''
configuration equal sriov 'deviceID is missing' ''
configuration each-device-key sriov 'pciBusID alone' ', "pciBusID": "@vf@"'
configuration equal sriov 'deviceID, empty' ', "deviceID": ""'
configuration equal sriov 'deviceID null' ', "deviceID": null'
configuration equal sriov 'deviceID of a PF' ', "deviceID": "@pf@"'
configuration equal sriov 'deviceID of nothing' ', "deviceID": "0000:ff:1f.7"'
configuration short-address sriov 'deviceID without domain' ', "deviceID": "@vf_short@"'
configuration equal sriov 'deviceid in lower case' ', "deviceid": "@vf@"'
configuration equal sriov 'deviceID, a number' ', "deviceID": 33'
configuration each-device-key sriov 'runtimeConfig.deviceID alone' ', "runtimeConfig": {"deviceID": "@vf@"}'
configuration equal sriov 'deviceID twice' ', "deviceID": "@vf2@", "deviceID": "@vf@"'
sr contradiction 'pciBusID of another' ', "pciBusID": "@vf2@"'
sr contradiction 'device of another' ', "device": "@if2@"'

group='VLAN'
for vlan in 0 1 100 4094; do sr equal "vlan $vlan" ", \"vlan\": $vlan"; done
for vlan in 100.0 1e2; do sr whole-numbers "vlan $vlan" ", \"vlan\": $vlan"; done
for vlan in 4095 -1 '"100"' 1.5 null true '[1]' 99999999999999999999; do sr equal "vlan $vlan" ", \"vlan\": $vlan"; done
for quality in 0 1 7 8 -1 null '"3"'; do sr equal "vlanQoS $quality" ", \"vlan\": 5, \"vlanQoS\": $quality"; done
sr equal 'vlanQoS without vlan' ', "vlanQoS": 3'
sr equal 'vlanQoS 0 without vlan' ', "vlanQoS": 0'
sr equal 'vlanQoS null without vlan' ', "vlanQoS": null'
sr equal 'vlanQoS with vlan 0' ', "vlan": 0, "vlanQoS": 3'
sr equal 'vlanQoS 0 with vlan 0' ', "vlan": 0, "vlanQoS": 0'
for protocol in 802.1q 802.1Q 802.1ad 802.1AD 802.1x ' 802.1q'; do sr equal "vlanProto \"$protocol\"" ", \"vlan\": 5, \"vlanProto\": \"$protocol\""; done
sr empty-words 'vlanProto, empty' ', "vlan": 5, "vlanProto": ""'
sr equal 'vlanProto without vlan' ', "vlanProto": "802.1q"'
sr empty-words 'vlanProto, empty, without vlan' ', "vlanProto": ""'
sr equal 'vlanProto null' ', "vlanProto": null'
sr equal 'vlanProto, a number' ', "vlan": 5, "vlanProto": 8021'
sr equal 'vlanProto 802.1ad with vlan 0' ', "vlan": 0, "vlanProto": "802.1ad"'
sr equal 'VLAN in upper case' ', "VLAN": 7, "VLANQOS": 2'
sr vlan-trunk 'vlanTrunk' ', "vlanTrunk": {"vlans": [1]}'

group='spoofchk, trust, link_state, rates'
sr capitals 'spoofchk "ON"' ', "spoofchk": "ON"'
sr capitals 'trust "ON"' ', "trust": "ON"'
for word in yes true; do
    sr words "spoofchk \"$word\"" ", \"spoofchk\": \"$word\""
    sr words "trust \"$word\"" ", \"trust\": \"$word\""
done
for word in on off '' Off; do
    sr equal "spoofchk \"$word\"" ", \"spoofchk\": \"$word\""
    sr equal "trust \"$word\"" ", \"trust\": \"$word\""
done
for value in true null 1; do sr equal "spoofchk $value" ", \"spoofchk\": $value"; done
sr equal 'spoofchk off and trust on' ', "spoofchk": "off", "trust": "on"'
sr equal 'all at once' ', "vlan": 9, "vlanQoS": 1, "spoofchk": "off", "trust": "on", "mac": "02:00:00:00:00:07"'
sr capital-link-state 'link_state "Auto"' ', "link_state": "Auto"'
sr as-it-is 'link_state "auto"' ', "link_state": "auto"'
for word in enable disable '' up; do sr equal "link_state \"$word\"" ", \"link_state\": \"$word\""; done
sr equal 'link_state null' ', "link_state": null'
for rate in 0 100 -1 1.5 null '"10"'; do sr equal "max_tx_rate $rate" ", \"max_tx_rate\": $rate"; done
for rate in 0 10 -1 null; do sr equal "min_tx_rate $rate" ", \"min_tx_rate\": $rate"; done
sr equal 'min_tx_rate above max_tx_rate' ', "min_tx_rate": 100, "max_tx_rate": 10'
sr half-set 'a setting that the driver refuses, behind others' ', "vlan": 3, "trust": "on", "link_state": "disable"'

# A VF of igb that is not trusted may not set its address any more, once its PF has.
group='MAC addresses'
sr mac-at-first 'mac without trust' ', "mac": "02:00:00:00:00:01"'
trusted() { sr "$1" "$2" ", \"trust\": \"on\"$3"; }
trusted equal 'mac' ', "mac": "02:00:00:00:00:01"'
trusted equal 'mac in upper case' ', "mac": "02:00:00:00:AA:01"'
trusted equal 'MAC as the key' ', "MAC": "02:00:00:00:00:01"'
trusted equal 'mac, empty' ', "mac": ""'
trusted equal 'mac null' ', "mac": null'
trusted equal 'mac, a number' ', "mac": 2'
trusted equal 'mac, no address' ', "mac": "zz"'
trusted mac-forms 'mac with dashes' ', "mac": "02-00-00-00-00-01"'
trusted mac-forms 'mac with dots' ', "mac": "0200.0000.0001"'
trusted equal 'mac, multicast' ', "mac": "01:00:5e:00:00:01"'
trusted equal 'mac, all zero' ', "mac": "00:00:00:00:00:00"'
trusted half-set 'mac of 8 bytes' ', "mac": "02:00:00:00:00:01:02:03"'
trusted equal 'runtimeConfig.mac' ', "runtimeConfig": {"mac": "02:00:00:00:00:02"}'
trusted equal 'runtimeConfig.mac and mac' ', "mac": "02:00:00:00:00:01", "runtimeConfig": {"mac": "02:00:00:00:00:02"}'
ARGS='IgnoreUnknown=1;MAC=02:00:00:00:00:03' trusted equal 'MAC of CNI_ARGS' ''
ARGS='IgnoreUnknown=1;MAC=02:00:00:00:00:03' trusted equal 'MAC of CNI_ARGS and mac' ', "mac": "02:00:00:00:00:01"'
ARGS='IgnoreUnknown=1;MAC=02:00:00:00:00:03' trusted equal 'MAC of CNI_ARGS and runtimeConfig.mac' ', "runtimeConfig": {"mac": "02:00:00:00:00:02"}'
ARGS='IgnoreUnknown=1;MAC=zz' trusted equal 'MAC of CNI_ARGS, no address' ''
ARGS='IgnoreUnknown=1;MAC=' trusted equal 'MAC of CNI_ARGS, empty' ''
trusted mac-of-the-pod 'mac of args.cni' ', "args": {"cni": {"mac": "02:00:00:00:00:04"}}'

group='CNI_ARGS'
for args in '' 'IgnoreUnknown=1' 'IgnoreUnknown=true;A=b'; do
    ARGS=$args hd equal "host-device, \"$args\"" "$vf"
    ARGS=$args sr equal "sriov, \"$args\"" ''
done
for args in 'IgnoreUnknown=1;A' 'IgnoreUnknown=1;A=b=c'; do
    ARGS=$args hd args-read "host-device, \"$args\"" "$vf"
    ARGS=$args sr equal "sriov, \"$args\"" ''
done
for args in 'A=b' 'IgnoreUnknown=maybe' 'IgnoreUnknown=1;' ';'; do
    ARGS=$args hd equal "host-device, \"$args\"" "$vf"
    ARGS=$args sr args-read "sriov, \"$args\"" ''
done

group='log'
sr equal 'logLevel' ', "logLevel": "debug"'
sr equal 'logLevel of another kind' ', "logLevel": "loud"'
sr equal 'logLevel, a number' ', "logLevel": 1'
sr equal 'logFile' ', "logFile": "/var/log/sriov.log"'
sr equal 'logFile in no folder' ', "logFile": "/no/such/folder/log"'
sr equal 'logFile, relative' ', "logFile": "log"'
sr equal 'logFile null' ', "logFile": null'

group='addresses'
# answered EXPECTED TYPE KEYS ANSWER: by the IPAM plugin.
answered() { ANSWER=$4 $2 "$1" "$2, answer $4" "$3$fixed"; }
for type in hd sr; do
    [ $type = hd ] && keys=$vf failed=failed-add || keys= failed=failed-ipam
    $type equal "$type, fixed" "$keys$fixed"
    $type equal "$type, ipam {}" "$keys, \"ipam\": {}"
    $type equal "$type, ipam null" "$keys, \"ipam\": null"
    $type equal "$type, ipam type empty" "$keys, \"ipam\": {\"type\": \"\"}"
    $type equal "$type, ipam without type" "$keys, \"ipam\": {\"subnet\": \"10.1.0.0/16\"}"
    $type equal "$type, ipam, a text" "$keys, \"ipam\": \"fixed\""
    $type equal "$type, ipam, a list" "$keys, \"ipam\": [{\"type\": \"fixed\"}]"
    $type equal "$type, ipam type, a number" "$keys, \"ipam\": {\"type\": 1}"
    $type ${failed/failed-ipam/equal} "$type, ipam that is not installed" "$keys, \"ipam\": {\"type\": \"nothing\"}"
    $type ${failed/failed-ipam/equal} "$type, ipam with a path" "$keys, \"ipam\": {\"type\": \"../ours/fixed\"}"
    $type equal "$type, static" "$keys, \"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.9.0.1/24\", \"gateway\": \"10.9.0.254\"}], \"routes\": [{\"dst\": \"10.0.0.0/8\"}]}"
    $type $([ $type = sr ] && echo equal || echo announced) "$type, static, two families" "$keys, \"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.9.0.1/24\"}, {\"address\": \"fd00::1/64\"}]}"
    $type ${failed/failed-ipam/equal} "$type, static, no address" "$keys, \"ipam\": {\"type\": \"static\", \"addresses\": []}"
    $type $([ $type = sr ] && echo dns || echo equal) "$type, dns of the network" "$keys$fixed, \"dns\": {\"nameservers\": [\"10.0.0.53\"], \"search\": [\"a.b\"]}"
    STATUS_OF_IPAM=1 ANSWER='{"code": 7, "msg": "no"}' $type $failed "$type, a plugin that fails" "$keys$fixed"
    for answer in '' '{' '[]' '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5"}]}'; do answered $failed $type "$keys" "$answer"; done
    answered ${failed/failed-ipam/equal} $type "$keys" '{"cniVersion": "1.0.0"}'
    answered answer-version $type "$keys" '{"cniVersion": "9.9.9", "ips": [{"address": "10.9.0.5/24"}]}'
    for answer in '{"ips": [{"address": "10.9.0.5/24"}]}' '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24", "interface": 4}]}' \
        '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24"}, {"address": "10.8.0.5/16"}]}' \
        '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24", "gateway": "10.9.0.1"}], "routes": [{"dst": "0.0.0.0/0"}, {"dst": "10.7.0.0/16", "gw": "10.9.0.9"}]}' \
        '{"cniVersion": "0.4.0", "ips": [{"version": "4", "address": "10.9.0.5/24"}]}' \
        '{"cniVersion": "0.2.0", "ip4": {"ip": "10.9.0.5/24", "gateway": "10.9.0.1", "routes": [{"dst": "0.0.0.0/0"}]}}'; do
        answered equal $type "$keys" "$answer"
    done
    answered gateway-off-link $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/32", "gateway": "10.9.0.1"}], "routes": [{"dst": "0.0.0.0/0"}]}'
    answered ${failed/failed-ipam/equal} $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24"}, {"address": "10.9.0.5/24"}]}'
    answered ${failed/failed-ipam/equal} $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24", "gateway": "10.9.0.1"}], "routes": [{"dst": "10.7.0.0/16", "gw": "10.1.1.1"}]}'
    answered route-scope $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24"}], "routes": [{"dst": "10.7.0.0/16"}]}'
    answered route-twice $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24", "gateway": "10.9.0.1"}], "routes": [{"dst": "10.7.0.0/16"}, {"dst": "10.7.0.0/16"}]}'
    answered $([ $type = hd ] && echo dns || echo equal) $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "10.9.0.5/24"}], "dns": {"nameservers": ["10.0.0.54"]}}'
    answered $([ $type = hd ] && echo announced || echo equal) $type "$keys" '{"cniVersion": "1.0.0", "ips": [{"address": "fd00::5/64", "gateway": "fd00::1"}], "routes": [{"dst": "::/0"}]}'
    answered route-mtu $type "$keys" '{"cniVersion": "1.1.0", "ips": [{"address": "10.9.0.5/24", "gateway": "10.9.0.1"}], "routes": [{"dst": "10.7.0.0/16", "mtu": 1300, "priority": 5, "table": 77}]}'
done

group='versions'
four='{"address": "10.9.0.1/24", "gateway": "10.9.0.254"}' six='{"address": "fd00::1/64"}'
for version in 0.1.0 0.2.0 0.3.0 0.3.1 0.4.0 1.0.0 1.1.0; do
    [[ $version < 0.4.0 ]] && VERBS='ADD DEL' || VERBS='ADD CHECK DEL'
    fields=equal without=equal
    [ $version != 1.1.0 ] || fields=result-fields without=result-fields
    [[ $version > 0.2.0 ]] || without=failed-add
    routes='"routes": [{"dst": "10.0.0.0/8"}]'
    configuration $fields host-device "host-device, $version" "{\"cniVersion\": \"$version\", \"name\": \"net\", \"type\": \"host-device\", \"pciBusID\": \"@vf@\", \"ipam\": {\"type\": \"static\", \"addresses\": [$four], $routes}}"
    configuration $without host-device "host-device, $version, without addresses" "{\"cniVersion\": \"$version\", \"name\": \"net\", \"type\": \"host-device\", \"pciBusID\": \"@vf@\"}"
    configuration $fields sriov "sriov, $version" "{\"cniVersion\": \"$version\", \"name\": \"net\", \"type\": \"sriov\", \"deviceID\": \"@vf@\", \"ipam\": {\"type\": \"static\", \"addresses\": [$four, $six], $routes}}"
    configuration $without sriov "sriov, $version, without addresses" "{\"cniVersion\": \"$version\", \"name\": \"net\", \"type\": \"sriov\", \"deviceID\": \"@vf@\"}"
done
VERBS='ADD DEL'
for version in '""' null 1 '"0.9.9"' '"1.2.0"' '"1.0"' '"v1.0.0"' '"x"'; do
    configuration equal host-device "cniVersion $version" "{\"cniVersion\": $version, \"name\": \"net\", \"type\": \"host-device\", \"pciBusID\": \"@vf@\", \"ipam\": {\"type\": \"static\", \"addresses\": [{\"address\": \"10.9.0.1/24\"}]}}"
done
unset VERBS
VERBS='ADD CHECK' configuration equal host-device 'CHECK before 0.4.0' '{"cniVersion": "0.3.1", "name": "net", "type": "host-device", "pciBusID": "@vf@"}'
VERBS='GC STATUS' configuration equal host-device 'GC and STATUS of 1.0.0' '{"cniVersion": "1.0.0", "name": "net", "type": "host-device", "pciBusID": "@vf@"}'
VERBS='GC STATUS' configuration equal host-device 'GC and STATUS of 1.1.0' '{"cniVersion": "1.1.0", "name": "net", "type": "host-device", "pciBusID": "@vf@"}'

group='the text'
whole() { configuration "$1" host-device "$2" "$3"; }
whole equal 'no name' '{"cniVersion": "1.0.0", "type": "host-device", "pciBusID": "@vf@"}'
for name in '""' '"a b"' '"a/b"' null 1 '"_a"'; do whole equal "name $name" "{\"cniVersion\": \"1.0.0\", \"name\": $name, \"type\": \"host-device\", \"pciBusID\": \"@vf@\"}"; done
whole equal 'no type' '{"cniVersion": "1.0.0", "name": "net", "pciBusID": "@vf@"}'
whole equal 'type, a number' '{"cniVersion": "1.0.0", "name": "net", "type": 1, "pciBusID": "@vf@"}'
hd equal 'unknown keys' "$vf, \"comment\": {\"a\": [1, null]}, \"mtuu\": 1"
hd equal 'a key twice' ', "pciBusID": "0000:ff:1f.7", "pciBusID": "@vf@"'
hd equal 'capabilities' "$vf, \"capabilities\": {\"deviceID\": true, \"mac\": true}"
hd equal 'args' "$vf, \"args\": {\"cni\": {\"labels\": [{\"key\": \"a\", \"value\": \"b\"}]}}"
hd own-keys 'args, a text' "$vf, \"args\": \"x\""
hd equal 'dns, a list' "$vf, \"dns\": []"
hd equal 'a comma behind the last' "$vf, \"x\": [1,]"
whole equal 'a comment' '{"cniVersion": "1.0.0", "name": "net", "type": "host-device", /* x */ "pciBusID": "@vf@"}'
whole equal 'BOM' $'\xef\xbb\xbf{"cniVersion": "1.0.0", "name": "net", "type": "host-device", "pciBusID": "@vf@"}'
VERBS='ADD' whole equal 'blanks around' $'\n\t {"cniVersion": "1.0.0", "name": "net", "type": "host-device", "pciBusID": "@vf@"} \n'
VERBS='ADD' whole equal 'something behind' '{"cniVersion": "1.0.0", "name": "net", "type": "host-device", "pciBusID": "@vf@"} {}'
for text in '{' '{}' '[]' 'null' '"x"' ' '; do whole equal "the text $text" "$text"; done

group='names of pod and interface'
for name in '' a/b . 'a b' sixteen-letters- a:b; do IFNAME=$name hd equal "CNI_IFNAME \"$name\"" "$vf"; done
for container in '' a/b _a '-a' a.b; do CONTAINER=$container hd equal "CNI_CONTAINERID \"$container\"" "$vf"; done
for netns in '' /run/netns/none /dev/null; do
    NETNS=$netns hd equal "host-device, CNI_NETNS \"$netns\"" "$vf"
    NETNS=$netns sr equal "sriov, CNI_NETNS \"$netns\"" ''
done
NETNS=/proc/1/ns/net hd failed-add "host-device, the host's own namespace" "$vf"
NETNS=/proc/1/ns/net sr failed-add "sriov, the host's own namespace" ''

group='what becomes of it'
# expects HD SR: the row for each of the two.
for type in hd sr; do
    [ $type = hd ] && keys=$vf$fixed || keys=$fixed
    expects() { [ $type = hd ] && row=$1 || row=$2; }
    expects del-fails equal; VERBS='DEL!' $type $row "$type, DEL of what was never attached" "$keys"
    VERBS='ADD DEL DEL' $type $row "$type, DEL twice" "$keys"
    VERBS='ADD ADD' $type equal "$type, ADD twice" "$keys"
    expects del-fails not-restored; VERBS='ADD ended DEL' $type $row "$type, DEL after the namespace's end" "$keys"
    VERBS='ADD down DEL' $type equal "$type, set down in the pod" "$keys"
    expects not-restored equal; VERBS='ADD mtu DEL' $type $row "$type, another MTU in the pod" "$keys"
    VERBS='ADD promisc DEL' $type not-restored "$type, promiscuous in the pod" "$keys"
    VERBS='ADD renamed DEL' $type del-fails "$type, renamed in the pod" "$keys"
    expects equal check; VERBS='ADD address CHECK DEL' $type $row "$type, CHECK without its address" "$keys"
    VERBS='ADD down CHECK DEL' $type $row "$type, CHECK when it is down" "$keys"
    VERBS='CHECK' $type $row "$type, CHECK of what was never attached" "$keys"
    expects del-fails taken; VERBS='taken ADD DEL!' $type $row "$type, the pod has net1 already" "$keys"
    VERBS='ADD name-in-use DEL' $type del-fails "$type, the host's name is in use" "$keys"
    VERBS='up ADD DEL' $type not-restored "$type, it was up in the host" "$keys"
    VERBS='altname ADD DEL' $type equal "$type, it has an alternative name" "$keys"
    DEL_FAILS=1 VERBS='ADD DEL' $type ipam-first "$type, the IPAM plugin fails at DEL" "$keys"
    STATUS_OF_IPAM=1 ANSWER='{"code": 7, "msg": "no"}' VERBS='ADD DEL!' $type $([ $type = hd ] && echo failed-add || echo failed-ipam) "$type, DEL after a failed ADD" "$keys"
done

group='tuning'
tuned equal 'nothing' ''
tuned equal 'mac' ', "mac": "02:00:00:00:00:05"'
tuned equal 'mtu' ', "mtu": 1400'
tuned equal 'mtu 0' ', "mtu": 0'
tuned equal 'mtu, a text' ', "mtu": "1400"'
tuned equal 'mtu, negative' ', "mtu": -1'
tuned equal 'mtu, too large' ', "mtu": 65000'
tuned equal 'mtu, too small' ', "mtu": 60'
tuned equal 'promisc' ', "promisc": true'
tuned equal 'promisc false' ', "promisc": false'
tuned equal 'promisc, a text' ', "promisc": "true"'
tuned equal 'allmulti' ', "allmulti": true'
tuned equal 'txQLen' ', "txQLen": 500'
tuned impossible-queue 'txQLen, negative' ', "txQLen": -1'
tuned equal 'txqlen in lower case' ', "txqlen": 500'
tuned equal 'sysctl' ', "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "1", "net.ipv4.ip_forward": "1"}'
tuned equal 'sysctl with slashes' ', "sysctl": {"net/ipv4/conf/net1/arp_filter": "1"}'
tuned equal 'sysctl, a number' ', "sysctl": {"net.ipv4.ip_forward": 1}'
tuned equal 'sysctl outside of net' ', "sysctl": {"kernel.domainname": "x"}'
tuned equal 'sysctl that is not there' ', "sysctl": {"net.ipv4.conf.IFNAME.nothing": "1"}'
tuned equal 'sysctl, value that is refused' ', "sysctl": {"net.ipv4.conf.IFNAME.arp_filter": "x"}'
tuned equal 'args.cni' ', "args": {"cni": {"mtu": 1400, "promisc": true, "mac": "02:00:00:00:00:06"}}'
tuned equal 'runtimeConfig.mac' ', "runtimeConfig": {"mac": "02:00:00:00:00:08"}'
tuned equal 'all' ', "mac": "02:00:00:00:00:05", "mtu": 1400, "promisc": true, "allmulti": true, "txQLen": 300'
