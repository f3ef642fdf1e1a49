// vfrail as an entry of a plugin chain, on the fake node: behind another plugin that moved the netdev (as
// rdma-cni behind sriov-cni), and behind itself.
#include "tests/cni/fake_node.h"

#include <cerrno>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;
constexpr const char* kFirst =
    R"({"cniVersion":"1.0.0","name":"n","type":"sriov","deviceID":"0000:21:10.0"})";
// What sriov-cni, or vfrail in its place, answers.
constexpr const char* kPrevious =
    R"({"cniVersion":"1.0.0","interfaces":[{"name":"net1","mac":"52:54:00:00:00:02","sandbox":"/run/netns/a"}],)"
    R"("ips":[{"interface":0,"address":"10.1.0.2/16"}]})";

std::string chained(const std::string& keys, const std::string& previous = kPrevious) {
  return R"({"cniVersion":"1.0.0","name":"n","type":"rdma",)" + keys + R"("prevResult":)" + previous + "}";
}
const std::string kDevice = R"("deviceID":"0000:21:10.0",)";

struct ChainedNode : TwoVfs {
  // What sriov-cni does to the netdev.
  void other_plugin_moves(const std::string& name = "vf0") {
    const auto pod = world.open(2);
    REQUIRE(
        world.open(FakeWorld::kHost)
            ->change_link(world.link(name).index, {.netns_fd = pod->netns_fd(), .name = "net1", .up = true}));
  }
};

}  // namespace

TEST_CASE("behind another plugin only the RDMA device moves, and the previous result is printed") {
  const std::string device = GENERATE(as<std::string>(), kDevice, "");
  CAPTURE(device);
  ChainedNode node;
  node.other_plugin_moves();
  const std::string before = node.world.snapshot();
  const auto added = node.add(chained(device));
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(format_result(*added) == *Json::parse(kPrevious));
  CHECK(node.has("netns 2 rdma mlx5_0 "));
  CHECK(node.has("netns 2 link net1 52:54:00:00:00:02"));
  SECTION("DEL with prevResult") { REQUIRE(node.del(chained(device))); }
  SECTION("DEL without, as before 0.4.0, and again") {
    const std::string config = R"({"cniVersion":"0.3.1","name":"n","type":"rdma","deviceID":"0000:21:10.0"})";
    REQUIRE(node.del(config));
    REQUIRE(node.del(config));
  }
  SECTION("DEL without a namespace path") { REQUIRE(node.del(chained(device), "")); }
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("behind another plugin in shared mode nothing moves, and DEL leaves its netdev alone") {
  ChainedNode node;
  node.world.rdma_mode = RdmaNetnsMode::shared;
  node.other_plugin_moves();
  const std::string before = node.world.snapshot();
  REQUIRE(node.add(chained(kDevice)));
  CHECK(node.world.snapshot() == before);
  REQUIRE(node.del(chained(kDevice)));
  REQUIRE(node.del(chained(kDevice)));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("the kernel returns the RDMA device of a chained entry when the namespace ends") {
  ChainedNode node;
  node.other_plugin_moves();
  REQUIRE(node.add(chained(kDevice)));
  node.world.end_netns(kPod);
  REQUIRE(node.del(chained(kDevice), ""));
  CHECK(node.has("netns 1 rdma mlx5_0 "));
  CHECK(node.has("netns 1 link net1 "));  // its old name is for the plugin that moved it
  CHECK(node.no_state());
}

TEST_CASE("a chained entry that names another device than the pod's interface has is refused") {
  ChainedNode node;
  node.other_plugin_moves("vf1");
  const std::string before = node.world.snapshot();
  const auto added = node.add(chained(kDevice));
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text, Contains("0000:21:10.2") && Contains("0000:21:10.0"));
  CHECK(node.world.snapshot() == before);
}

TEST_CASE("a chained entry with keys of the interface is refused") {
  const std::string keys = GENERATE(as<std::string>(), R"("mtu":1500,)", R"("ipam":{"type":"host-local"},)",
                                    R"("mac":"02:00:00:00:00:01",)");
  ChainedNode node;
  node.other_plugin_moves();
  const auto added = node.add(chained(kDevice + keys));
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text, Contains("an earlier entry of this chain"));
}

TEST_CASE("an interface that is not in the previous result is refused as in an unchained ADD") {
  ChainedNode node;
  node.other_plugin_moves();
  const auto added =
      node.add(chained(kDevice, R"({"interfaces":[{"name":"eth0","sandbox":"/run/netns/a"}]})"));
  REQUIRE_FALSE(added);
}

TEST_CASE("of two entries of vfrail the first attaches everything, and either DEL detaches it") {
  ChainedNode node;
  const std::string before = node.world.snapshot();
  const auto first = node.add(kFirst);
  REQUIRE(first);
  const std::string during = node.world.snapshot();
  const std::string second = chained(kDevice, format_result(*first).text());
  const auto passed = node.add(second);
  REQUIRE(passed);
  CHECK(format_result(*passed) == format_result(*first));
  CHECK(node.world.snapshot() == during);
  REQUIRE(node.del(second));
  CHECK(node.world.snapshot() == before);
  REQUIRE(node.del(kFirst));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("a chained ADD in which any kernel call fails leaves the other plugin's work unchanged",
          "[sweep]") {
  int points = 0;
  for (const auto when : {FakeWorld::When::before, FakeWorld::When::after}) {
    for (int call = 1;; ++call) {
      ChainedNode node;
      node.other_plugin_moves();
      const std::string before = node.world.snapshot();
      node.world.forget_faults();
      node.world.fail_call(call, EIO, when);
      const auto added = node.add(chained(R"("rdmaName":"rdma0",)"));
      if (node.world.calls() < call) break;
      ++points;
      INFO("call " << call << " (" << node.world.log()[static_cast<size_t>(call) - 1] << ")");
      node.world.forget_faults();
      if (added) REQUIRE(node.del(chained("")));
      REQUIRE(node.world.snapshot() == before);
      REQUIRE(node.no_state());
    }
  }
  CHECK(points > 10);
}

TEST_CASE("keys of the second of two entries of vfrail, which would have no effect, are refused") {
  const std::string key =
      GENERATE(as<std::string>(), R"("mtu":1400)", R"("ipam":{"type":"host-local"})", R"("vlan":5)",
               R"("sysctl":{"net.ipv4.conf.IFNAME.arp_notify":"1"})", R"("promisc":true)",
               R"("rdmaName":"rdma0")", R"("nccl":{"NCCL_IB_TC":"106"})");
  CAPTURE(key);
  ChainedNode node;
  const auto first = node.add(kFirst);
  REQUIRE(first);
  const std::string during = node.world.snapshot();
  const auto second = node.add(chained(kDevice + key + ",", format_result(*first).text()));
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().text, Contains("by an earlier entry of this chain"));
  CHECK(second.error().id_text() == "VF-CHAIN-CONFLICT");
  CHECK(node.world.snapshot() == during);
}

TEST_CASE("an entry of type rdma behind one of vfrail that leaves the RDMA device in the host is refused") {
  const std::string key = GENERATE(as<std::string>(), R"("rdmaIsolation":false)", R"("rdma":"off")");
  CAPTURE(key);
  ChainedNode node;
  const auto first = node.add(R"({"cniVersion":"1.0.0","name":"n","type":"ib-sriov",)" + key +
                              R"(,"deviceID":"0000:21:10.0"})");
  REQUIRE(first);
  const std::string during = node.world.snapshot();
  const auto second = node.add(chained(kDevice, format_result(*first).text()));
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().text, Contains("leaves the RDMA device in the host"));
  CHECK(second.error().id_text() == "VF-CHAIN-CONFLICT");
  CHECK(node.world.snapshot() == during);
  const auto both = node.add(chained(kDevice + key + ",", format_result(*first).text()));
  INFO((both ? "" : both.error().text));
  CHECK(both);
}

TEST_CASE("what both entries of vfrail have, and what a pod's annotation adds to each, is accepted") {
  ChainedNode node;
  const std::string both = R"("rdmaName":"rdma0","nccl":{"NCCL_IB_TC":"106"},"args":{"cni":{"mtu":1400}},)";
  const auto first = node.add(R"({"cniVersion":"1.0.0","name":"n","type":"sriov",)" + both +
                              R"("deviceID":"0000:21:10.0"})");
  REQUIRE(first);
  const auto second = node.add(chained(kDevice + both, format_result(*first).text()));
  INFO((second ? "" : second.error().text));
  CHECK(second);
}

TEST_CASE(
    "an entry of type rdma without a previous result is refused, as by rdma-cni, and its DEL succeeds") {
  ChainedNode node;
  const std::string before = node.world.snapshot();
  const std::string config = R"({"cniVersion":"1.0.0","name":"n","type":"rdma","deviceID":"0000:21:10.0"})";
  const auto added = node.add(config);
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text, Contains("prevResult is missing"));
  CHECK(node.world.snapshot() == before);
  CHECK(node.del(config));
  CHECK(node.no_state());
}

TEST_CASE("type rdma requires an RDMA device, as rdma-cni does, unless the network says otherwise") {
  FakeNode node;
  node.world.add_vf("0000:21:10.0", "vf0");
  node.world.add_netns(kPod);
  const auto pod = node.world.open(2);
  REQUIRE(node.world.open(FakeWorld::kHost)
              ->change_link(node.world.link("vf0").index,
                            {.netns_fd = pod->netns_fd(), .name = "net1", .up = true}));
  const auto added = node.add(chained(kDevice));
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text, Contains("type: rdma, but 0000:21:10.0 has no RDMA device"));
  CHECK(node.no_state());
  CHECK(node.add(chained(kDevice + R"("rdma":"auto",)")));
}

}  // namespace vfrail::test
