// cni/verbs/in_pod.h: what the record says that the pod has got, and the index of its GID above all.
#include "cni/verbs/in_pod.h"

#include "common/errors/error_id.h"
#include "tests/cni/fake_node.h"

#include <cerrno>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

constexpr const char* kConfig =
    R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0","ipam":{"type":"fake-ipam"}})";
constexpr const char* kV6First =
    R"({"cniVersion":"1.0.0","ips":[{"address":"fd00::2/64"},{"address":"10.9.0.2/24"}]})";

// A pod with a default route over eth0, and an IPAM plugin that answers IPv6 first.
struct GidNode : TwoVfs {
  explicit GidNode(const char* answer = kV6First) {
    args.clear();
    install_lease_ipam("fake-ipam", answer);
    const auto pod = world.open(*world.netns_at(kPod));
    const auto eth0 = pod->find_link("eth0");
    REQUIRE(pod->change_link((*eth0)->index, {.up = true}));
    Route route;
    route.destination = *IpAddress::parse_cidr("0.0.0.0/0");
    route.link = (*eth0)->index;
    REQUIRE(pod->add_route(route));
    REQUIRE(log.open_file(log_file));
    log.set_level(LogLevel::warning);
  }
  InPod in_pod() const {
    const auto record = Attachments(dir.path("state")).load({container, "net1"});
    REQUIRE(record);
    REQUIRE(*record);
    REQUIRE((*record)->in_pod);
    return *(*record)->in_pod;
  }
  std::string logged() const { return text("log"); }

  std::string log_file = dir.path("log");
};

}  // namespace

TEST_CASE("the record has what the pod has got") {
  GidNode node;
  node.world.rdma_mode = GENERATE(RdmaNetnsMode::exclusive, RdmaNetnsMode::shared);
  const auto result = node.add(kConfig);
  if (!result) FAIL(result.error().text);
  CHECK(node.logged().empty());
  const InPod had = node.in_pod();
  CHECK(had.mac.text() == result->mac);
  CHECK(had.mtu == 1500);
  CHECK(had.rdma == "mlx5_0");
  CHECK(had.uverbs == "uverbs0");
  CHECK(had.link_layer == "Ethernet");
  CHECK(had.gid_index == 3U);
  CHECK(had.default_interface == "eth0");
  // The kernel got the IPv4 address first, the runtime gets them in the order of IPAM.
  REQUIRE(had.addresses.size() == 2);
  CHECK(had.addresses[0].cidr() == "fd00::2/64");
  CHECK(result->assignment.ips[0].address.cidr() == "fd00::2/64");
  REQUIRE(node.del(kConfig));
  CHECK(node.no_state());
}

TEST_CASE("a pod's own way to make link-local addresses does not move the GID") {
  GidNode node;
  node.world.stable_privacy.insert(*node.world.netns_at(kPod));
  REQUIRE(node.add(kConfig));
  CHECK(node.in_pod().gid_index == 3U);
  CHECK(node.logged().empty());
}

TEST_CASE("a pod is attached without IPv6, in the kernel or on the interface") {
  GidNode node(kOneAddress);
  SECTION("the kernel") { node.world.no_ipv6 = true; }
  SECTION("an MTU that is too small for it") { node.world.link("vf0").mtu = 1000; }
  const auto result = node.add(kConfig);
  if (!result) FAIL(result.error().text);
  CHECK(node.in_pod().gid_index == 3U);
}

TEST_CASE("a GID that has another index is reported with the entry that is in the way") {
  GidNode node;
  // A VLAN of an earlier pod that is still there.
  node.world.rdma("mlx5_0").gids.follow(node.world.link("vf0").mac, "vf0", {});
  node.world.rdma("mlx5_0").gids.occupy(*IpAddress::parse_cidr("10.1.0.9/24"), "vf0.5");
  REQUIRE(node.add(kConfig));
  CHECK(node.in_pod().gid_index == 5U);
  CHECK_THAT(node.logged(), Contains("VF-GID-INDEX-MOVED") && Contains("has index 5, not 3") &&
                                Contains("10.1.0.9 of vf0.5 (RoCE v2)"));
}

TEST_CASE("a GID that does not come fails no pod") {
  GidNode node;
  node.world.rdma("mlx5_0").makes_gids = false;
  REQUIRE(node.add(kConfig));
  CHECK_FALSE(node.in_pod().gid_index);
  CHECK_THAT(node.logged(), Contains("VF-GID-MISSING") && Contains("10.9.0.2"));
}

TEST_CASE("InfiniBand and an attachment without an address wait for no GID") {
  GidNode node;
  std::string config = kConfig;
  SECTION("InfiniBand") {
    node.world.rdma("mlx5_0").link_layer = "InfiniBand";
    node.world.add_vf("0000:21:10.4", "vf2");  // writes sysfs again
  }
  SECTION("no address") {
    config = R"({"cniVersion":"1.0.0","name":"r","type":"vfrail","deviceID":"0000:21:10.0"})";
  }
  REQUIRE(node.add(config));
  CHECK_FALSE(node.in_pod().gid_index);
  CHECK(node.logged().empty());
}

TEST_CASE("CHECK names the old and the new index of a GID") {
  GidNode node;
  const auto result = node.add(kConfig);
  REQUIRE(result);
  std::string config = kConfig;
  config.insert(1, R"("prevResult":)" + format_result(*result).text() + ",");
  const auto check = [&] { return node.run(vfrail::cni::check, Command::check, config); };
  if (const auto same = check(); !same) FAIL(same.error().text);
  // The pod takes its address away and gives it back, behind another one.
  FakeGids& gids = node.world.rdma("mlx5_0").gids;
  const FakeLink& net1 = node.world.fake_link(*node.world.netns_at(kPod), "net1");
  gids.follow(net1.link.mac, "net1", {});
  std::string words;
  SECTION("moved") {
    gids.occupy(*IpAddress::parse_cidr("10.1.0.9/24"), "net1.5");
    gids.follow(net1.link.mac, "net1", {*IpAddress::parse_cidr("10.9.0.2/24")});
    words = "of 10.9.0.2 in mlx5_0 has index 5, it had index 3";
  }
  SECTION("gone") { words = "of 10.9.0.2 in mlx5_0 is gone, it had index 3"; }
  const auto changed = check();
  REQUIRE_FALSE(changed);
  CHECK(changed.error().id() == ErrorId::check_mismatch);
  CHECK_THAT(changed.error().text, Contains(words));
}

}  // namespace vfrail::test
