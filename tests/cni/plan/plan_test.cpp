// cni/plan/plan.h: every refusal that ADD makes before it has touched anything, and what it plans otherwise.
#include "cni/plan/plan.h"

#include "common/errors/error_id.h"

#include <functional>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

// A VF with a netdev and an RDMA device in exclusive mode, all in the host. Each test changes one thing.
struct Situation {
  Request request;
  NetConf conf;
  State state;

  Situation() {
    request.container_id = "abc";
    request.ifname = "net1";
    request.netns = "/run/netns/x";
    conf.entry.network = "rail0";
    state.device.id = *DeviceId::parse("0000:03:02.1");
    state.device.driver = Driver("mlx5_core");
    state.device.netdevs = {{.name = "eth7"}};
    state.device.rdma = {{.name = "mlx5_4"}};
    state.device.verbs_nodes = {"uverbs4"};
    state.device.mad_nodes = {"umad4"};
    Link link;
    link.index = 7;
    link.name = "eth7";
    link.altnames = {"enp3s2f1"};
    link.mac = *MacAddress::parse("02:00:00:00:00:01");
    link.mtu = 1500;
    link.min_mtu = 68;
    link.max_mtu = 9216;
    link.parent_device = "0000:03:02.1";
    state.link = link;
    state.rdma_mode = RdmaNetnsMode::exclusive;
    state.rdma = {{4, "mlx5_4", 0}};
  }
  AttachPlan plan() const {
    auto out = plan_attach(request, conf, state);
    if (!out) FAIL(out.error().text);
    return std::move(*out);
  }
  Error refusal() const {
    auto out = plan_attach(request, conf, state);
    REQUIRE_FALSE(out);
    return std::move(out.error());
  }
};

using Catch::Contains;

}  // namespace

TEST_CASE("The plan moves the netdev under its present name, and the RDMA device with it") {
  const Situation s;
  const AttachPlan plan = s.plan();
  CHECK(plan.ifname == "net1");
  CHECK(plan.link->name == "eth7");
  CHECK(plan.link->altnames == std::vector<std::string>{"enp3s2f1"});
  CHECK_FALSE(plan.link->up);
  CHECK_FALSE(plan.mac.has_value());
  CHECK_FALSE(plan.mtu.has_value());
  CHECK(plan.own_altnames.empty());
  REQUIRE(plan.rdma.size() == 1);
  CHECK(plan.rdma.front().device == s.state.rdma.front());
}

TEST_CASE("Flags and queue length that are set already are not sent, and the old values are kept") {
  Situation s;
  s.state.link->flags = 0x100;  // IFF_PROMISC
  s.state.link->tx_queue_len = 1000;
  s.conf.pod.link.set("promisc", 0);
  s.conf.pod.link.set("allmulti", 0);
  s.conf.pod.link.set("txQLen", 1000);
  const AttachPlan plan = s.plan();
  CHECK(plan.settings.get("promisc") == 0U);
  CHECK_FALSE(plan.settings.get("allmulti").has_value());
  CHECK_FALSE(plan.settings.get("txQLen").has_value());
  CHECK(plan.link->promisc);
  CHECK_FALSE(plan.link->allmulti);
}

TEST_CASE("A setting that the kernel does not have is refused: it would take the message and leave it out") {
  Situation s;
  s.conf.pod.link.set("groMaxSize", 40'000);
  s.state.link->options.gro_max_size.reset();
  CHECK(s.refusal().code == Errc::unsupported);
  CHECK_THAT(s.refusal().text, Contains("groMaxSize: this kernel has no such setting"));
  s.state.link->options.gro_max_size = 65'536;
  CHECK(s.plan().settings.get("groMaxSize") == 40'000U);
}

TEST_CASE("Source routing uses the lowest free table from 100 on, or the configured one") {
  Situation s;
  CHECK_FALSE(s.plan().routing_table.has_value());
  s.conf.pod.source_routing = SourceRouting{};
  s.state.tables_in_use = {254, 255, 101, 100, 103};
  CHECK(s.plan().routing_table == 102U);
  CHECK(make_record(s.request, s.conf.entry.network, s.state, s.plan()).routing_table == 102U);
  s.conf.pod.source_routing->table = 5000;
  CHECK(s.plan().routing_table == 5000U);
  s.conf.pod.source_routing->table = 103;
  CHECK_THAT(s.refusal().text, Contains("sourceRouting: table 103 has routes or rules"));
  s.conf.pod.source_routing->table.reset();
  for (uint32_t table = 100; table < 253; ++table) s.state.tables_in_use.push_back(table);
  CHECK_THAT(s.refusal().text, Contains("100 to 252"));
}

TEST_CASE("Without an allow-list any sysctl below net is allowed, with one those that match") {
  Situation s;
  s.conf.pod.sysctls = {{"net.ipv4.conf.IFNAME.arp_notify", "ipv4/conf/IFNAME/arp_notify", "1"},
                        {"net/core/somaxconn", "core/somaxconn", "1"}};
  s.plan();
  s.state.sysctl_allow_list = "^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]*$\n\n^net\\.core\\.(x|somaxconn)$";
  s.plan();
  s.state.sysctl_allow_list = "  ^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]*$\t\r\n \n^net\\.core\\.somaxconn$ ";
  s.plan();
  s.state.sysctl_allow_list = "^net\\.ipv4\\.conf\\.IFNAME\\.[a-z_]*$\n^net\\.core\\.somax$";
  const Error error = s.refusal();
  CHECK(error.code == Errc::denied);
  CHECK_THAT(error.text, Contains("net/core/somaxconn") && Contains("/etc/cni/tuning/allowlist.conf"));
  s.state.sysctl_allow_list = "";
  CHECK_THAT(s.refusal().text, Contains("arp_notify"));
}

TEST_CASE("A line of the allow-list that is no POSIX regular expression is an error, not a guess") {
  Situation s;
  s.conf.pod.sysctls = {{"net.core.somaxconn", "core/somaxconn", "1"}};
  const auto pattern = GENERATE(as<std::string>(), "net.core.(", "(?i)net", "net.core.\\d+", "*");
  CAPTURE(pattern);
  s.state.sysctl_allow_list = pattern;
  CHECK_THAT(s.refusal().text, Contains(pattern) && Contains("regular expression"));
}

TEST_CASE("The pod's namespace must not be the host's, unless that is allowed") {
  Situation s;
  s.state.same_netns = true;
  CHECK_THAT(s.refusal().text, Contains("/run/netns/x is the host's own"));
  s.request.netns_override = true;
  s.plan();
}

TEST_CASE("Before 0.3.0 an attachment without an address is refused, and the error names 0.3.0") {
  Situation s;
  s.conf.entry.cni_version = GENERATE("0.1.0", "0.2.0");
  CHECK_THAT(s.refusal().text, Contains(s.conf.entry.cni_version) && Contains("0.3.1"));
  s.conf.entry.ipam_type = "host-local";
  s.plan();
}

TEST_CASE("An interface name that the pod uses already is refused with its owner") {
  Situation s;
  s.state.occupant = Link{};
  s.state.occupant->name = "eth0";
  s.state.occupant->kind = "veth";
  const Error error = s.refusal();
  CHECK(error.code == Errc::exists);
  CHECK_THAT(error.text, Contains("net1") && Contains("eth0 (veth)"));
}

TEST_CASE("A function with several netdevs on one port is refused unless one is named") {
  Situation s;
  s.state.device.netdevs = {{.name = "eth7"}, {.name = "eth8"}};
  CHECK_THAT(s.refusal().text, Contains("eth7, eth8"));
}

TEST_CASE("A function whose netdev is not in the host is busy") {
  Situation s;
  s.state.device.netdevs.clear();
  s.state.device.rdma.clear();
  s.state.rdma.clear();
  s.state.link.reset();
  const Error error = s.refusal();
  CHECK(error.code == Errc::busy);
  CHECK_THAT(error.text, Contains("mlx5_core"));
}

TEST_CASE("A function without a driver is refused for that reason") {
  Situation s;
  s.state.device.netdevs.clear();
  s.state.device.rdma.clear();
  s.state.device.driver = Driver();
  s.state.rdma.clear();
  s.state.link.reset();
  const Error error = s.refusal();
  CHECK(error.code == Errc::not_found);
  CHECK_THAT(error.text, Contains("no driver"));
}

TEST_CASE("A function bound to vfio needs no netdev, takes no MTU, and gets its address from its PF only") {
  Situation s;
  s.state.device.netdevs.clear();
  s.state.device.rdma.clear();
  s.state.device.driver = Driver("vfio-pci");
  s.state.rdma.clear();
  s.state.link.reset();
  CHECK_FALSE(s.plan().link.has_value());
  s.conf.link.mtu = 1500;
  CHECK_THAT(s.refusal().text, Contains("vfio-pci"));
  s.conf.link.mtu.reset();
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:05");
  s.state.no_vf = "it has none";
  CHECK_THAT(s.refusal().text, Contains("mac 02:00:00:00:00:05: only the PF can set that, and it has none"));
  s.state.vf = VfPlace{"pf0", 2, 1};
  s.state.vf_settings.mac = MacAddress{std::vector<uint8_t>(6)};
  const AttachPlan plan = s.plan();
  REQUIRE(plan.vf);
  CHECK(plan.vf->change == VfSettings{.mac = s.conf.link.mac.network});
}

TEST_CASE("Settings that the VF already has are not sent to its PF") {
  Situation s;
  s.state.vf = VfPlace{"pf0", 2, 1};
  s.state.vf_settings = {.vlan = VfVlan{5, 0, 0x8100}, .trust = false, .link_state = VfLinkState::automatic};
  s.conf.vf.settings = {.vlan = VfVlan{5, 0, 0x8100}, .link_state = VfLinkState::automatic};
  CHECK_FALSE(s.plan().vf);
  s.conf.vf.settings.trust = true;
  const AttachPlan plan = s.plan();
  REQUIRE(plan.vf);
  CHECK(plan.vf->change == VfSettings{.trust = true});
  CHECK(plan.vf->before == VfSettings{.trust = false});
}

TEST_CASE("vfioPciMode is refused for a device that is bound to another driver") {
  Situation s;
  s.conf.vf.vfio_wanted = true;
  CHECK_THAT(s.refusal().text, Contains("vfioPciMode: 0000:03:02.1 is bound to mlx5_core, not to vfio-pci"));
  s.state.device.driver = Driver("vfio-pci");
  s.state.device.netdevs.clear();
  s.state.device.rdma.clear();
  s.state.rdma.clear();
  s.state.link.reset();
  CHECK_FALSE(s.plan().link);
}

TEST_CASE("An InfiniBand VF without a GUID is refused, because its port would stay down") {
  Situation s;
  s.state.link->mac.bytes.assign(20, 0);
  s.conf.link.mac.network.reset();
  CHECK_THAT(s.refusal().text, Contains("has no valid GUID"));
  s.state.link->mac.bytes.back() = 1;
  CHECK(s.plan().link);
}

TEST_CASE("The GUID of a VF whose kernel does not report it is that in its IPoIB address") {
  Situation s;
  s.state.link->mac.bytes.assign(20, 0);
  s.state.link->mac.bytes[12] = 0x11;
  s.state.link->mac.bytes[19] = 0x77;
  s.state.link->min_mtu = 0;
  s.state.vf = VfPlace{"eth0", 2, 0};
  s.conf.vf.guid = 5;
  const auto reported = GENERATE(std::optional<uint64_t>(), std::optional<uint64_t>(9));
  s.state.vf_settings = {.node_guid = reported, .port_guid = reported};
  const AttachPlan plan = s.plan();
  REQUIRE(plan.vf);
  CHECK(plan.vf->before.port_guid == reported.value_or(0x1100'0000'0000'0077));
  CHECK(plan.vf->before.node_guid == plan.vf->before.port_guid);
}

TEST_CASE("A pod is attached only after ib-kubernetes has configured it") {
  Situation s;
  s.conf.vf.ib_kubernetes = true;
  const Error error = s.refusal();
  CHECK(error.code == Errc::busy);
  CHECK_THAT(error.text, Contains("ib-kubernetes has not configured this pod yet"));
}

TEST_CASE("rdmaIsolation is refused while RDMA devices are shared, and the error has the remedy") {
  Situation s;
  s.state.rdma_mode = RdmaNetnsMode::shared;
  s.conf.rdma.policy = RdmaPolicy::require;
  CHECK(s.plan().rdma.empty());
  s.conf.rdma.isolation = true;
  CHECK_THAT(s.refusal().text, Contains("netns_mode=0"));
}

TEST_CASE("A device that the host uses is refused, unless the network allows it") {
  Situation s;
  s.state.host_use = "part of bond0 (a bond)";
  CHECK(s.refusal().code == Errc::denied);
  CHECK_THAT(s.refusal().text, Contains("0000:03:02.1 is not given to a pod") &&
                                   Contains("part of bond0 (a bond)") && Contains("\"hostUse\": \"allow\""));
  s.conf.safety.host_use_allowed = true;
  CHECK(s.plan().link->name == "eth7");
}

TEST_CASE("The loopback interface and devices that cannot leave their namespace are refused by name") {
  Situation s;
  s.state.link->type = 772;
  s.state.link->name = "loopback";
  CHECK_THAT(s.refusal().text, Contains("loopback is the loopback interface"));
  s.state.link->type = 1;
  CHECK(s.plan().link);
  s.state.link->kind = GENERATE("bridge", "bond", "team", "vrf", "openvswitch");
  CHECK(s.refusal().code == Errc::invalid);
  CHECK_THAT(s.refusal().text, Contains("does not move into another network namespace"));
}

TEST_CASE("An MTU that the device does not support is refused with its limits") {
  Situation s;
  s.conf.link.mtu = 9217;
  CHECK_THAT(s.refusal().text, Contains("9216"));
  s.conf.link.mtu = 68;
  s.state.link->min_mtu = 256;
  CHECK_THAT(s.refusal().text, Contains("256"));
  s.state.link->min_mtu = 0;
  s.state.link->max_mtu = 0;  // the driver does not say
  s.conf.link.mtu = 65535;
  CHECK(s.plan().mtu == 65535U);
}

TEST_CASE("What is set already is not set again") {
  Situation s;
  s.conf.link.mtu = 1500;
  s.conf.link.mac.network = s.state.link->mac;
  const AttachPlan plan = s.plan();
  CHECK_FALSE(plan.mtu.has_value());
  CHECK_FALSE(plan.mac.has_value());
}

TEST_CASE("The MAC of runtimeConfig precedes that of CNI_ARGS, and that the configuration's") {
  Situation s;
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:0a");
  CHECK(s.plan().mac->text() == "02:00:00:00:00:0a");
  s.request.args["MAC"] = "02:00:00:00:00:0b";
  CHECK(s.plan().mac->text() == "02:00:00:00:00:0b");
  s.conf.link.mac.runtime = MacAddress::parse("02:00:00:00:00:0c");
  CHECK(s.plan().mac->text() == "02:00:00:00:00:0c");
}

TEST_CASE("An invalid MAC in CNI_ARGS is refused") {
  const char* mac = GENERATE("zz", "02:00", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff",
                             "00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1");
  CAPTURE(mac);
  Situation s;
  s.request.args["MAC"] = mac;
  CHECK(s.refusal().code == Errc::invalid);
}

TEST_CASE("An InfiniBand interface does not take an Ethernet address") {
  Situation s;
  s.state.link->mac = *MacAddress::parse("00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1");
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:0a");
  CHECK_THAT(s.refusal().text, Contains("20 bytes"));
}

TEST_CASE("An alternative name equal to the new name is removed") {
  Situation s;
  s.state.link->altnames = {"enp3s2f1", "net1"};
  CHECK(s.plan().own_altnames == std::vector<std::string>{"net1"});
}

TEST_CASE("In shared mode the RDMA device stays") {
  Situation s;
  s.state.rdma_mode = RdmaNetnsMode::shared;
  s.state.rdma.clear();
  CHECK(s.plan().rdma.empty());
}

TEST_CASE("RDMA devices get the requested name in the pod, further ones with a number") {
  Situation s;
  CHECK(s.plan().rdma.front().in_pod == "mlx5_4");
  s.conf.rdma.name = "rdma0";
  s.state.device.rdma = {{.name = "mlx5_4"}, {.name = "mlx5_5"}};
  s.state.rdma = {{4, "mlx5_4", 0}, {5, "mlx5_5", 0}};
  const Record record = make_record(s.request, s.conf.entry.network, s.state, s.plan());
  CHECK(record.rdma == std::vector<MovedRdma>{{"mlx5_4", "rdma0", 4}, {"mlx5_5", "rdma0_1", 5}});
}

TEST_CASE("A requested RDMA name without an RDMA device, or in shared mode, is refused") {
  Situation s;
  s.conf.rdma.name = "rdma0";
  SECTION("shared mode") {
    s.state.rdma_mode = RdmaNetnsMode::shared;
    CHECK_THAT(s.refusal().text, Contains("rdmaName") && Contains("netns_mode=0"));
  }
  SECTION("no RDMA device") {
    s.state.device.rdma.clear();
    s.state.device.verbs_nodes.clear();
    s.state.device.mad_nodes.clear();
    CHECK_THAT(s.refusal().text, Contains("rdmaName: rdma0"));
  }
}

TEST_CASE("With rdma off the RDMA device stays") {
  Situation s;
  s.conf.rdma.policy = RdmaPolicy::off;
  CHECK(s.plan().rdma.empty());
}

TEST_CASE("A device without RDMA is fine, unless RDMA is required") {
  Situation s;
  s.state.device.rdma.clear();
  s.state.device.verbs_nodes.clear();
  s.state.device.mad_nodes.clear();
  s.state.rdma.clear();
  CHECK(s.plan().rdma.empty());
  s.conf.rdma.policy = RdmaPolicy::require;
  const Error error = s.refusal();
  CHECK(error.code == Errc::not_found);
  CHECK_THAT(error.text, Contains("rdma: require") && Contains("0000:03:02.1"));
}

TEST_CASE("An RDMA device that is in another namespace makes the function busy") {
  Situation s;
  s.state.rdma.clear();
  const Error error = s.refusal();
  CHECK(error.code == Errc::busy);
  CHECK_THAT(error.text, Contains("mlx5_4"));
}

TEST_CASE("The expected device nodes are the allocated ones, else the present ones, in order") {
  Situation s;
  CHECK(s.plan().nodes == std::vector<std::string>{"umad4", "uverbs4"});
  s.state.allocated = AllocatedNodes{{"uverbs9", "umad9"}, ""};
  CHECK(s.plan().nodes == std::vector<std::string>{"umad9", "uverbs9"});
}

TEST_CASE("The record alone is enough to undo the plan") {
  Situation s;
  s.request.config = std::string("{}");
  s.request.raw_args = "MAC=02:00:00:00:00:0b";
  s.request.raw_path = "/opt/cni/bin";
  s.request.args["MAC"] = "02:00:00:00:00:0b";
  const Record record = make_record(s.request, s.conf.entry.network, s.state, s.plan());
  CHECK(record.attachment == AttachmentName{"abc", "net1"});
  CHECK(record.network == "rail0");
  CHECK(record.netns == "/run/netns/x");
  CHECK(record.device_key == "0000:03:02.1");
  CHECK(record.device->text() == "0000:03:02.1");
  CHECK(record.link->mac.text() == "02:00:00:00:00:01");
  CHECK(record.pod_mac.text() == "02:00:00:00:00:0b");
  CHECK(record.rdma == std::vector<MovedRdma>{{"mlx5_4", "mlx5_4", 4}});
  CHECK(record.config == "{}");
  CHECK(record.cni_args == s.request.raw_args);
  CHECK(record.cni_path == "/opt/cni/bin");
}

TEST_CASE("Each refusal has the id that says its remedy") {
  const auto id_after = [](const std::function<void(Situation&)>& change) {
    Situation s;
    change(s);
    return id_text(s.refusal().id());
  };
  const auto without_parts = [](Situation& s) {
    s.state.device.netdevs.clear();
    s.state.device.rdma.clear();
    s.state.rdma.clear();
    s.state.link.reset();
  };
  CHECK(id_after([](Situation& s) { s.state.same_netns = true; }) == "VF-HOST-NETNS");
  CHECK(id_after([](Situation& s) { s.conf.entry.cni_version = "0.2.0"; }) == "VF-CNI-VERSION");
  CHECK(id_after([](Situation& s) { s.state.occupant = Link{}; }) == "VF-INTERFACE-NAME-TAKEN");
  CHECK(id_after([](Situation& s) { s.state.device.netdevs.push_back({.name = "eth8"}); }) ==
        "VF-SEVERAL-INTERFACES");
  CHECK(id_after(without_parts) == "VF-DEVICE-NOT-IN-HOST");
  CHECK(id_after([&](Situation& s) {
          without_parts(s);
          s.state.device.driver = Driver();
        }) == "VF-NO-DRIVER");
  CHECK(id_after([](Situation& s) { s.conf.vf.vfio_wanted = true; }) == "VF-NOT-VFIO");
  CHECK(id_after([](Situation& s) { s.state.host_use = "part of bond0"; }) == "VF-HOST-USES-DEVICE");
  CHECK(id_after([](Situation& s) { s.conf.link.mtu = 10'000; }) == "VF-MTU-OUT-OF-RANGE");
  CHECK(id_after([](Situation& s) { s.conf.vf.guid = 1; }) == "VF-NOT-INFINIBAND");
  CHECK(id_after([](Situation& s) { s.conf.vf.ib_kubernetes = true; }) == "VF-IB-KUBERNETES-PENDING");
  CHECK(id_after([](Situation& s) {
          s.state.rdma_mode = RdmaNetnsMode::shared;
          s.conf.rdma.isolation = true;
        }) == "VF-RDMA-SHARED-MODE");
  CHECK(id_after([](Situation& s) {
          s.state.device.rdma.clear();
          s.state.device.verbs_nodes.clear();
          s.state.device.mad_nodes.clear();
          s.conf.rdma.policy = RdmaPolicy::require;
        }) == "VF-NO-RDMA-DEVICE");
  CHECK(id_after([](Situation& s) { s.state.rdma.clear(); }) == "VF-DEVICE-NOT-IN-HOST");
  CHECK(id_after([](Situation& s) { s.request.args["MAC"] = "none"; }) == "VF-MAC-INVALID");
}

namespace {

// For user space, without a PF that can be seen.
Situation for_user_space() {
  Situation s;
  s.state.device.netdevs.clear();
  s.state.device.rdma.clear();
  s.state.device.verbs_nodes.clear();
  s.state.device.mad_nodes.clear();
  s.state.device.driver = Driver("vfio-pci");
  s.state.rdma.clear();
  s.state.link.reset();
  s.state.no_vf = "it has none";
  return s;
}

std::string only_warning(const Situation& s) {
  const AttachPlan plan = s.plan();
  REQUIRE(plan.warnings.size() == 1);
  CHECK_FALSE(plan.vf);
  return plan.warnings.front();
}

}  // namespace

TEST_CASE("rdmaIsolation is a warning for a device that is bound to vfio") {
  Situation s = for_user_space();
  s.conf.rdma.policy = RdmaPolicy::require;
  s.conf.rdma.isolation = true;
  CHECK_THAT(only_warning(s),
             Contains("rdmaIsolation: means nothing for 0000:03:02.1") && Contains("vfio-pci"));
  s.conf.rdma.name = "rdma0";
  CHECK_THAT(s.refusal().text, Contains("rdmaName: rdma0"));
  s.conf.rdma.name.clear();
  s.conf.rdma.isolation = false;
  CHECK_THAT(s.refusal().text, Contains("rdma: require"));
}

TEST_CASE(
    "Where there is no PF, as in a virtual machine, what the operator writes into every network is no "
    "request") {
  Situation s;
  s.state.vf.reset();
  s.state.no_vf = "it has none";
  s.conf.vf.settings.vlan = VfVlan{};
  s.conf.vf.settings.rate = VfRate{};
  s.conf.vf.settings.link_state = VfLinkState::automatic;
  const AttachPlan plan = s.plan();
  CHECK_FALSE(plan.vf);
  CHECK(plan.warnings.empty());
  s.conf.vf.settings.vlan = VfVlan{.id = 5};
  CHECK_THAT(s.refusal().text, Contains("vlan 5") && Contains("only the PF can set that, and it has none"));
  CHECK_THAT(s.refusal().text, !Contains("link_state"));
}

TEST_CASE("What only a PF can set on its VF is a warning for a PF on vfio under type ib-sriov") {
  Situation s = for_user_space();
  s.conf.entry.type = "ib-sriov";
  SECTION("link_state") { s.conf.vf.settings.link_state = VfLinkState::enable; }
  SECTION("a GUID") { s.conf.vf.guid = 5; }
  SECTION("a MAC") { s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:05"); }
  CHECK_THAT(only_warning(s), Contains("ignored, because 0000:03:02.1 is a PF bound to vfio-pci"));
  s.conf.entry.type = "vfrail";
  CHECK_THAT(s.refusal().text, Contains("only the PF can set that"));
}

TEST_CASE("ib-kubernetes need not name a GUID for a PF on vfio under type ib-sriov") {
  Situation s = for_user_space();
  s.conf.entry.type = "ib-sriov";
  s.conf.vf.ib_kubernetes = true;
  CHECK_THAT(s.refusal().text, Contains("ib-kubernetes has not configured this pod yet"));
  s.conf.vf.ib_kubernetes_done = true;
  CHECK_FALSE(s.plan().vf);
  s.state.vf = VfPlace{"pf0", 2, 1};
  CHECK_THAT(s.refusal().text, Contains("ib-kubernetes has not configured this pod yet"));
}

TEST_CASE("A MAC in CNI_ARGS is a warning where nobody can set it, that of the configuration is refused") {
  Situation s = for_user_space();
  const char* why = "has neither an interface nor a PF";
  SECTION("IPoIB") {
    s = Situation();
    s.state.link->mac = *MacAddress::parse("00:00:10:49:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:3e:13:d1");
    why = "is InfiniBand";
  }
  SECTION("an InfiniBand VF on vfio") {
    s.state.vf = VfPlace{"pf0", 2, 1};
    s.state.pf = Link{};
    s.state.pf->mac = MacAddress{std::vector<uint8_t>(20, 1)};
    why = "is InfiniBand";
  }
  SECTION("user space without a PF") {}
  s.request.args["MAC"] = "02:00:00:00:00:05";
  CHECK_THAT(only_warning(s), Contains("CNI_ARGS MAC: 0000:03:02.1") && Contains(why));
  CHECK_FALSE(s.plan().mac);
  if (s.state.vf) return;
  s.request.args.clear();
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:05");
  CHECK(s.refusal().code == Errc::invalid);
}

TEST_CASE("A MAC in CNI_ARGS is set where it can be: on Ethernet, or at the PF of a device for user space") {
  Situation s;
  s.request.args["MAC"] = "02:00:00:00:00:05";
  CHECK(s.plan().mac->text() == "02:00:00:00:00:05");
  s = for_user_space();
  s.request.args["MAC"] = "02:00:00:00:00:05";
  s.state.vf = VfPlace{"pf0", 2, 1};
  REQUIRE(s.plan().vf);
  CHECK(s.plan().warnings.empty());
}

TEST_CASE("The result of a device for user space has the address and MTU of its PF, as that of sriov-cni") {
  Situation s = for_user_space();
  s.conf.entry.type = GENERATE("sriov", "vfrail");
  s.state.vf = VfPlace{"pf0", 2, 1};
  s.state.pf = Link{};
  s.state.pf->mac = *MacAddress::parse("02:00:00:00:00:01");
  s.state.pf->mtu = 9000;
  CHECK_FALSE(s.plan().reported_mac);
  CHECK(s.plan().reported_mtu == 9000);
  s.state.vf_settings.mac = MacAddress{std::vector<uint8_t>(6)};
  CHECK_FALSE(s.plan().reported_mac);
  s.state.vf_settings.mac = MacAddress::parse("02:00:00:00:00:06");
  CHECK(s.plan().reported_mac->text() == "02:00:00:00:00:06");
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:05");
  CHECK(s.plan().reported_mac->text() == "02:00:00:00:00:05");
  s.conf.link.mac.network.reset();
  s.conf.entry.type = "host-device";
  CHECK_FALSE(s.plan().reported_mac);
  CHECK(s.plan().reported_mtu == 0);
}

TEST_CASE("Under type sriov an MTU that the device cannot have is a warning, any other one is set") {
  Situation s;
  s.conf.entry.type = "sriov";
  s.conf.link.mtu = 9000;
  CHECK(s.plan().mtu == 9000U);
  CHECK(s.plan().warnings.empty());
  s.conf.link.mtu = 9217;
  SECTION("too large") {}
  SECTION("no interface") {
    s = for_user_space();
    s.conf.entry.type = "sriov";
    s.conf.link.mtu = 1500;
  }
  CHECK_THAT(only_warning(s), Contains("mtu: ") && Contains("0000:03:02.1 cannot have it"));
  CHECK_FALSE(s.plan().mtu);
  s.conf.entry.type = "vfrail";
  CHECK(s.refusal().code == Errc::invalid);
}

TEST_CASE("Under type host-device what only a VF has is a warning for another device") {
  Situation s;
  s.conf.entry.type = "host-device";
  s.conf.vf.settings.vlan = VfVlan{5, 0, kVlan8021q};
  s.conf.vf.settings.trust = true;
  s.state.no_vf = "0000:03:02.1 is no VF";
  CHECK_THAT(only_warning(s), Contains("vlan 5") && Contains("trust on") && Contains("is no VF"));
  s.conf.link.mac.network = MacAddress::parse("02:00:00:00:00:05");
  CHECK_THAT(only_warning(s), Contains("vlan 5") && !Contains("mac"));
  CHECK(s.plan().mac == s.conf.link.mac.network);
  s.conf.vf.guid = 5;
  CHECK(s.refusal().code == Errc::invalid);
  s.conf.vf.guid.reset();
  s.conf.entry.type = "sriov";
  CHECK_THAT(s.refusal().text, Contains("only the PF can set that"));
}

}  // namespace vfrail
