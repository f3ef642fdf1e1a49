# shellcheck shell=bash
# The configurations that are compared: those of the peers' documents, each key and each form of its values, and what people write
# by mistake. @NAME@ is what the node has for it (places of the node). Sourced by what has made the node.

# one SELECTORS [KEYS]: one resource.
one() { echo "{\"resourceList\": [{\"resourceName\": \"pool\", \"selectors\": $1${2:+, $2}}]}"; }
shared() { echo "{\"configList\": [{\"resourceName\": \"hca\", \"rdmaHcaMax\": 3, \"selectors\": $1${2:+, $2}}]}"; }
plain=$(one '{"pfNames": ["@pf@"]}')

group=selectors
same sdp 'everything' "$(one '{}')"
same sdp 'vendors' "$(one '{"vendors": ["@vendor@"]}')"
same sdp 'two vendors' "$(one '{"vendors": ["@vendor@", "@vendor2@"]}')"
same sdp 'vendor in upper case and with 0x' "$(one '{"vendors": ["0x@vendor@", "@VENDOR@"]}')"
same sdp 'devices' "$(one '{"devices": ["@vf_device@"]}')"
same sdp 'vendors and devices of another' "$(one '{"vendors": ["@vendor@"], "devices": ["ffff"]}')"
same sdp 'drivers' "$(one '{"drivers": ["@driver@"]}')"
same sdp 'drivers, vfio-pci' "$(one '{"drivers": ["vfio-pci"]}')"
same sdp 'drivers, uio' "$(one '{"drivers": ["@uio_driver@"]}')"
same sdp 'pciAddresses' "$(one '{"pciAddresses": ["@vf0@", "@vf3@"]}')"
same sdp 'pciAddresses without domain' "$(one '{"pciAddresses": ["@vf0_short@"]}')"
same sdp 'pciAddresses of a PF with VFs' "$(one '{"pciAddresses": ["@root@"]}')"
same sdp 'pfNames' "$(one '{"pfNames": ["@pf@"]}')"
same sdp 'pfNames of both' "$(one '{"pfNames": ["@pf@", "@pf2@"]}')"
same sdp 'pfNames in upper case' "$(one '{"pfNames": ["@PF@"]}')"
same sdp 'pfNames, range' "$(one '{"pfNames": ["@pf@#0-1"]}')"
same sdp 'pfNames, range and numbers' "$(one '{"pfNames": ["@pf@#0-1,3"]}')"
same sdp 'pfNames, range that is empty' "$(one '{"pfNames": ["@pf@#3-1"]}')"
same sdp 'pfNames, blank in the range' "$(one '{"pfNames": ["@pf@#0, 2"]}')"
same sdp 'pfNames, two dashes' "$(one '{"pfNames": ["@pf@#1-2-3"]}')"
same sdp 'pfNames, two hashes' "$(one '{"pfNames": ["@pf@#0#1"]}')"
same sdp 'pfNames, hash and nothing' "$(one '{"pfNames": ["@pf@#"]}')"
same sdp 'pfNames, sign' "$(one '{"pfNames": ["@pf@#+1"]}')"
same sdp 'pfNames, a number beyond' "$(one '{"pfNames": ["@pf@#63"]}')"
same sdp 'pfNames, a number too large' "$(one '{"pfNames": ["@pf@#1,99999999999999999999"]}')"
differs every-range sdp 'pfNames, twice the same PF' "$(one '{"pfNames": ["@pf@#0", "@pf@#1"]}')"
same sdp 'pfNames, pattern' "$(one '{"pfNames": ["@pf@*"]}')"
same sdp 'pfNames that is not there' "$(one '{"pfNames": ["nic77"]}')"
same sdp 'pfNames, empty string' "$(one '{"pfNames": [""]}')"
same sdp 'rootDevices' "$(one '{"rootDevices": ["@root@"]}')"
same sdp 'rootDevices, range' "$(one '{"rootDevices": ["@root@#1-2"]}')"
same sdp 'rootDevices without domain' "$(one '{"rootDevices": ["@root_short@"]}')"
same sdp 'rootDevices and pfNames of another' "$(one '{"rootDevices": ["@root@"], "pfNames": ["@pf2@"]}')"
same sdp 'linkTypes ether' "$(one '{"linkTypes": ["ether"]}')"
same sdp 'linkTypes infiniband' "$(one '{"linkTypes": ["infiniband"]}')"
same sdp 'linkTypes both' "$(one '{"linkTypes": ["ether", "infiniband"]}')"
same sdp 'linkTypes Ether' "$(one '{"linkTypes": ["Ether"]}')"
same sdp 'acpiIndexes' "$(one '{"acpiIndexes": ["@acpi@"]}')"
same sdp 'acpiIndexes that nothing has' "$(one '{"acpiIndexes": ["9999"]}')"
same sdp 'acpiIndexes, empty string' "$(one '{"acpiIndexes": [""], "pfNames": ["@pf@"]}')"
same sdp 'ddpProfiles' "$(one '{"ddpProfiles": ["GTPv1-C/U IPv4/IPv6 payload"]}')"
same sdp 'pKeys' "$(one '{"pKeys": ["0x8001"]}')"
same sdp 'a list of selectors' "$(one '[{"pfNames": ["@pf@#0"]}, {"pfNames": ["@pf2@#0-1"]}]')"
same sdp 'a list of selectors that overlap' "$(one '[{"pfNames": ["@pf@#0-1"], "isRdma": true}, {"pfNames": ["@pf@"]}]')"
same sdp 'empty lists' "$(one '{"vendors": [], "devices": [], "pfNames": ["@pf@"]}')"
same sdp 'empty string among the values' "$(one '{"vendors": [""]}')"

group='what containers get'
same sdp 'isRdma' "$(one '{"isRdma": true}')"
same sdp 'isRdma false' "$(one '{"isRdma": false, "pfNames": ["@pf@"]}')"
same sdp 'isRdma of one PF' "$(one '{"pfNames": ["@pf@"], "isRdma": true}')"
same sdp 'needVhostNet' "$(one '{"pfNames": ["@pf@"], "needVhostNet": true}')"
same sdp 'needVhostNet and isRdma' "$(one '{"pfNames": ["@pf@"], "needVhostNet": true, "isRdma": true}')"
same sdp 'vdpaType' "$(one '{"vdpaType": "vhost"}')"
same sdp 'vdpaType that there is not' "$(one '{"vdpaType": "other"}')"
same sdp 'vdpaType and isRdma' "$(one '{"vdpaType": "virtio", "isRdma": true}')"
same sdp 'excludeTopology' "$(one '{"pfNames": ["@pf@"]}' '"excludeTopology": true')"
same sdp 'additionalInfo' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": {"*": {"token": "a<b>&c", "b": "1"}, "@vf1@": {"token": "own"}}')"
same sdp 'additionalInfo of another device' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": {"0000:ff:1f.7": {"token": "t"}}')"
same sdp 'additionalInfo, empty' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": {}')"
same sdp 'additionalInfo, null' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": null')"
same sdp 'additionalInfo with nulls' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": {"*": {"a": null}, "@vf0@": null}')"
same sdp 'additionalInfo, not ASCII' "$(one '{"pfNames": ["@pf@#0"]}' $'"additionalInfo": {"*": {"k\xc3\xa9y": "\xe2\x80\xa8 \\u0001 \\u007f \\ud83d\\ude00"}}')"
same sdp 'additionalInfo with a number' "$(one '{"pfNames": ["@pf@"]}' '"additionalInfo": {"*": {"a": 1}}')"
same sdp 'resourcePrefix' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": "nvidia.com"')"
same sdp 'resourcePrefix, empty' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": ""')"
same sdp 'resourcePrefix with dashes' "$(one '{"pfNames": ["@pf@#0"]}' '"resourcePrefix": "k8s-x.io"')"

group='device types'
same sdp 'netDevice' "$(one '{"pfNames": ["@pf@"]}' '"deviceType": "netDevice"')"
same sdp 'deviceType, empty' "$(one '{"pfNames": ["@pf@"]}' '"deviceType": ""')"
same sdp 'deviceType, null' "$(one '{"pfNames": ["@pf@"]}' '"deviceType": null')"
same sdp 'deviceType in lower case' "$(one '{"pfNames": ["@pf@"]}' '"deviceType": "netdevice"')"
same sdp 'accelerator' "$(one '{}' '"deviceType": "accelerator"')"
same sdp 'accelerator by vendor and driver' "$(one '{"vendors": ["@accelerator_vendor@"], "drivers": ["vfio-pci"]}' '"deviceType": "accelerator"')"
same sdp 'accelerator by address' "$(one '{"pciAddresses": ["@accelerator@"]}' '"deviceType": "accelerator", "additionalInfo": {"*": {"a": "b"}}')"
same sdp 'accelerator with keys of netDevice' "$(one '{"pfNames": ["nic"], "linkTypes": ["ether"], "isRdma": true}' '"deviceType": "accelerator"')"
differs sub-function-files sdp 'auxNetDevice' "$(one '{"auxTypes": ["sf"]}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, pfNames with numbers' "$(one '{"auxTypes": ["sf"], "pfNames": ["@sf_pf@#1-5"]}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, rootDevices' "$(one '{"auxTypes": ["sf"], "rootDevices": ["@sf_root@#88"]}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, isRdma' "$(one '{"auxTypes": ["sf"], "isRdma": true}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, needVhostNet' "$(one '{"auxTypes": ["sf"], "needVhostNet": true}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, linkTypes and drivers' "$(one '{"auxTypes": ["sf"], "linkTypes": ["ether"], "drivers": ["mlx5_core"]}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, acpiIndexes' "$(one '{"auxTypes": ["sf"], "acpiIndexes": ["7"]}' '"deviceType": "auxNetDevice", "note": "@sf_root@"')"
differs sub-function-files sdp 'auxNetDevice, additionalInfo' "$(one '{"auxTypes": ["sf"]}' '"deviceType": "auxNetDevice", "additionalInfo": {"@sf_root@": {"a": "parent"}}')"
same sdp 'auxNetDevice without auxTypes' "$(one '{}' '"deviceType": "auxNetDevice"')"
same sdp 'auxNetDevice, auxTypes eth' "$(one '{"auxTypes": ["eth"]}' '"deviceType": "auxNetDevice"')"
differs sub-function-files sdp 'a netDevice pool before one of sub-functions' '{"resourceList": [{"resourceName": "pf", "selectors": {"pciAddresses": ["@sf_root@"]}}, {"resourceName": "sf", "deviceType": "auxNetDevice", "selectors": {"auxTypes": ["sf"]}}]}'

group='what this node is like'
differs vf-holes sdp 'an index behind a hole' "$(one '{"pfNames": ["@hole_pf@#2-4"]}')"
same sdp 'a PF some of whose VFs are gone' "$(one '{"pfNames": ["@hole_pf@"]}')"
same sdp 'acpiIndexes, blanks in the file' "$(one '{"acpiIndexes": ["@acpi_blanks@"]}')"
same sdp 'a VF without a driver' "$(one '{"pciAddresses": ["@no_driver@"]}')"
differs further-selectors sdp 'ifNames' "$(one '{"ifNames": ["@vf0_if@"]}')"
differs further-selectors sdp 'not' "$(one '{"pfNames": ["@pf@"], "not": {"pfNames": ["@pf@#0"]}}')"
# An interface of a VF that the host uses, or a pod has. The sysfs of a made-up node does not show that it is a port, or gone.
interface=${place[vf0_if]} real='"note": "@sysfs@"'
ip link set "$interface" up && ip route add default dev "$interface"
differs default-route sdp 'a VF with the default route' "$plain"
ip route flush dev "$interface" && ip -6 route add default dev "$interface" table 77
differs default-route sdp 'a VF with an IPv6 default route of another table' "$plain"
ip -6 route flush table 77
ip link add host9 type bridge && ip link set "$interface" master host9
differs host-member sdp 'a VF that is a port of a bridge' "$(one '{"pfNames": ["@pf@"]}' "$real")"
ip link del host9
ip address add 192.0.2.7/32 dev "$interface"
same sdp 'a VF with an address of the host' "$plain"
ip address flush dev "$interface" && ip link set "$interface" down
if [ -n "${place[sysfs]-}" ]; then
    ip netns add pod && ip link set "$interface" netns pod
    same sdp 'a VF whose interface is in a pod' "$(one '{"pfNames": ["@pf@"], "linkTypes": ["ether"], "isRdma": true}' "$real")"
    same shr 'a device whose interface is in a pod' "$(shared '{"vendors": ["@vendor@"]}' "$real")"
    differs no-interface shr 'a device whose interface is in a pod, linkTypes' "$(shared '{"linkTypes": ["ether"]}' "$real")"
    ip -n pod link set "$interface" netns 1 && ip netns del pod
    modprobe -r rdma_ucm
    same sdp 'without rdma_cm' "$(one '{"pfNames": ["@pf@"], "isRdma": true}' "$real")"
    differs missing-nodes shr 'without rdma_cm' "$(shared '{"vendors": ["@vendor@"]}' "$real")"
    modprobe rdma_ucm
fi

group=flags
flags=(--resource-prefix nvidia.com)
same sdp 'a prefix for all' "$(one '{"pfNames": ["@pf@#0-1"]}')"
same sdp 'a prefix for all, and one of its own' "$(one '{"pfNames": ["@pf@#0-1"]}' '"resourcePrefix": "x.io"')"
flags=(--use-cdi)
differs cdi sdp 'CDI' "$(one '{"pfNames": ["@pf@#0-1"], "isRdma": true}')"
differs cdi sdp 'CDI, a device without nodes' "$(one '{"pfNames": ["@pf@#0-1"]}')"
differs cdi shr 'CDI, shared' "$(shared '{"ifNames": ["@vf0_if@", "@vf1_if@"]}')"
flags=()

group='several resources'
same sdp 'the first one has the devices' '{"resourceList": [{"resourceName": "a", "selectors": {"vendors": ["@vendor@"]}}, {"resourceName": "b", "selectors": {"pfNames": ["@pf@#0-3"]}}]}'
same sdp 'each PF its own' '{"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["@pf@"]}}, {"resourceName": "b", "resourcePrefix": "nvidia.com", "selectors": {"pfNames": ["@pf2@"]}}]}'
same sdp 'one name with two prefixes' '{"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["@pf@"]}}, {"resourceName": "a", "resourcePrefix": "nvidia.com", "selectors": {"pfNames": ["@pf2@"]}}]}'
differs faulty-entry sdp 'one name twice' '{"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["@pf@"]}}, {"resourceName": "a", "selectors": {"pfNames": ["@pf2@"]}}]}'
same sdp 'a resource without devices' '{"resourceList": [{"resourceName": "a", "selectors": {"vendors": ["ffff"]}}, {"resourceName": "b", "selectors": {"pfNames": ["@pf@"]}}]}'

# What stands beside a faulty entry is served by the peer in some cases only.
beside() { echo "{\"resourceList\": [$1, {\"resourceName\": \"good\", \"selectors\": {\"pfNames\": [\"@pf@\"]}}]}"; }
group='faulty entries'
same sdp 'vendors is a text' "$(beside '{"resourceName": "bad", "selectors": {"vendors": "15b3"}}')"
same sdp 'vendors has a number' "$(beside '{"resourceName": "bad", "selectors": {"vendors": [8086]}}')"
same sdp 'isRdma is a text' "$(beside '{"resourceName": "bad", "selectors": {"isRdma": "true"}}')"
same sdp 'selectors is an empty list' "$(beside '{"resourceName": "bad", "selectors": []}')"
same sdp 'selectors is a text' "$(beside '{"resourceName": "bad", "selectors": "x"}')"
same sdp 'selectors is a list with a text' "$(beside '{"resourceName": "bad", "selectors": ["x"]}')"
differs faulty-entry sdp 'selectors are missing' "$(beside '{"resourceName": "bad"}')"
differs faulty-entry sdp 'selectors are null' "$(beside '{"resourceName": "bad", "selectors": null}')"
differs faulty-entry sdp 'selectors are a list of null' "$(beside '{"resourceName": "bad", "selectors": [null]}')"
differs faulty-entry sdp 'resourceName is missing' "$(beside '{"selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'resourceName is a number' "$(beside '{"resourceName": 5, "selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'resourceName with a dot' "$(beside '{"resourceName": "a.b", "selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'deviceType that there is not' "$(beside '{"resourceName": "bad", "deviceType": "netdev", "selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'excludeTopology is a text' "$(beside '{"resourceName": "bad", "excludeTopology": "yes", "selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'excludeTopology is a number' "$(beside '{"resourceName": "bad", "excludeTopology": 1, "selectors": {"pfNames": ["@pf2@"]}}')"
differs faulty-entry sdp 'entry null' "$(beside 'null')"
differs faulty-entry sdp 'entry a list' "$(beside '[]')"
differs faulty-entry sdp 'auxNetDevice without auxTypes beside another' "$(beside '{"resourceName": "bad", "deviceType": "auxNetDevice", "selectors": {}}')"
same sdp 'vdpaType is a number' "$(beside '{"resourceName": "bad", "selectors": {"vdpaType": 1}}')"
same sdp 'null among the values' "$(beside '{"resourceName": "other", "selectors": {"vendors": [null, "@vendor2@"]}}')"
differs misspelt-selector sdp 'a misspelt selector' "$(beside '{"resourceName": "other", "selectors": {"vendor": ["ffff"]}}')"

group='names'
same sdp 'resourceName with dashes and underscores' '{"resourceList": [{"resourceName": "a-b_c", "selectors": {"pfNames": ["@pf@"]}}]}'
differs names-for-kubelet sdp 'resourceName that begins with an underscore' '{"resourceList": [{"resourceName": "_a", "selectors": {"pfNames": ["@pf@"]}}]}'
differs names-for-kubelet sdp 'resourceName that ends with a dash' '{"resourceList": [{"resourceName": "a-", "selectors": {"pfNames": ["@pf@"]}}]}'
same sdp 'resourceName of 63 letters' "{\"resourceList\": [{\"resourceName\": \"$(printf 'a%.0s' {1..63})\", \"resourcePrefix\": \"x\", \"selectors\": {\"pfNames\": [\"@pf@#0\"]}}]}"
differs names-for-kubelet sdp 'resourceName of 64 letters' "{\"resourceList\": [{\"resourceName\": \"$(printf 'a%.0s' {1..64})\", \"resourcePrefix\": \"x\", \"selectors\": {\"pfNames\": [\"@pf@#0\"]}}]}"
differs names-for-kubelet sdp 'resourcePrefix in upper case' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": "Intel.com"')"
same sdp 'resourcePrefix with a slash' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": "intel.com/x"')"
differs names-for-kubelet sdp 'resourcePrefix of Kubernetes' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": "kubernetes.io"')"
differs names-for-kubelet sdp 'resourcePrefix with a blank' "$(one '{"pfNames": ["@pf@"]}' '"resourcePrefix": "intel .com"')"
same sdp 'a path of a socket that is too long' "{\"resourceList\": [{\"resourceName\": \"$(printf 'a%.0s' {1..60})\", \"resourcePrefix\": \"a-long-prefix.example.com\", \"selectors\": {\"pfNames\": [\"@pf@#0\"]}}]}"

group='how it is written'
same sdp 'keys in upper case' "$(one '{"PFNAMES": ["@pf@"], "ISRDMA": false}' '"EXCLUDETOPOLOGY": true')"
same sdp 'keys in lower case' '{"resourcelist": [{"resourcename": "pool", "resourceprefix": "nvidia.com", "selectors": {"pfnames": ["@pf@"], "isrdma": false}}]}'
same sdp 'keys of the operator' '{"resourceList":[{"resourceName":"pool","selectors":{"vendors":null,"pfNames":["@pf@#0-1"],"rootDevices":["@root@"],"IsRdma":true,"NeedVhostNet":false},"SelectorObj":null}]}'
same sdp 'unknown keys' "$(one '{"pfNames": ["@pf@"], "comment": "x"}' '"remark": 5')"
same sdp 'unknown keys above' "{\"version\": 2, ${plain#\{}"
same sdp 'a key twice, the last one counts' '{"resourceList": [{"resourceName": "a", "resourceName": "pool", "selectors": {"pfNames": ["@pf2@"], "pfNames": ["@pf@"]}}]}'
same sdp 'a key twice, once in upper case' '{"resourceList": [{"resourceName": "pool", "RESOURCENAME": "other", "selectors": {"pfNames": ["@pf@"]}}]}'
differs key-twice sdp 'a key twice, null the second time' '{"resourceList": [{"resourceName": "pool", "resourceName": null, "selectors": {"pfNames": ["@pf@"]}}]}'
same sdp 'a list twice' '{"resourceList": [{"resourceName": "a", "selectors": {"pfNames": ["@pf@"]}}], "resourceList": [{"resourceName": "b", "selectors": {"pfNames": ["@pf2@"]}}]}'
differs key-twice sdp 'a list twice, the second shorter' '{"resourceList": [{"resourceName": "a", "excludeTopology": true, "selectors": {"pfNames": ["@pf@"]}}, {"resourceName": "c", "selectors": {"vendors": ["@vendor2@"]}}], "resourceList": [{"resourceName": "b", "selectors": {"pfNames": ["@pf2@"]}}]}'
same sdp 'selectors twice in a list' "$(one '[{"pfNames": ["@pf@#0"], "isRdma": true}, {"pfNames": ["@pf2@#0"]}]')"
same sdp 'comma behind the last' '{"resourceList": [{"resourceName": "pool", "selectors": {"pfNames": ["@pf@"]},}]}'
same sdp 'comma behind the last value' '{"resourceList": [{"resourceName": "pool", "selectors": {"pfNames": ["@pf@",]}}]}'
same sdp 'a comment' $'// mine\n'"$plain"
same sdp 'single quotes' "{'resourceList': [{'resourceName': 'pool', 'selectors': {'pfNames': ['@pf@']}}]}"
same sdp 'BOM' $'\xef\xbb\xbf'"$plain"
same sdp 'line ends of Windows and tabs' "${plain/: [/$': [\r\n\t'}"$'\r\n'
same sdp 'blanks around' $'\n\n  '"$plain"$'  \n\n'
same sdp 'text behind' "$plain x"
same sdp 'two objects' "$plain $plain"
same sdp 'form feed around' $'\f'"$plain"
same sdp 'not UTF-8 in a comment' "$(one '{"pfNames": ["@pf@"]}' $'"note": "gr\xfcn"')"
same sdp 'not UTF-8 in additionalInfo' "$(one '{"pfNames": ["@pf@#0"]}' $'"additionalInfo": {"*": {"a": "gr\xfcn"}}')"
same sdp 'half a surrogate pair' "$(one '{"pfNames": ["@pf@#0"]}' '"additionalInfo": {"*": {"a": "x\ud800y"}}')"
same sdp 'a control character in a text' "$(one '{"pfNames": ["@pf@#0"]}' $'"note": "a\tb"')"
same sdp 'escapes in keys' '{"resource\u004cist": [{"resourceName": "pool", "selectors": {"pf\u004eames": ["@pf@"]}}]}'
differs folded-letters sdp 'the long s and the Kelvin sign in keys' $'{"re\xc5\xbfourceList": [{"re\xc5\xbfourceName": "pool", "selectors": {"pKeys": [], "p\xe2\x84\xaaeys": [], "pfNames": ["@pf@"]}}]}'
differs limits sdp 'deep nesting in an unknown key' "$(one '{"pfNames": ["@pf@"]}' "\"note\": $(printf '[%.0s' {1..200})$(printf ']%.0s' {1..200})")"
differs limits sdp 'a huge number in an unknown key' "$(one '{"pfNames": ["@pf@"]}' '"note": 1e999')"
same sdp 'nothing in the file' ''
same sdp 'null' 'null'
same sdp 'a list' '[]'
same sdp 'an object without anything' '{}'
same sdp 'no entry' '{"resourceList": []}'
same sdp 'resourceList null' '{"resourceList": null}'
same sdp 'resourceList an object' '{"resourceList": {"resourceName": "pool", "selectors": {}}}'
differs other-formats sdp 'configList instead' "$(shared '{"vendors": ["@vendor@"]}')"
same sdp 'YAML' $'resourceList:\n- resourceName: pool\n  selectors: {pfNames: [@pf@]}\n'
same sdp 'configList beside it' "${plain%\}}, \"configList\": []}"
same sdp 'periodicUpdateInterval beside it' "${plain%\}}, \"periodicUpdateInterval\": \"x\"}"

group='shared, selectors'
same shr 'vendors' "$(shared '{"vendors": ["@vendor@"]}')"
same shr 'deviceIDs' "$(shared '{"deviceIDs": ["@vf_device@"]}')"
same shr 'drivers' "$(shared '{"drivers": ["@driver@"]}')"
same shr 'ifNames' "$(shared '{"ifNames": ["@vf0_if@", "@vf1_if@"]}')"
differs patterns shr 'ifNames, pattern' "$(shared '{"ifNames": ["@vf0_if@*"]}')"
differs patterns shr 'ifNames, question mark' "$(shared '{"ifNames": ["@vf0_pattern@"]}')"
same shr 'ifNames, empty string' "$(shared '{"ifNames": [""]}')"
same shr 'linkTypes ether' "$(shared '{"linkTypes": ["ether"]}')"
same shr 'linkTypes infiniband' "$(shared '{"linkTypes": ["infiniband"]}')"
same shr 'linkTypes, empty string' "$(shared '{"linkTypes": [""]}')"
same shr 'all of them' "$(shared '{"vendors": ["@vendor@"], "deviceIDs": ["@vf_device@"], "drivers": ["@driver@"], "ifNames": ["@vf0_if@"], "linkTypes": ["ether"]}')"
same shr 'ifNames that is not there' "$(shared '{"ifNames": ["nic77"]}')"
same shr 'selectors are empty' "$(shared '{}')"
same shr 'selectors have empty lists' "$(shared '{"vendors": []}')"
same shr 'selectors are null' "$(shared 'null')"
differs further-selectors shr 'selectors are a list' "$(shared '[{"vendors": ["@vendor@"]}]')"
same shr 'devices in selectors' "$(shared '{"vendors": ["@vendor@"], "devices": ["ffff"]}')"
differs further-selectors shr 'pfNames in selectors' "$(shared '{"vendors": ["@vendor@"], "pfNames": ["nic77"]}')"
same shr 'isRdma false in selectors' "$(shared '{"vendors": ["@vendor@"], "isRdma": false}')"

group='shared, keys'
same shr 'devices' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 2, "devices": ["@vf0_if@"]}]}'
same shr 'devices and selectors' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 2, "devices": ["@vf0_if@"], "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'devices and empty selectors' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 2, "devices": ["@vf0_if@"], "selectors": {}}]}'
same shr 'devices, a text' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 2, "devices": "@vf0_if@"}]}'
same shr 'resourcePrefix' "$(shared '{"vendors": ["@vendor@"]}' '"resourcePrefix": "example.com"')"
same shr 'resourcePrefix, empty' "$(shared '{"vendors": ["@vendor@"]}' '"resourcePrefix": ""')"
same shr 'rdmaHcaMax 0' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 0, "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'rdmaHcaMax missing' '{"configList": [{"resourceName": "hca", "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'rdmaHcaMax null' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": null, "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'rdmaHcaMax negative' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": -1, "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'rdmaHcaMax, a text' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": "5", "selectors": {"vendors": ["@vendor@"]}}]}'
differs whole-numbers shr 'rdmaHcaMax 1.0' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 1.0, "selectors": {"vendors": ["@vendor@"]}}]}'
differs whole-numbers shr 'rdmaHcaMax 1e2' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 1e2, "selectors": {"vendors": ["@vendor@"]}}]}'
same shr 'rdmaHcaMax 1000' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 1000, "selectors": {"vendors": ["@vendor@"]}}]}'
for interval in 0 5 -1 '"60"' null 1.5; do
    same shr "periodicUpdateInterval $interval" "{\"periodicUpdateInterval\": $interval, $(sed 's/^{//' <<< "$(shared '{"vendors": ["@vendor@"]}')")"
done
same shr 'unknown keys' "$(shared '{"vendors": ["@vendor@"], "comment": 1}' '"remark": "x"')"
same shr 'keys in lower case' '{"configlist": [{"resourcename": "hca", "rdmahcamax": 2, "selectors": {"vendors": ["@vendor@"], "deviceids": ["@vf_device@"]}}]}'

group='shared, several'
same shr 'two pools of the same devices' '{"configList": [{"resourceName": "a", "rdmaHcaMax": 2, "selectors": {"vendors": ["@vendor@"]}}, {"resourceName": "b", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
differs faulty-entry shr 'one name twice' '{"configList": [{"resourceName": "a", "rdmaHcaMax": 2, "selectors": {"vendors": ["@vendor@"]}}, {"resourceName": "a", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
differs shared-names shr 'one name with two prefixes' '{"configList": [{"resourceName": "a", "rdmaHcaMax": 2, "selectors": {"vendors": ["@vendor@"]}}, {"resourceName": "a", "resourcePrefix": "x.io", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
same shr 'a pool without devices' '{"configList": [{"resourceName": "none", "rdmaHcaMax": 2, "selectors": {"vendors": ["ffff"]}}, {"resourceName": "b", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
named() { echo "{\"configList\": [{\"resourceName\": \"$1\", \"rdmaHcaMax\": 1, \"selectors\": {\"vendors\": [\"@vendor@\"]}}]}"; }
differs shared-names shr 'resourceName with a dash' "$(named 'a-b')"
differs names-for-kubelet shr 'resourceName that begins with an underscore' "$(named '_a')"
differs names-for-kubelet shr 'resourceName that ends with an underscore' "$(named 'a_')"
same shr 'resourceName with a dot' "$(named 'a.b')"
same shr 'resourceName, empty' "$(named '')"
differs faulty-entry shr 'a faulty entry beside a good one' '{"configList": [{"resourceName": "a", "rdmaHcaMax": "x", "selectors": {"vendors": ["@vendor@"]}}, {"resourceName": "b", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
differs faulty-entry shr 'entry null' '{"configList": [null, {"resourceName": "b", "rdmaHcaMax": 1, "selectors": {"ifNames": ["@vf0_if@"]}}]}'
same shr 'configList null' '{"configList": null}'
same shr 'no entry' '{"configList": []}'
same shr 'BOM' $'\xef\xbb\xbf'"$(shared '{"vendors": ["@vendor@"]}')"
same shr 'comma behind the last' '{"configList": [{"resourceName": "hca", "rdmaHcaMax": 2, "selectors": {"vendors": ["@vendor@"]}},]}'
differs other-formats shr 'resourceList instead' "$plain"
