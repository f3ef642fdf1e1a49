// ADD and DEL on the fake node, with each call of the kernel failing in turn (before and after it took
// effect), and with the process killed at each call. Whatever happens, the node must be what it was, with
// what a runtime does next: nothing after a failed ADD (its own roll-back must do), DEL, or another pod's
// ADD.
#include "cni/steps/tuning_step.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "tests/cni/fake_node.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;

constexpr const char* kVf = "0000:21:10.0";
// Of the IPAM plugin, which remembers what it gave out, as host-local does.
constexpr const char* kAddresses =
    R"({"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24","gateway":"10.9.0.1"},)"
    R"({"address":"fd00::2/64","gateway":"fd00::1"}],"routes":[{"dst":"0.0.0.0/0"},{"dst":"fd01::/64"}]})";

// What kind of node, and what the network asks for.
struct FaultScene {
  const char* name;
  const char* keys;
  int rdma_devices = 1;  // of the VF
};
constexpr FaultScene kPlain{
    "a VF whose PF is out of sight",
    R"("mtu":9000,"mac":"02:00:00:00:00:07","promisc":false,"allmulti":true,"txQLen":700,)"
    R"("sysctl":{"net.ipv4.conf.IFNAME.arp_notify":"1","net/ipv4/tcp_rmem":"1 2 3"},"sourceRouting":true,)"};
constexpr FaultScene kVfSettings{
    "a VF with settings at its PF",
    R"("mtu":9000,"mac":"02:00:00:00:00:07","vlan":100,"vlanQoS":3,"trust":"on",)"
    R"("vlanProto":"802.1ad","spoofchk":"off","min_tx_rate":10,"max_tx_rate":1000,)"
    R"("link_state":"enable",)"};
constexpr FaultScene kInfiniband{"an InfiniBand VF with a GUID", R"("guid":"00:11:22:33:44:55:66:77",)"};
constexpr FaultScene kIpoibInPod{"an InfiniBand VF whose interface the kernel makes in the pod (Linux 6.17)",
                                 kInfiniband.keys};
constexpr FaultScene kRenamed{"two RDMA devices with names of the pod's own",
                              R"("mtu":9000,"mac":"02:00:00:00:00:07","rdmaName":"rdma0",)", 2};
constexpr FaultScene kCdi{"a VF whose container gets its nodes by CDI",
                          R"("mtu":9000,"mac":"02:00:00:00:00:07",)"};
constexpr FaultScene kConfigured{"a VF with addresses and routes of the host's own",
                                 R"("mtu":9000,"mac":"02:00:00:00:00:07","hostConfig":"move",)"};
constexpr FaultScene kReset{"a VF that is reset for the next pod",
                            R"("mtu":9000,"mac":"02:00:00:00:00:07","reset":true,)"};
constexpr FaultScene kMacvlan{"a macvlan on a VF that stays in the host",
                              R"("mac":"02:00:00:00:00:07","mode":"macvlan","sourceRouting":true,)"};
constexpr FaultScene kIpoibChild{"an interface of a partition on an InfiniBand VF that stays in the host",
                                 R"("mode":"ipoib","pkey":"0x8001","sourceRouting":true,)"};
const FaultScene kScenes[] = {kPlain, kVfSettings, kInfiniband, kIpoibInPod, kRenamed,
                              kCdi,   kConfigured, kReset,      kMacvlan,    kIpoibChild};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), by);
}

// A node with two VFs, each with an RDMA device, and two pods.
struct FaultNode : FakeNode {
  explicit FaultNode(const FaultScene& what = kPlain) : scene(what) {
    add_devices();
    world.add_rdma(kVf, "mlx5_0");
    world.add_rdma("0000:21:10.2", "mlx5_1");
    for (int i = 1; i < scene.rdma_devices; ++i) world.add_rdma(kVf, "mlx5_" + std::to_string(i + 1));
    // Not what the kernel makes by default, so that a restore which does nothing shows.
    world.link("enp1s0f0v0").mtu = 1400;
    world.link("enp1s0f0v0").flags = 0x101;  // IFF_UP, IFF_PROMISC
    world.link("enp1s0f0v0").tx_queue_len = 500;
    world.link("enp1s0f0v0").alias = "rail 0";
    world.link("enp1s0f0v0").altnames = {"net1", "enp1s0f0v0-a-long-name"};
    for (const char* pod : {"/run/netns/a", "/run/netns/b"}) world.add_veth(world.add_netns(pod), "eth0");
    install_lease_ipam("fake-ipam", kAddresses);
    if (scene.name == kCdi.name) allocate_by_cdi();
    if (scene.name == kConfigured.name) configure();
  }

  void configure() {
    const auto host = world.open(FakeWorld::kHost);
    const int link = world.link("enp1s0f0v0").index;
    const auto address = IpAddress::parse_cidr("10.5.0.2/24");
    REQUIRE(host->add_address(link, *address, {.priority = 50, .label = "rail:0"}));
    REQUIRE(host->add_address(link, *IpAddress::parse_cidr("fd05::2/64")));
    Route route;
    route.destination = *IpAddress::parse_cidr("10.6.0.0/16");
    route.gateway = IpAddress::parse("10.5.0.1");
    route.table = 77;
    route.link = link;
    REQUIRE(host->add_route(route));
    world.forget_faults();
  }

  void add_devices() {
    const bool ib = scene.keys == kInfiniband.keys || scene.name == kIpoibChild.name;
    world.ipoib_beside_rdma = scene.name == kIpoibInPod.name;
    const char* pf = scene.name == kPlain.name ? "" : "0000:21:00.0";
    if (*pf != 0) world.add_pf(pf, "enp1s0f0");
    for (const auto& [pci, name] : {std::pair(kVf, "enp1s0f0v0"), std::pair("0000:21:10.2", "enp1s0f0v1")}) {
      ib ? world.add_ib_vf(pci, name, pf) : world.add_vf(pci, name, pf);
    }
    if (ib || *pf == 0) return;
    world.vf(kVf).vlan = VfVlan{7, 0, 0x8100};
    world.vf(kVf).mac =
        world.link("enp1s0f0v0").mac;  // igb reports the address that it has made up for the VF
  }

  // As Allocate does it. Its numbers are others by now, because RDMA devices before this one are gone.
  void allocate_by_cdi() {
    const CdiSpec spec{"nvidia.com/net-pci",
                       kVf,
                       {.nodes = {{"/dev/infiniband/uverbs5", "/dev/infiniband/uverbs5", "rw"},
                                  {"/dev/infiniband/umad5", "/dev/infiniband/umad5", "rw"},
                                  {"/dev/infiniband/rdma_cm", "/dev/infiniband/rdma_cm", "rw"}}}};
    REQUIRE(write_cdi_spec(spec_path(), dir.path("spec.new"), spec));
    REQUIRE(
        write_allocated_nodes(dir.path("run"), *DeviceId::parse(kVf), {{"umad5", "uverbs5"}, spec_path()}));
  }
  std::string spec_path() const { return dir.path("vfrail-spec.json"); }
  // "as allocated" (the allocated nodes), "corrected", or neither, which no fault may bring about.
  std::string spec_state() const {
    const auto spec = read_cdi_spec(spec_path());
    if (!spec || !*spec) return spec ? "missing" : spec.error().text;
    std::string out;
    for (const DeviceNode& node : (*spec)->edits.nodes) out += node.host_path.substr(16) + " ";
    return out == "uverbs5 umad5 rdma_cm "   ? "as allocated"
           : out == "umad0 uverbs0 rdma_cm " ? "corrected"
                                             : out;
  }

  std::string config() const {
    return R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0",)" +
           std::string(scene.keys) + R"("ipam":{"type":"fake-ipam"}})";
  }
  Result<AddResult> add(const std::string& id, const std::string& netns) {
    container = id;
    return FakeNode::add(config(), netns);
  }
  Result<> del(const std::string& id, const std::string& netns) {
    container = id;
    return FakeNode::del(config(), netns);
  }

  // The kernel's side, the addresses given out, and the state folder.
  std::string everything() const {
    std::string out = world.snapshot();
    if (scene.name == kCdi.name) {
      const std::string spec = spec_state();
      out += spec == "as allocated" || spec == "corrected" ? "a CDI spec\n" : "CDI spec: " + spec + "\n";
    }
    for (const std::string& folder :
         {dir.path("leases"), dir.path("state/attachments"), dir.path("state/devices"), dir.path("locks")}) {
      for (const auto& entry : fs::directory_iterator(folder)) out += entry.path().filename().string() + "\n";
    }
    return out;
  }

  FaultScene scene;
};

std::string pristine(const FaultScene& scene = kPlain) {
  FaultNode node(scene);
  REQUIRE(RecordStore::open(node.dir.path("state"), node.dir.path("locks")));
  return node.everything();
}

struct Fault {
  int error;
  FakeWorld::When when;
};
const Fault kFaults[] = {{EIO, FakeWorld::When::before},
                         {EBUSY, FakeWorld::When::before},
                         {ENOMEM, FakeWorld::When::before},
                         {EPERM, FakeWorld::When::before},
                         {EIO, FakeWorld::When::after}};

}  // namespace

TEST_CASE("an ADD and a DEL give the pod its device and then leave the node as it was") {
  const std::string before = pristine();
  FaultNode node;
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE(added);
  CHECK(added->mac == "02:00:00:00:00:07");
  CHECK(added->mtu == 9000);
  CHECK(added->pci_id == kVf);
  const std::string during = node.everything();
  CHECK(during.find("netns 2 link net1 02:00:00:00:00:07 mtu 9000 qlen 700 alias \"rail 0\" up allmulti") !=
        std::string::npos);
  CHECK(during.find("netns 2 rdma mlx5_0 uverbs0 umad0") != std::string::npos);
  CHECK(during.find("netns 2 route 0.0.0.0/0 table 100") != std::string::npos);
  CHECK(during.find("netns 2 rule from 10.9.0.2/32 lookup 100\nnetns 2 rule from fd00::2/128 lookup 100") !=
        std::string::npos);
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.everything() == before);
}

TEST_CASE("the settings of a VF are set at its PF in one request, and restored") {
  const std::string before = pristine(kVfSettings);
  FaultNode node(kVfSettings);
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.world.vf(kVf).text() ==
        "mac 02:00:00:00:00:07, vlan 100 qos 3 802.1ad, min_tx_rate 10 max_tx_rate 1000, spoofchk off, trust "
        "on, "
        "link_state "
        "enable");
  const auto& log = node.world.log();
  const auto begins_with = [&](const char* call) {
    return std::count_if(log.begin(), log.end(),
                         [=](const std::string& one) { return one.starts_with(call); });
  };
  CHECK(begins_with("change_vf") == 1);
  CHECK(begins_with("vfs") == 1);
  CHECK(node.world.snapshot().find(
            "netns 2 link net1 02:00:00:00:00:07 mtu 9000 qlen 500 alias \"rail 0\" up") !=
        std::string::npos);
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.everything() == before);
}

TEST_CASE("a VF that is destroyed while a pod has it needs no restore, and DEL succeeds") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  FaultNode node(scene);
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.destroy_vf(kVf);
  const auto deleted = node.del("c1", "/run/netns/a");
  INFO((deleted ? std::string() : deleted.error().text));
  CHECK(deleted);
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
  CHECK(fs::is_empty(node.dir.path("leases")));
}

TEST_CASE("a device bound to vfio is attached with an address from its PF, and released without a netdev") {
  FaultNode node(kVfSettings);
  REQUIRE(RecordStore::open(node.dir.path("state"), node.dir.path("locks")));
  node.world.give_to_vfio(kVf);
  const std::string before = node.everything();
  Request request = node.request(Command::add, node.config());
  request.config = replaced(request.config.text(), R"("mtu":9000,)", "");
  const auto added = node.process([&](World& w) { return vfrail::cni::add(request, w); });
  REQUIRE(added);
  CHECK(added->mac == "02:00:00:00:00:07");
  CHECK(added->mtu == 1500);  // the PF's, as sriov-cni has it
  CHECK(added->pci_id == kVf);
  CHECK(added->assignment.ips.size() == 2);
  CHECK(node.world.vf(kVf).vlan->id == 100);
  CHECK(std::none_of(node.world.log().begin(), node.world.log().end(),
                     [](const std::string& call) { return call == "change_link"; }));
  SECTION("DEL") { REQUIRE(node.del("c1", "/run/netns/a")); }
  SECTION("DEL without a namespace") { REQUIRE(node.del("c1", "")); }
  CHECK(node.everything() == before);
}

TEST_CASE("the settings of a VF are restored even when its namespace has ended") {
  FaultNode node(kVfSettings);
  const std::string settings = node.world.vf(kVf).text();
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.end_netns("/run/netns/a");
  REQUIRE(node.del("c1", ""));
  CHECK(node.world.vf(kVf).text() == settings);
  CHECK(node.world.snapshot().find("netns 1 link enp1s0f0v0 52:54:00:00:00:03 mtu 1400") !=
        std::string::npos);
}

TEST_CASE("an address that the administrator had set is restored, for a VF that may not choose its own") {
  FaultNode node(kVfSettings);
  const bool up = GENERATE(false, true);
  node.world.link("enp1s0f0v0").flags = up ? 1 : 0;
  const auto administered = MacAddress::parse("52:54:00:00:00:03");
  Request request = node.request(Command::add, node.config());
  request.config = replaced(request.config.text(), R"("trust":"on",)", "");
  const auto added = node.process([&](World& w) { return vfrail::cni::add(request, w); });
  REQUIRE(added);
  CHECK(added->mac == "02:00:00:00:00:07");
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.world.vf(kVf).mac == administered);
  CHECK(node.world.link("enp1s0f0v0").up() == up);
  CHECK(node.world.link("enp1s0f0v0").mac == *administered);
}

TEST_CASE("a setting that the PF's driver refuses is named, and all settings are rolled back") {
  FaultNode node(kVfSettings);
  REQUIRE(RecordStore::open(node.dir.path("state"), node.dir.path("locks")));
  node.world.add_pf("0000:41:00.0", "enp2s0f0").refuses = {.rate = VfRate{}};
  node.world.add_vf("0000:41:10.0", "enp2s0f0v0", "0000:41:00.0");
  const std::string before = node.everything();
  Request request = node.request(Command::add, node.config());
  request.config = replaced(request.config.text(), "0000:21:10.0", "0000:41:10.0");
  const auto added = node.process([&](World& w) { return vfrail::cni::add(request, w); });
  REQUIRE_FALSE(added);
  CHECK(added.error().text.find("set VF 0 of enp2s0f0: min_tx_rate 10 max_tx_rate 1000: ") !=
        std::string::npos);
  CHECK(node.everything() == before);
}

TEST_CASE("a DEL while the PF has no interface restores nothing, and can be repeated") {
  FaultNode node(kVfSettings);
  const std::string settings = node.world.vf(kVf).text();
  REQUIRE(node.add("c1", "/run/netns/a"));
  const int elsewhere = node.world.add_netns("/run/netns/reload");
  node.world.move(FakeWorld::kHost, "enp1s0f0", elsewhere);
  const auto deleted = node.del("c1", "/run/netns/a");
  REQUIRE_FALSE(deleted);
  CHECK(deleted.error().code == Errc::busy);
  CHECK_THAT(deleted.error().text, Catch::Contains("without an interface in the host"));
  CHECK(node.world.vf(kVf).vlan->id == 100);
  node.world.move(elsewhere, "enp1s0f0", FakeWorld::kHost);
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.world.vf(kVf).text() == settings);
}

TEST_CASE("a VF whose old settings its PF's driver refuses is unclean until they are there again") {
  FaultNode node(kVfSettings);
  const auto vlan = node.world.vf(kVf).vlan;
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.pf("0000:21:00.0").refuses = {.vlan = VfVlan{}};
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK_THAT(node.text("state/unclean/0000:21:10.0.json"), Catch::Contains("set it there by hand: vlan 7"));
  const auto refused = node.add("c2", "/run/netns/b");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::busy);
  CHECK_THAT(refused.error().text, Catch::Contains("vlan 7"));
  SECTION("by hand") { node.world.vf(kVf).vlan = vlan; }
  SECTION("by a driver that takes it") { node.world.pf("0000:21:00.0").refuses = {}; }
  const std::string plain = replaced(node.config(), R"("vlan":100,"vlanQoS":3,)", "");
  const auto added = node.FakeNode::add(replaced(plain, R"("vlanProto":"802.1ad",)", ""), "/run/netns/b");
  INFO((added ? std::string() : added.error().text));
  REQUIRE(added);
  CHECK(node.world.vf(kVf).vlan == vlan);
  CHECK_FALSE(fs::exists(node.dir.path("state/unclean/0000:21:10.0.json")));
}

TEST_CASE("a DEL of a device that was bound to vfio meanwhile has nothing to bring back") {
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.give_to_vfio(kVf);
  SECTION("while its namespace lives") { CHECK(node.del("c1", "/run/netns/a")); }
  SECTION("when that has ended") {
    node.world.end_netns("/run/netns/a");
    CHECK(node.del("c1", ""));
  }
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
}

TEST_CASE("settings of a VF whose PF is not visible are refused with the reason") {
  const std::string before = pristine();
  FaultNode node;
  Request request = node.request(Command::add, node.config());
  request.config = replaced(request.config.text(), "\"mtu\"", "\"vlan\":5,\"mtu\"");
  const auto added = node.process([&](World& w) { return vfrail::cni::add(request, w); });
  REQUIRE_FALSE(added);
  CHECK(added.error().text.find(
            "vlan 5: only the PF can set that, and 0000:21:10.0 has no PF on this machine") !=
        std::string::npos);
  CHECK(node.everything() == before);
}

TEST_CASE("CHECK names each setting of a VF that is no longer what was asked for") {
  FaultNode node(kVfSettings);
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE(added);
  Request request = node.request(Command::check, node.config());
  const std::string result = format_result(*added).text();
  request.config = replaced(request.config.text(), R"("mtu")", "\"prevResult\":" + result + R"(,"mtu")");
  REQUIRE(node.process([&](World& w) { return vfrail::cni::check(request, w); }));
  node.world.vf(kVf).trust = false;
  node.world.vf(kVf).vlan = VfVlan{};
  const auto checked = node.process([&](World& w) { return vfrail::cni::check(request, w); });
  REQUIRE_FALSE(checked);
  CHECK(checked.error().text.find("VF 0 of enp1s0f0 has vlan 0, expected vlan 100 qos 3 802.1ad") !=
        std::string::npos);
  CHECK(checked.error().text.find("VF 0 of enp1s0f0 has trust off, expected trust on") != std::string::npos);
}

TEST_CASE("an InfiniBand VF gets its GUID by rebinding its driver, and the old one is restored") {
  const FaultScene scene = GENERATE(kInfiniband, kIpoibInPod);
  const bool ends_before_del = GENERATE(false, true);
  INFO(scene.name);
  FaultNode untouched(scene);
  REQUIRE(RecordStore::open(untouched.dir.path("state"), untouched.dir.path("locks")));
  FaultNode node(scene);
  const auto added = node.add("c1", "/run/netns/a");
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(added->mac.ends_with("00:11:22:33:44:55:66:77"));
  CHECK(node.world.vf(kVf).port_guid == parse_guid("00:11:22:33:44:55:66:77"));
  CHECK(node.world.snapshot().find("netns 2 link net1 ") != std::string::npos);
  CHECK(node.world.snapshot().find("netns 2 rdma mlx5_0") != std::string::npos);
  if (ends_before_del) {
    untouched.world.end_netns("/run/netns/a");
    node.world.end_netns("/run/netns/a");
  }
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.everything() == untouched.everything());
}

TEST_CASE("the IPoIB interface that a move creates again is found where the kernel makes it") {
  FaultNode node(kIpoibInPod);
  SECTION("the pod has one of the kernel's name") { node.world.add_veth(2, "ib0"); }
  SECTION("the network tunes it, by the host's sysfs") {
    node.scene.keys = R"("guid":"00:11:22:33:44:55:66:77","rps":"1",)";
  }
  SECTION("in the host") { node.world.ipoib_beside_rdma = false; }
  const std::string before = node.world.snapshot();
  const auto added = node.add("c1", "/run/netns/a");
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(node.world.snapshot().find("netns 2 link net1 ") != std::string::npos);
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.world.snapshot() == before);
}

TEST_CASE("a recreated IPoIB interface gets the MTU of the network again, though the one before had it") {
  FaultNode node(GENERATE(kInfiniband, kIpoibInPod));
  node.world.link("enp1s0f0v0").mtu = 4092;
  node.scene.keys = R"("mtu":4092,)";
  const auto added = node.add("c1", "/run/netns/a");
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(added->mtu == 4092);
}

TEST_CASE("where the PF reports no GUID, or 0, the VF gets that of its interface back, else none") {
  const bool reports = GENERATE(true, false);
  FaultNode node(kInfiniband);
  const auto own = node.world.vf(kVf).port_guid;
  const std::string mac = node.world.link("enp1s0f0v0").mac.text();
  node.world.pf("0000:21:00.0").reports_guids = reports;
  if (reports) node.world.vf(kVf).node_guid = node.world.vf(kVf).port_guid = 0;
  auto restored = own;
  SECTION("an interface") {}
  SECTION("bound to vfio") {
    node.world.give_to_vfio(kVf);
    restored = UINT64_MAX;
  }
  const auto added = node.add("c1", "/run/netns/a");
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(node.world.vf(kVf).port_guid == parse_guid("00:11:22:33:44:55:66:77"));
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.world.vf(kVf).port_guid == restored);
  CHECK(node.world.vf(kVf).node_guid == restored);
  if (restored == own) CHECK(node.world.link("enp1s0f0v0").mac.text() == mac);
}

TEST_CASE("an ADD in which any call of the kernel fails leaves the node as it was", "[sweep]") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  const std::string before = pristine(scene);
  int points = 0;
  for (const Fault& fault : kFaults) {
    for (int call = 1;; ++call) {
      FaultNode node(scene);
      node.world.fail_call(call, fault.error, fault.when);
      const auto added = node.add("c1", "/run/netns/a");
      if (node.world.calls() < call) break;  // ADD makes fewer calls than this
      ++points;
      INFO("call " << call << " (" << node.world.log()[static_cast<size_t>(call) - 1] << "), errno "
                   << fault.error << (fault.when == FakeWorld::When::after ? " after it took effect" : ""));
      node.world.forget_faults();
      // A question whose answer is lost changes nothing, so ADD may have gone on (after: it was no change).
      if (added) REQUIRE(node.del("c1", "/run/netns/a"));
      REQUIRE(node.everything() == before);
    }
  }
  WARN("fault points tried in ADD: " << points);
  CHECK(points > 50);
}

TEST_CASE("a DEL in which any call of the kernel fails can be repeated and then leaves the node as it was",
          "[sweep]") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  const std::string before = pristine(scene);
  int points = 0;
  for (const Fault& fault : kFaults) {
    for (int call = 1;; ++call) {
      FaultNode node(scene);
      REQUIRE(node.add("c1", "/run/netns/a"));
      node.world.forget_faults();
      node.world.fail_call(call, fault.error, fault.when);
      const auto deleted = node.del("c1", "/run/netns/a");
      if (node.world.calls() < call) break;
      ++points;
      INFO("call " << call << " (" << node.world.log()[static_cast<size_t>(call) - 1] << "), errno "
                   << fault.error << (fault.when == FakeWorld::When::after ? " after it took effect" : ""));
      node.world.forget_faults();
      // Success must be true; after an error the runtime asks again.
      if (!deleted) REQUIRE(node.del("c1", "/run/netns/a"));
      REQUIRE(node.everything() == before);
    }
  }
  WARN("fault points tried in DEL: " << points);
  CHECK(points > 20);
}

TEST_CASE("an ADD killed at any call of the kernel is undone by DEL alone", "[sweep]") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  const std::string before = pristine(scene);
  for (const bool netns_gone : {false, true}) {
    int points = 0;
    for (int call = 1;; ++call, ++points) {
      FaultNode node(scene);
      node.world.kill_call(call);
      if (!killed([&] { (void)node.add("c1", "/run/netns/a"); })) break;
      INFO("killed at call " << call << " (" << node.world.log().back() << ")"
                             << (netns_gone ? ", namespace gone" : ""));
      node.world.forget_faults();
      if (netns_gone) node.world.end_netns("/run/netns/a");
      REQUIRE(node.del("c1", netns_gone ? "" : "/run/netns/a"));
      if (netns_gone) node.world.add_veth(node.world.add_netns("/run/netns/a"), "eth0");
      // The pod's own veth is of another namespace number then: compare the host, which is what must not
      // change.
      const auto host_part = [](const std::string& text) {
        std::string out;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
          if (line.find("link eth0") == std::string::npos) out += line + "\n";
        }
        return out;
      };
      REQUIRE(host_part(node.everything()) == host_part(before));
    }
    WARN("kill points tried in ADD" << (netns_gone ? ", then the namespace ended" : "") << ": " << points);
    CHECK(points > 10);
  }
}

TEST_CASE("an ADD killed at any call is no obstacle to the next pod that gets the device", "[sweep]") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    FaultNode node(scene);
    node.world.kill_call(call);
    if (!killed([&] { (void)node.add("c1", "/run/netns/a"); })) break;
    INFO("killed at call " << call << " (" << node.world.log().back() << ")");
    node.world.forget_faults();
    node.world.end_netns("/run/netns/a");
    const std::string settled = [&] {
      FaultNode fresh(scene);
      fresh.world.end_netns("/run/netns/a");
      return fresh.world.snapshot();
    }();
    REQUIRE(node.add("c2", "/run/netns/b"));
    // The late DEL of the first pod comes while the second one has the device.
    const std::string during = node.world.snapshot();
    REQUIRE(node.del("c1", "/run/netns/a"));
    // But for its IPoIB interface, which the end of its namespace has moved to the host.
    if (scene.name != kIpoibChild.name) REQUIRE(node.world.snapshot() == during);
    REQUIRE(node.del("c2", "/run/netns/b"));
    REQUIRE(node.world.snapshot() == settled);
  }
  WARN("kill points tried in ADD, then another pod's ADD: " << points);
  CHECK(points > 10);
}

TEST_CASE("a DEL killed at any call of the kernel is completed by the next DEL", "[sweep]") {
  const FaultScene scene = GENERATE(from_range(std::begin(kScenes), std::end(kScenes)));
  INFO(scene.name);
  const std::string before = pristine(scene);
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    FaultNode node(scene);
    REQUIRE(node.add("c1", "/run/netns/a"));
    node.world.forget_faults();
    node.world.kill_call(call);
    if (!killed([&] { (void)node.del("c1", "/run/netns/a"); })) break;
    INFO("killed at call " << call << " (" << node.world.log().back() << ")");
    node.world.forget_faults();
    REQUIRE(node.del("c1", "/run/netns/a"));
    REQUIRE(node.everything() == before);
  }
  WARN("kill points tried in DEL: " << points);
  CHECK(points > 5);
}

TEST_CASE("RDMA devices have the requested names in the pod, and their own after they are restored") {
  const std::string before = pristine(kRenamed);
  FaultNode node(kRenamed);
  REQUIRE(node.add("c1", "/run/netns/a"));
  const std::string during = node.world.snapshot();
  CHECK(during.find("netns 2 rdma rdma0 uverbs0") != std::string::npos);
  CHECK(during.find("netns 2 rdma rdma0_1 uverbs2") != std::string::npos);
  SECTION("by DEL") { REQUIRE(node.del("c1", "/run/netns/a")); }
  SECTION("by the end of the namespace") {
    node.world.end_netns("/run/netns/a");
    CHECK(node.world.snapshot().find("netns 1 rdma rdma0 ") != std::string::npos);
    REQUIRE(node.del("c1", ""));
    node.world.add_veth(2, "eth0");
  }
  CHECK(node.everything() == before);
}

TEST_CASE("an RDMA device whose own name is in use is returned under the pod's name") {
  FaultNode node(kRenamed);
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.rdma("mlx5_1").device.name = "mlx5_0";
  REQUIRE(node.del("c1", "/run/netns/a"));
  const std::string after = node.world.snapshot();
  CHECK(after.find("netns 1 rdma rdma0 ") != std::string::npos);
  CHECK(after.find("netns 1 rdma mlx5_0 uverbs1") != std::string::npos);
  CHECK(after.find("netns 1 rdma mlx5_2 ") != std::string::npos);
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
}

TEST_CASE("the name of an RDMA device in another pod is refused, and nothing stays changed") {
  FaultNode node(kRenamed);
  node.world.rdma("mlx5_1").device.name = "rdma0_1";
  node.world.rdma("rdma0_1").netns = 3;
  const std::string before = node.world.snapshot();
  REQUIRE(node.world.open(FakeWorld::kHost)->change_link(2, {}));  // refreshes the tree
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::exists);
  CHECK(node.world.snapshot() == before);
}

TEST_CASE("a second ADD of a device in use is refused as busy and changes nothing") {
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  const std::string during = node.everything();
  const auto second = node.add("c2", "/run/netns/b");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::busy);
  CHECK(second.error().text.find("is attached to net1 of container c1") != std::string::npos);
  CHECK(node.everything() == during);
}

TEST_CASE("a second ADD of an active attachment is refused and changes nothing") {
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  const std::string during = node.everything();
  const auto second = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::exists);
  CHECK(second.error().text.find("is attached already") != std::string::npos);
  CHECK(node.everything() == during);
}

TEST_CASE("an ADD under the name of a killed one restores that one's device first, whichever it was") {
  FaultNode node;
  node.world.kill_call(9);  // the device is in the pod
  REQUIRE(killed([&] { (void)node.add("c1", "/run/netns/a"); }));
  node.world.forget_faults();
  node.world.end_netns("/run/netns/a");
  node.world.add_veth(node.world.add_netns("/run/netns/a"), "eth0");
  Request other = node.request(Command::add, node.config());
  other.config =
      std::string(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.2"})");
  REQUIRE(node.process([&](World& w) { return vfrail::cni::add(other, w); }));
  CHECK(node.world.snapshot().find("netns 1 link enp1s0f0v0 52:54:00:00:00:02 mtu 1400") !=
        std::string::npos);
  other.command = Command::del;
  REQUIRE(node.process([&](World& w) { return vfrail::cni::del(other, w); }));
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
}

TEST_CASE("an RDMA device that is missing from a list of the kernel is searched again") {
  FaultNode node;
  node.return_timeout = std::chrono::seconds(30);
  node.world.rdma_lists_with_a_gap = 3;
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.world.snapshot().find("netns 2 rdma mlx5_0 uverbs0 umad0") != std::string::npos);
  node.world.rdma_lists_with_a_gap = 1;
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.everything() == pristine());
}

TEST_CASE("a VF whose RDMA device is still in another namespace is not attached without it") {
  const std::string before = pristine();
  FaultNode node;
  node.world.rdma("mlx5_0").netns = 2;
  const auto host = node.world.open(FakeWorld::kHost);  // any change refreshes the tree
  REQUIRE(host->change_link(node.world.link("enp1s0f0v1").index, {.mtu = 1500}));
  node.world.forget_faults();
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::busy);
  CHECK(added.error().text.find("the RDMA device of 0000:21:10.0 (driver igbvf) is not in the host") !=
        std::string::npos);
  node.world.rdma("mlx5_0").netns = FakeWorld::kHost;
  CHECK(node.everything() == before);
}

TEST_CASE("a VF whose RDMA device is in the middle of a move is not attached without it") {
  const std::string before = pristine();
  FaultNode node;
  REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf), {{"umad0", "uverbs0"}, ""}));
  node.world.begin_rdma_move("mlx5_0", FakeWorld::kHost, 1);
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::busy);
  CHECK(added.error().text.find("the RDMA device of 0000:21:10.0 (driver igbvf) is not in the host") !=
        std::string::npos);
  REQUIRE(node.world.open(FakeWorld::kHost)->rdma_devices());  // the move has ended
  CHECK(node.everything() == before);
  CHECK(node.add("c1", "/run/netns/a"));
  CHECK(node.has("netns 2 rdma mlx5_0 uverbs0 umad0"));
}

TEST_CASE("a device whose RDMA nodes differ from the allocated ones is not attached") {
  const std::string before = pristine();
  FaultNode node;
  const auto id = DeviceId::parse(kVf);
  REQUIRE(write_allocated_nodes(node.dir.path("run"), *id, {{"umad4", "uverbs4"}, ""}));
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().text.find("the container was allocated umad4, uverbs4") != std::string::npos);
  CHECK(node.everything() == before);
}

TEST_CASE("DEL ends the nodes that its container was allocated, and not those of the device's next one") {
  const bool allocated_again = GENERATE(false, true);
  const bool of_older_version = GENERATE(false, true);
  const bool booted = GENERATE(false, true);
  CAPTURE(allocated_again, of_older_version, booted);
  FaultNode node;
  const auto allocate = [&] {
    REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf), {{"umad0", "uverbs0"}, ""}));
  };
  allocate();
  REQUIRE(node.add("c1", "/run/netns/a"));
  if (of_older_version) {
    const std::string path = node.dir.path("state/attachments/c1:net1.json");
    const std::string text =
        replaced(node.text("state/attachments/c1:net1.json"), "allocatedFile", "unknown");
    std::ofstream(path) << text;
  }
  node.world.end_netns("/run/netns/a");
  if (booted) {
    std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
    fs::remove_all(node.dir.path("run/promised"));
  }
  if (allocated_again) allocate();
  REQUIRE(node.del("c1", ""));
  const auto left = read_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf));
  REQUIRE(left);
  // An older version's record cannot tell two files of one boot apart.
  CHECK(left->has_value() == (allocated_again && (booted || !of_older_version)));
}

TEST_CASE("a folder of allocated nodes that others can write keeps no pod from ending") {
  FaultNode node;
  const std::string before = node.world.snapshot();
  REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf), {{"umad0", "uverbs0"}, ""}));
  REQUIRE(node.add("c1", "/run/netns/a"));
  fs::permissions(node.dir.path("run/promised"), fs::perms::others_write, fs::perm_options::add);
  const auto done = node.del("c1", "/run/netns/a");
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.world.snapshot() == before);
  CHECK(fs::is_empty(node.dir.path("leases")));
}

TEST_CASE("with CDI a device whose nodes have other numbers is attached, and the spec is corrected") {
  FaultNode node(kCdi);
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.spec_state() == "corrected");
  CHECK_FALSE(fs::exists(node.spec_path() + ".new"));
  const auto moves = [&] {
    const auto& log = node.world.log();
    return std::count(log.begin(), log.end(), "move_rdma_device");
  };
  CHECK(moves() == 1);  // there is no number to be had by another
}

TEST_CASE("a sandbox that is created again without another Allocate gets the nodes of its device, too") {
  FaultNode node(kCdi);
  // An RDMA device that had the lowest number, at the time of the first ADD.
  node.world.add_rdma("0000:21:10.2", "mlx5_9");
  std::swap(node.world.rdma("mlx5_9").uverbs, node.world.rdma("mlx5_0").uverbs);
  std::swap(node.world.rdma("mlx5_9").umad, node.world.rdma("mlx5_0").umad);
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.spec_state() == "umad2 uverbs2 rdma_cm ");
  REQUIRE(node.del("c1", "/run/netns/a"));
  node.world.rdma("mlx5_9").uverbs = node.world.rdma("mlx5_9").umad = 9;
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.spec_state() == "corrected");
}

TEST_CASE("a CDI spec that a killed ADD has written in part does not disturb the next ADD") {
  FaultNode node(kCdi);
  std::ofstream(node.spec_path() + ".new") << "{\"cdi";
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.spec_state() == "corrected");
  CHECK_FALSE(fs::exists(node.spec_path() + ".new"));
}

TEST_CASE("a CDI spec that cannot be read or written refuses the ADD, and the device is restored") {
  const std::string before = pristine(kCdi);
  FaultNode node(kCdi);
  std::string reason;
  SECTION("unreadable") {
    std::ofstream(node.spec_path()) << "{}";
    reason = "read the CDI spec of 0000:21:10.0";
  }
  SECTION("unwritable") {
    // With the ending of a temporary file the name is too long for a file system.
    const std::string path = node.dir.path("vfrail-" + std::string(240, 'x') + ".json");
    fs::copy_file(node.spec_path(), path);
    REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf), {{"umad5", "uverbs5"}, path}));
    reason = "correct the CDI spec of 0000:21:10.0";
  }
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().text.find(reason) != std::string::npos);
  node.allocate_by_cdi();
  CHECK(node.everything() == before);
}

TEST_CASE("allocated nodes cannot make ADD rewrite a file that is not a CDI spec of vfrail") {
  const std::string before = pristine(kCdi);
  FaultNode node(kCdi);
  fs::create_directories(node.dir.path("specs"));
  fs::create_directory_symlink(node.dir.path(), node.dir.path("specs/link"));
  const std::string name =
      GENERATE("/etc/cdi-of-mine/vfrail-spec.json", "other-spec.json", "vfrail-spec.conf",
               "specs/../vfrail-spec.json", "specs/link/vfrail-spec.json");
  const std::string path = name.starts_with('/') ? name : node.dir.path(name);
  CAPTURE(path);
  std::error_code ignored;
  fs::copy_file(node.spec_path(), node.dir.path("other-spec.json"), ignored);
  REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse(kVf), {{"uverbs5"}, path}));
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().text.find("is not a CDI spec of vfrail") != std::string::npos);
  CHECK(node.everything() == before);
}

TEST_CASE("a folder of allocated nodes that others can write is not read") {
  FaultNode node(kCdi);
  const std::string promised = node.dir.path("run/promised");
  SECTION("open to all") { fs::permissions(promised, fs::perms::others_write, fs::perm_options::add); }
  SECTION("a link") {
    fs::rename(promised, node.dir.path("elsewhere"));
    fs::create_directory_symlink(node.dir.path("elsewhere"), promised);
  }
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::denied);
  CHECK(added.error().text.find(promised) != std::string::npos);
}

TEST_CASE("allocated nodes whose CDI spec is gone are ignored: another plugin has the device") {
  FaultNode node(kCdi);
  fs::remove(node.spec_path());
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK_FALSE(fs::exists(node.spec_path()));
}

TEST_CASE("a CDI spec without RDMA nodes gets none") {
  FaultNode node(kCdi);
  const CdiSpec spec{"nvidia.com/net-pci", kVf, {.nodes = {{"/dev/vhost-net", "/dev/vhost-net", "rw"}}}};
  REQUIRE(write_cdi_spec(node.spec_path(), node.dir.path("spec.new"), spec));
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(**read_cdi_spec(node.spec_path()) == spec);
}

TEST_CASE("a CDI spec is correct even where nothing moves") {
  FaultNode node(kCdi);
  node.world.rdma_mode = RdmaNetnsMode::shared;
  REQUIRE(node.add("c1", "/run/netns/a"));
  CHECK(node.spec_state() == "corrected");
}

TEST_CASE("a namespace that ends while DEL waits returns the device") {
  const std::string before = pristine();
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  // The path is gone at once, the namespace itself, which has the link, a little later.
  node.world.end_netns("/run/netns/a");
  const int ending = node.world.add_netns("/ending");
  const auto host = node.world.open(FakeWorld::kHost);
  REQUIRE(
      host->change_link(node.world.link("net1").index, {.netns_fd = node.world.open(ending)->netns_fd()}));
  int waits = 0;
  node.world.while_waiting = [&] {
    if (++waits == 1) node.world.end_netns("/ending");
  };
  REQUIRE(node.del("c1", ""));
  CHECK(waits > 0);
  const std::string after = node.world.snapshot();
  CHECK(after.find(
            "netns 1 link enp1s0f0v0 52:54:00:00:00:02 mtu 1400 qlen 500 alias \"rail 0\" up promisc altname "
            "enp1s0f0v0-a-long-name altname net1") != std::string::npos);
}

TEST_CASE("a device whose old name is in use is restored under another name and is not lost") {
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.add_veth(FakeWorld::kHost, "enp1s0f0v0");
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.world.snapshot().find("netns 1 link dev0 52:54:00:00:00:02 mtu 1400") != std::string::npos);
}

TEST_CASE("a record from before a reboot is dropped, not applied") {
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  node.world.end_netns("/run/netns/a");
  std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
  const std::string after_boot = node.world.snapshot();
  REQUIRE(node.del("c1", ""));
  CHECK(node.world.snapshot() == after_boot);
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
  CHECK(fs::is_empty(node.dir.path("leases")));
}

TEST_CASE("DEL with a refused configuration uses that of ADD") {
  const std::string before = pristine();
  FaultNode node;
  REQUIRE(node.add("c1", "/run/netns/a"));
  Request request = node.request(Command::del, node.config());
  request.config = std::string(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","vlan":5000})");
  REQUIRE(node.process([&](World& w) { return vfrail::cni::del(request, w); }));
  CHECK(node.everything() == before);
  CHECK(node.process([&](World& w) { return vfrail::cni::del(request, w); }));
}

TEST_CASE(
    "interrupts that cannot be saved are not in the record, which a roll-back removes if it is the saved "
    "one") {
  const std::string before = pristine();
  FaultNode node;
  const auto write = [&](const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(node.dir.path(file)).parent_path());
    std::ofstream(node.dir.path(file)) << text;
  };
  node.process([&](World& w) {
    REQUIRE(node.add("c1", "/run/netns/a"));
    Record record = **w.store.load({"c1", "net1"});
    const Record saved = record;
    const std::string device = std::string("root/sys/bus/pci/devices/") + kVf;
    write(device + "/msi_irqs/40", "msix\n");
    write(device + "/numa_node", "0\n");
    write("root/sys/devices/system/node/node0/cpumap", "0f\n");
    write("root/proc/irq/40/smp_affinity", "ff\n");
    // What save() has to read first.
    const std::string owner = node.dir.path(std::string("state/devices/") + kVf);
    fs::rename(owner, node.dir.path("owner"));
    fs::create_directory(owner);
    const auto steered = steer_irqs("numa", record, w);
    REQUIRE_FALSE(steered);
    INFO(steered.error().text);
    CHECK(steered.error().text.find("devices/0000:21:10.0") != std::string::npos);
    CHECK(record == saved);
    fs::remove(owner);
    fs::rename(node.dir.path("owner"), owner);
    return 0;
  });
  CHECK(node.text("root/proc/irq/40/smp_affinity") == "ff\n");
  REQUIRE(node.del("c1", "/run/netns/a"));
  CHECK(node.everything() == before);
}

TEST_CASE("a roll-back uses the names that RDMA devices have since their driver was rebound") {
  FaultNode node(kInfiniband);
  node.after_rebind = [&] {
    node.after_rebind = nullptr;
    const auto host = node.world.open(FakeWorld::kHost);
    REQUIRE(host->rename_rdma_device(node.world.rdma("mlx5_0").device.index, "ibp33s16"));
    // Its own name is in use, or it would get that again.
    REQUIRE(host->rename_rdma_device(node.world.rdma("mlx5_1").device.index, "mlx5_0"));
  };
  fs::remove(node.dir.path("fake-ipam"));
  std::ofstream(node.dir.path("fake-ipam")) << "#!/bin/sh\ntest $CNI_COMMAND = DEL\n";
  fs::permissions(node.dir.path("fake-ipam"), fs::perms::owner_all);
  const auto added = node.add("c1", "/run/netns/a");
  REQUIRE_FALSE(added);
  INFO(added.error().text);
  CHECK(added.error().text.find("rollback failed") == std::string::npos);
  CHECK(node.world.snapshot().find("netns 1 rdma ibp33s16") != std::string::npos);
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
}

}  // namespace vfrail::test
