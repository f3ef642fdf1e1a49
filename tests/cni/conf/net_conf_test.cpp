// cni/conf/net_conf.h: every field, every refusal by name.
#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

// A network configuration with these keys beside the standard ones.
std::string with(const std::string& keys) {
  return R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail")" + (keys.empty() ? "" : "," + keys) + "}";
}

NetConf parsed(const std::string& keys) {
  auto conf = parse_net_conf(with(keys));
  if (!conf) FAIL(conf.error().text);
  return std::move(*conf);
}

Error refused(const std::string& text) {
  auto conf = parse_net_conf(text);
  REQUIRE_FALSE(conf);
  return std::move(conf.error());
}

}  // namespace

TEST_CASE("The smallest network configuration is a name; all other fields have defaults") {
  const NetConf conf = parsed("");
  CHECK(conf.entry.cni_version == "1.0.0");
  CHECK(conf.entry.network == "rail0");
  CHECK(conf.entry.type == "vfrail");
  CHECK(conf.entry.ipam_type.empty());
  CHECK(conf.device.empty());
  CHECK(conf.entry.dns.empty());
  CHECK_FALSE(conf.link.mac.network.has_value());
  CHECK_FALSE(conf.link.mtu.has_value());
  CHECK(conf.rdma.policy == RdmaPolicy::automatic);
  CHECK(conf.log.level == LogLevel::info);
  CHECK_FALSE(conf.entry.prev_result.has_value());
  CHECK_FALSE(conf.entry.valid_attachments.has_value());
}

TEST_CASE("Every field is read, whatever the case of its key") {
  const NetConf conf = parsed(R"("DeviceId":"0000:03:02.1","IPAM":{"TYPE":"host-local"},
      "dns":{"nameservers":["10.0.0.1"],"domain":"a","search":["b"],"options":["c"]},"MTU":9e3,
      "MAC":"02-00-00-00-00-0A","Rdma":"require","RDMAname":"rdma0","loglevel":"debug","LogFile":"/var/log/v",
      "RuntimeConfig":{"MAC":"02:00:00:00:00:0b"},"prevResult":{"ips":[]})");
  CHECK(conf.device.id->text() == "0000:03:02.1");
  CHECK(conf.entry.ipam_type == "host-local");
  CHECK(conf.entry.dns.nameservers == std::vector<std::string>{"10.0.0.1"});
  CHECK(conf.entry.dns.domain == "a");
  CHECK(conf.entry.dns.search == std::vector<std::string>{"b"});
  CHECK(conf.entry.dns.options == std::vector<std::string>{"c"});
  CHECK(conf.link.mtu == 9000U);
  CHECK(conf.link.mac.network->text() == "02:00:00:00:00:0a");
  CHECK(conf.link.mac.runtime->text() == "02:00:00:00:00:0b");
  CHECK(conf.rdma.policy == RdmaPolicy::require);
  CHECK(conf.rdma.name == "rdma0");
  CHECK(conf.log.level == LogLevel::debug);
  CHECK(conf.log.file == "/var/log/v");
  CHECK(conf.entry.prev_result->find("ips") != nullptr);
}

TEST_CASE("Text that is not Unicode is read as Go's plugins read it") {
  const Configuration conf(
      with(R"("device":"eth0","x":"a\ud800b\ud83d\ude00","y":")" + std::string("\xff\"")));
  REQUIRE(conf.conf());
  CHECK(conf.conf()->device.name == "eth0");
  CHECK_THAT(conf.text(), Catch::Contains("a\\ufffdb\\ud83d\\ude00") && Catch::Contains("\"\xef\xbf\xbd\""));
}

TEST_CASE("What Multus generates from a network definition is accepted") {
  const auto conf = parse_net_conf(R"({"capabilities":{"CNIDeviceInfoFile":true,"deviceID":true,"mac":true},
    "cniVersion":"1.0.0","deviceID":"0000:03:02.3","ipam":{"range":"10.1.0.0/16","type":"whereabouts"},
    "mtu":9000,"name":"rail0","pciBusID":"0000:03:02.3",
    "runtimeConfig":{"CNIDeviceInfoFile":"/var/run/k8s.cni.cncf.io/devinfo/cni/default-rail0-cid_net1",
    "deviceID":"0000:03:02.3","mac":"02:00:00:00:00:01"},"type":"vfrail"})");
  REQUIRE(conf);
  CHECK(conf->device.id->text() == "0000:03:02.3");
  CHECK(conf->link.mac.runtime->text() == "02:00:00:00:00:01");
  CHECK(conf->device_info_file == "/var/run/k8s.cni.cncf.io/devinfo/cni/default-rail0-cid_net1");
}

TEST_CASE("Each way to select a device is read") {
  CHECK(parsed(R"("pciBusID":"0000:03:02.1")").device.id->text() == "0000:03:02.1");
  CHECK(parsed(R"("runtimeConfig":{"deviceID":"mlx5_core.sf.4"})").device.id->text() == "mlx5_core.sf.4");
  CHECK(parsed(R"("device":"eth1")").device.name == "eth1");
  CHECK(parsed(R"("port":1)").device.port == 1U);
  CHECK(parsed(R"("hwaddr":"02:00:00:00:00:01")").device.mac->text() == "02:00:00:00:00:01");
  CHECK(parsed(R"("kernelpath":"/sys/devices/pci0000:00/0000:00:03.0")").device.kernel_path ==
        "/sys/devices/pci0000:00/0000:00:03.0");
}

TEST_CASE("A PCI address without its domain is one of domain 0") {
  CHECK(parsed(R"("pciBusID":"99:10.0")").device.id->text() == "0000:99:10.0");
  CHECK(parsed(R"("deviceID":"0000:3b:02.1","pciBusID":"3B:02.1")").device.id->text() == "0000:3b:02.1");
  CHECK(parsed(R"("deviceID":"99:10.8")").device.id->text() == "99:10.8");  // no PCI address
}

TEST_CASE("An address may be written with dots, as Go and Cisco write it") {
  CHECK(parsed(R"("hwaddr":"0200.00AB.0001")").device.mac->text() == "02:00:00:ab:00:01");
  CHECK(refused(with(R"("hwaddr":"0200.00AB:0001")")).text.starts_with("hwaddr: "));
  CHECK(refused(with(R"("hwaddr":"0000.0000.0000")")).text.starts_with("hwaddr: "));
}

TEST_CASE("hwaddr may be an IPoIB address, to which no interface can be set") {
  const std::string address = "00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1";
  CHECK(parsed(R"("hwaddr":")" + address + "\"").device.mac->text() == address);
  CHECK(refused(with(R"("mac":")" + address + "\"")).text.starts_with("mac: "));
}

TEST_CASE("device may be an alternative name of an interface, of up to 127 bytes") {
  const std::string name(127, 'e');
  CHECK(parsed(R"("device":")" + name + "\"").device.name == name);
  CHECK(refused(with(R"("device":")" + name + "e\"")).text.starts_with("device: "));
  CHECK(refused(with(R"("device":"enp1s0f0np0-with/a-slash")")).text.starts_with("device: "));
  CHECK(refused(with(R"("device":"enp1s0f0np0 with blanks")")).text.starts_with("device: "));
  CHECK(refused(with(R"("device":"eth\u007f0")")).text.starts_with("device: "));
}

TEST_CASE("The loopback interface is not a device") {
  CHECK_THAT(refused(with(R"("device":"lo")")).text,
             Catch::StartsWith("device: lo is the loopback interface"));
}

TEST_CASE("hostUse is refuse, which is the default, or allow") {
  CHECK_FALSE(parsed("").safety.host_use_allowed);
  CHECK_FALSE(parsed(R"("hostUse":"refuse")").safety.host_use_allowed);
  CHECK(parsed(R"("hostUse":"allow")").safety.host_use_allowed);
  CHECK(refused(with(R"("hostUse":"warn")")).text == "hostUse: must be one of refuse, allow, got \"warn\"");
}

TEST_CASE("podNetAdmin is false, which is the default, or true") {
  CHECK_FALSE(parsed("").safety.pods_have_net_admin);
  CHECK(parsed(R"("podNetAdmin":true)").safety.pods_have_net_admin);
  CHECK_THAT(refused(with(R"("podNetAdmin":"yes")")).text, Catch::Contains("podNetAdmin"));
}

TEST_CASE("args.cni takes precedence over the network's own keys of tuning") {
  const NetConf conf = parsed(R"("mac":"02:00:00:00:00:01","mtu":9000,"promisc":true,"txQLen":5,
      "sysctl":{"net.ipv4.conf.IFNAME.arp_notify":"1","net.ipv4.ip_forward":"1"},
      "args":{"cni":{"mac":"02:00:00:00:00:02","mtu":1400,"promisc":false,"allmulti":true,"txQLen":7,
                     "sysctl":{"net/ipv4/ip_forward":"0"}}})");
  CHECK(conf.link.mac.args->text() == "02:00:00:00:00:02");
  CHECK(conf.link.mtu == 1400U);
  CHECK(conf.pod.link.get("promisc") == 0U);
  CHECK(conf.pod.link.get("allmulti") == 1U);
  CHECK(conf.pod.link.get("txQLen") == 7U);
  CHECK(conf.pod.sysctls ==
        std::vector<SysctlSetting>{{"net.ipv4.conf.IFNAME.arp_notify", "ipv4/conf/IFNAME/arp_notify", "1"},
                                   {"net/ipv4/ip_forward", "ipv4/ip_forward", "0"}});
  const NetConf nothing = parsed(R"("mtu":9000,"args":{"cni":{"mac":"","mtu":0,"debug":true}})");
  CHECK_FALSE(nothing.link.mac.args.has_value());
  CHECK(nothing.link.mtu == 9000U);
  CHECK(refused(with(R"("args":{"cni":{"mac":"zz"}})")).text.starts_with("args.cni.mac: "));
  CHECK(refused(with(R"("args":{"cni":{"sysctl":{"kernel.x":"1"}}})"))
            .text.starts_with("args.cni.sysctl.kernel.x: "));
}

TEST_CASE("Interface keys come from the entry itself, not from a pod's annotation") {
  CHECK(parsed(R"("args":{"cni":{"mtu":1400,"mac":"02:00:00:00:00:02","guid":"00:00:00:00:00:00:00:02"}})")
            .interface_key.empty());
  CHECK(parsed(R"("mtu":1400)").interface_key == "mtu");
  CHECK(parsed(R"("guid":"00:00:00:00:00:00:00:02")").interface_key == "guid");
  CHECK(parsed(R"("ipam":{"type":"static"})").interface_key == "ipam");
}

TEST_CASE("An unknown key is a warning that suggests the nearest known key") {
  CHECK(parsed(R"("mtuu":9000,"vlanID":5,"bridge":"br0")").warnings ==
        std::vector<std::string>{
            "\"mtuu\" is not a key of vfrail, and is ignored; \"mtu\" is probably meant",
            "\"vlanID\" is not a key of vfrail, and is ignored; \"vlan\" is probably meant",
            "\"bridge\" is not a key of vfrail, and is ignored"});
  CHECK(parsed(
            R"("args":{"cni":{"x":1}},"cni.dev/other":1,"ipMasq":false,"resourceName":"a/b","capabilities":{},
                  "_comment":"x","disableCheck":true,"runtimeConfig":{"portMappings":[]})")
            .warnings.empty());
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += (many.empty() ? "" : ",") + ("\"unheard-of" + std::to_string(i)) + "\":1";
  CHECK(parsed(many).warnings.size() == 16);
}

TEST_CASE("The same device under several keys is one device, in any letter case") {
  CHECK(parsed(R"("deviceID":"0000:3B:02.1","pciBusID":"0000:3b:02.1")").device.id->text() == "0000:3b:02.1");
}

TEST_CASE("Two keys that name different devices are refused, and the error has both") {
  const Error error = refused(with(R"("deviceID":"0000:03:02.1","pciBusID":"0000:03:02.2")"));
  CHECK(error.code == Errc::invalid);
  CHECK(error.text.find("pciBusID: it names 0000:03:02.2, but deviceID names 0000:03:02.1") == 0);
  CHECK(refused(with(R"("runtimeConfig":{"deviceID":"a"},"deviceID":"b")"))
            .text.find("runtimeConfig.deviceID") != std::string::npos);
}

TEST_CASE("A VLAN trunk, which the kernel cannot give a VF, is refused by name and not ignored") {
  const auto [key, value] =
      GENERATE(table<std::string, std::string>({{"vlanTrunk", "\"1-10\""}, {"VLANTRUNK", "\"1-10\""}}));
  CAPTURE(key, value);
  const Error error = refused(with("\"" + key + "\":" + value));
  CHECK(error.code == Errc::unsupported);
  CHECK_THAT(error.text, Catch::Contains(": the kernel has no way to give a VF a trunk of VLANs",
                                         Catch::CaseSensitive::Yes));
  CHECK_THAT(error.text, Catch::StartsWith(key, Catch::CaseSensitive::No));
}

TEST_CASE("The settings of a VF are read as sriov-cni reads them") {
  const auto conf = parse_net_conf(with(R"("VLAN":100,"vlanQoS":3,"vlanProto":"802.1AD","max_tx_rate":1000,)"
                                        R"("spoofchk":"off","trust":"on","link_state":"disable")"));
  REQUIRE(conf);
  CHECK(conf->vf.settings.text() ==
        "vlan 100 qos 3 802.1ad, min_tx_rate 0 max_tx_rate 1000, spoofchk off, trust on, link_state disable");
  const auto none =
      parse_net_conf(with(R"("vlan":null,"spoofchk":"","trust":"","link_state":"","vlanProto":"")"));
  REQUIRE(none);
  CHECK(none->vf.settings.empty());
  const auto cleared = parse_net_conf(with(R"("vlan":0)"));
  REQUIRE(cleared);
  CHECK(cleared->vf.settings.vlan == VfVlan{});
}

TEST_CASE("The words of a VF's settings are read in any letter case") {
  CHECK(parsed(R"("spoofchk":"ON","trust":"Off","link_state":"Auto")").vf.settings.text() ==
        "spoofchk on, trust off, link_state auto");
}

TEST_CASE("VF settings that no driver accepts are refused by name before any change") {
  const auto [text, wanted] = GENERATE(table<std::string, std::string>(
      {{R"("vlan":4095)", "vlan: "},
       {R"("vlan":-1)", "vlan: "},
       {R"("vlan":"100")", "vlan: "},
       {R"("vlanQoS":1)", "vlanQoS: it needs vlan"},
       {R"("vlan":0,"vlanQoS":1)", "vlanQoS: it needs a vlan other than 0"},
       {R"("vlan":5,"vlanQoS":8)", "vlanQoS: "},
       {R"("vlanProto":"802.1q")", "vlanProto: it needs vlan"},
       {R"("vlan":0,"vlanProto":"802.1ad")", "vlanProto: 802.1ad needs a vlan other than 0"},
       {R"("vlan":5,"vlanProto":"qinq")", "vlanProto: must be one of 802.1q, 802.1ad, got \"qinq\""},
       {R"("min_tx_rate":200,"max_tx_rate":100)", "min_tx_rate: 200 Mbit/s is more than max_tx_rate, 100"},
       {R"("max_tx_rate":-1)", "max_tx_rate: "},
       {R"("spoofchk":"true")", "spoofchk: must be one of on, off, got \"true\""},
       {R"("trust":true)", "trust: "},
       {R"("link_state":"up")", "link_state: must be one of auto, enable, disable, got \"up\""},
       {R"("guid":"00:11")", "guid: must be a GUID like 00:11:22:33:44:55:66:77, got \"00:11\""},
       {R"("guid":"00:00:00:00:00:00:00:00")", "guid: must not be all zeros or all ones"},
       {R"("pkey":"0x12345")", "pkey: must be a partition key"},
       {R"("pkey":"0x0000")", "pkey: must be a partition key"},
       {R"("pkey":"0x8000")", "pkey: must be a partition key"},
       {R"("pkey":"default")", "pkey: must be a partition key"},
       {R"("rdmaIsolation":true,"rdma":"off")", "rdmaIsolation: it says the opposite of rdma"}}));
  CAPTURE(text);
  const Error error = refused(with(text));
  CHECK(error.code == Errc::invalid);
  CHECK_THAT(error.text, Catch::StartsWith(wanted));
}

TEST_CASE("A GUID comes from runtimeConfig, then from args.cni, then from the network") {
  const std::string all =
      R"("guid":"00:00:00:00:00:00:00:01","args":{"cni":{"guid":"00:00:00:00:00:00:00:02"}})";
  const auto args = parse_net_conf(with(all));
  REQUIRE(args);
  CHECK(args->vf.guid == 2);
  const auto runtime =
      parse_net_conf(with(all + R"(,"runtimeConfig":{"infinibandGUID":"0x0000000000000003"})"));
  REQUIRE(runtime);
  CHECK(runtime->vf.guid == 3);
}

TEST_CASE("rdmaIsolation means what ib-sriov-cni means by it") {
  CHECK(parse_net_conf(with(R"("rdmaIsolation":true)"))->rdma.policy == RdmaPolicy::require);
  CHECK(parse_net_conf(with(R"("rdmaIsolation":false)"))->rdma.policy == RdmaPolicy::off);
}

TEST_CASE("a partition key is accepted with and without 0x and the membership bit, and changes nothing") {
  const auto word = GENERATE(as<std::string>(), "0x0001", "0x2000", "2000", "0X7FFF", "0x8001", "0xffff", "");
  CAPTURE(word);
  const auto conf = parse_net_conf(with(R"("pkey":")" + word + "\""));
  REQUIRE(conf);
  CHECK(conf->rdma.policy == RdmaPolicy::automatic);
  CHECK(conf->vf.settings.empty());
}

TEST_CASE("A key whose value asks for nothing is accepted") {
  CHECK(parse_net_conf(with(R"("promisc":false,"link_state":"","vlan":null)")));
}

TEST_CASE("Keys of other plugins are ignored") {
  CHECK(parse_net_conf(
      with(R"("args":{"cni":{"x":1}},"cni.dev/other":1,"ipMasq":false,"resourceName":"a/b")")));
}

TEST_CASE("Input that is not a JSON object has another error code than a wrong configuration") {
  const std::string text =
      GENERATE(as<std::string>(), "", "{", "[]", "null", "5", "\"x\"", "{}{}", "\xff\xfe");
  CAPTURE(text);
  CHECK(refused(text).code == Errc::protocol);
}

TEST_CASE("A configuration of more than 1 MiB is refused") {
  CHECK(refused(with("\"x\":\"" + std::string(1 << 20, 'x') + "\"")).code == Errc::invalid);
}

TEST_CASE("A network without a name, or with a hostile one, is refused") {
  const char* name = GENERATE(R"(null)", R"("")", R"("../x")", R"("a/b")", R"(".a")", R"("a b")", R"(5)",
                              R"("a\u0000b")", R"("a\n")", R"("ä")");
  CAPTURE(name);
  const Error error = refused(std::string(R"({"cniVersion":"1.0.0","name":)") + name + "}");
  CHECK(error.code == Errc::invalid);
  CHECK(error.text.find("name") == 0);
}

TEST_CASE("Network names, device ids and IPAM types are no longer than a file name") {
  const auto named = [](size_t size) { return R"({"name":")" + std::string(size, 'a') + R"("})"; };
  CHECK(parse_net_conf(named(255)));
  CHECK(refused(named(256)).text.starts_with("name: "));
  CHECK(refused(named(500'000)).text.size() < 300);
  const std::string id(64, 'a');
  CHECK(refused(with(R"("deviceID":")" + id + R"(")")).text.starts_with("deviceID: "));
  const std::string type(256, 'a');
  CHECK(refused(with(R"("ipam":{"type":")" + type + R"("})")).text.starts_with("ipam.type: "));
}

TEST_CASE("A configuration that is nested too deeply is refused") {
  const std::string deep = R"("x":)" + std::string(500'000, '[');
  CHECK(refused(with(deep)).code == Errc::protocol);
}

TEST_CASE("A configuration that only a limit refuses is told apart from what nobody can read") {
  const std::string deep = R"("x":)" + std::string(65, '[') + std::string(65, ']');
  const Error error = refused(with(deep));
  CHECK(error.code == Errc::invalid);
  CHECK_THAT(error.text, Catch::Contains("64 levels of nesting"));
  CHECK_FALSE(Configuration(with(deep)).is_decoded());
  CHECK(refused(with(deep) + "}").code == Errc::protocol);
  CHECK(refused(std::string(65, '[') + std::string(65, ']')).code == Errc::protocol);
}

TEST_CASE("An impossible value is refused with its key") {
  const auto [keys, start] = GENERATE(table<std::string, std::string>({
      {R"("deviceID":"../../etc")", "deviceID: "},
      {R"("deviceID":5)", "deviceID: "},
      {R"("deviceID":"0000:03:02.1\u0000")", "deviceID: "},
      {R"("deviceID":"0000:03:02.1\n")", "deviceID: "},
      {R"("device":"eth0\u0000x")", "device: "},
      {R"("pciBusID":"a/b")", "pciBusID: "},
      {R"("device":"a/b")", "device: "},
      {R"("device":"../x")", "device: "},
      {R"("hwaddr":"02:00")", "hwaddr: "},
      {R"("kernelpath":"/etc")", "kernelpath: "},
      {R"("port":-1)", "port: "},
      {R"("port":"1")", "port: "},
      {R"("kernelpath":"/sys/devices/../../etc")", "kernelpath: "},
      {R"("kernelpath":"/sys/devices/x/..")", "kernelpath: "},
      {R"("kernelpath":"/sys/devices/..\u0000")", "kernelpath: "},
      {R"("kernelpath":"/sys/devices/x\ny")", "kernelpath: "},
      {R"("mac":"zz")", "mac: "},
      {R"("mac":"00:00:00:00:00:00")", "mac: "},
      {R"("mac":"01:00:00:00:00:00")", "mac: "},
      {R"("mac":"00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1")", "mac: "},
      {R"("runtimeConfig":{"mac":"zz"})", "runtimeConfig.mac: "},
      {R"("runtimeConfig":[])", "runtimeConfig: "},
      {R"("mtu":67)", "mtu: "},
      {R"("mtu":65536)", "mtu: "},
      {R"("mtu":-1)", "mtu: "},
      {R"("mtu":1500.5)", "mtu: "},
      {R"("mtu":"1500")", "mtu: "},
      {R"("rdma":"yes")", "rdma: "},
      {R"("rdma":true)", "rdma: "},
      {R"("rdmaName":5)", "rdmaName: "},
      {R"("rdmaName":"a/b")", "rdmaName: "},
      {R"("rdmaName":"..")", "rdmaName: "},
      {R"("rdmaName":"rdma%d")", "rdmaName: "},
      {R"("rdmaName":"rdma0","rdma":"off")", "rdmaName: "},
      {R"("dns":[])", "dns: "},
      {R"("dns":{"nameservers":"a"})", "dns.nameservers: "},
      {R"("logLevel":5)", "logLevel: "},
      {R"("logFile":5)", "logFile: "},
      {R"("logFile":"/var/log/v\u0000x")", "logFile: "},
      {R"("logFile":"/var/log/v\n")", "logFile: "},
      {R"("prevResult":[])", "prevResult: "},
      {R"("ipam":"x")", "ipam: "},
      {R"("ipam":{"type":5})", "ipam.type: "},
      {R"("ipam":{"type":"../host-local"})", "ipam.type: "},
      {R"("ipam":{"type":".."})", "ipam.type: "},
      {R"("ipam":{"type":"a\\b"})", "ipam.type: "},
      {R"("ipam":{"type":"host-local\u0000x"})", "ipam.type: "},
      {R"("ipam":{"type":"host-local\n"})", "ipam.type: "},
      {R"("cni.dev/valid-attachments":{})", "cni.dev/valid-attachments: "},
      {R"("cni.dev/valid-attachments":[5])", "cni.dev/valid-attachments[0]: "},
      {R"("cni.dev/valid-attachments":[{"containerID":"a"}])", "cni.dev/valid-attachments[0]: "},
  }));
  CAPTURE(keys);
  const Error error = refused(with(keys));
  CHECK(error.code == Errc::invalid);
  CHECK_THAT(error.text, Catch::StartsWith(start));
}

TEST_CASE("An ipam section without a type is no address management, which is a warning") {
  const char* ipam =
      GENERATE(R"({"range":"10.0.0.0/8"})", R"({"type":"","range":"x"})", R"({"type":null,"a":1})");
  const NetConf conf = parsed(std::string(R"("ipam":)") + ipam);
  CHECK(conf.entry.ipam_type.empty());
  REQUIRE(conf.warnings.size() == 1);
  CHECK_THAT(conf.warnings[0], Catch::StartsWith("ipam: it has no type"));
}

TEST_CASE("Explicit zero values of operators ask for nothing") {
  CHECK(parsed(R"("ipam":{})").entry.ipam_type.empty());
  CHECK(parsed(R"("ipam":{"type":""})").entry.ipam_type.empty());
  CHECK(parse_net_conf(with(GENERATE(R"("vlanTrunk":[])", R"("vlanTrunk":{})", R"("vlanTrunk":"")",
                                     R"("vlanTrunk":false)", R"("vlanTrunk":null)"))));
  CHECK_FALSE(parsed(R"("mtu":0)").link.mtu.has_value());
}

TEST_CASE("A missing list of valid attachments, null and an empty list differ") {
  CHECK_FALSE(parsed("").entry.valid_attachments.has_value());
  CHECK_FALSE(parsed(R"("cni.dev/valid-attachments":null)").entry.valid_attachments.has_value());
  REQUIRE(parsed(R"("cni.dev/valid-attachments":[])").entry.valid_attachments.has_value());
  const auto list =
      parsed(R"("cni.dev/valid-attachments":[{"containerID":"a","ifname":"net1"}])").entry.valid_attachments;
  CHECK(*list == std::vector<AttachmentName>{{"a", "net1"}});
}

namespace {

std::string version_of(const char* text) { return Configuration(text).version(); }

}  // namespace

TEST_CASE("The version is read from any configuration, and defaults to 0.1.0") {
  CHECK(version_of(R"({"cniVersion":"0.4.0"})") == "0.4.0");
  CHECK(version_of(R"({"name":"x"})") == "0.1.0");
  CHECK(version_of(R"({"cniVersion":5})") == "0.1.0");
  CHECK(version_of(R"({"cniVersion":""})") == "0.1.0");
  CHECK(parse_net_conf(R"({"cniVersion":"","name":"x"})")->entry.cni_version == "0.1.0");
  CHECK(parse_net_conf(R"({"name":"x"})")->entry.cni_version == "0.1.0");
  CHECK(version_of("junk") == "0.1.0");
}

TEST_CASE("A log level is read in any letter case, and one that is not known is a warning") {
  CHECK(parsed(R"("logLevel":"DEBUG")").log.level == LogLevel::debug);
  CHECK(parsed(R"("logLevel":"Verbose")").log.level == LogLevel::debug);
  CHECK(parsed(R"("logLevel":"Panic")").log.level == LogLevel::error);
  const NetConf conf = parsed(R"("logLevel":"loud")");
  CHECK(conf.log.level == LogLevel::info);
  REQUIRE(conf.warnings.size() == 1);
  CHECK_THAT(conf.warnings[0],
             Catch::StartsWith("logLevel: info is used, because it must be one of panic, "));
}

TEST_CASE("A log file that is no absolute path is a warning, and the log goes to stderr") {
  const auto file = GENERATE(as<std::string>(), "relative", "./v", "var/log/v");
  const NetConf conf = parsed(R"("logFile":")" + file + "\"");
  CHECK(conf.log.file.empty());
  REQUIRE(conf.warnings.size() == 1);
  CHECK_THAT(conf.warnings[0], Catch::StartsWith("logFile: "));
}

TEST_CASE("A version or name of another JSON type is told apart from one that is wrong") {
  CHECK(Configuration(R"({"cniVersion":1,"name":"x"})").is_mistyped());
  CHECK(Configuration(R"({"name":["x"]})").is_mistyped());
  CHECK_FALSE(Configuration(R"({"cniVersion":"7","name":"../x"})").is_mistyped());
  CHECK_FALSE(Configuration(R"({"cniVersion":null})").is_mistyped());
  CHECK_FALSE(Configuration("junk").is_mistyped());
}

}  // namespace vfrail
