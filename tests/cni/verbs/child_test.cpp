// Interfaces of pods upon one of the host, where the kernel treats IPoIB's differently from the others
// (cni/verbs/child.h).
#include "tests/cni/fake_node.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kConfig =
    R"({"cniVersion":"1.0.0","name":"ib","type":"vfrail","mode":"ipoib","master":"ib0","pkey":"0x8001"})";

struct IpoibNode : FakeNode {
  IpoibNode() {
    world.rdma_mode = RdmaNetnsMode::shared;
    world.add_pf("0000:21:00.0", "ib9");
    world.add_ib_vf(kFirstVf, "ib0", "0000:21:00.0");
    world.add_rdma(kFirstVf, "mlx5_0");
    world.add_netns(kPod);
    world.add_netns("/run/netns/other");
  }
  // The next interface of the pod has the index of the host's.
  void reach_index_of_master() {
    const auto pod = world.open(*world.netns_at(kPod));
    for (int i = 0;; ++i) {
      REQUIRE(i < 100);
      const std::string name = "d" + std::to_string(i);
      world.add_veth(*world.netns_at(kPod), name);
      const int index = (*pod->find_link(*IfName::parse(name)))->index;
      if (index + 1 == world.link("ib0").index) return;
    }
  }
  Link in_pod(const std::string& pod = kPod) {
    const auto link = world.open(*world.netns_at(pod))->find_link("net1");
    REQUIRE(link);
    REQUIRE(*link);
    return **link;
  }
  std::string in_host() {
    const auto links = world.open(FakeWorld::kHost)->links();
    REQUIRE(links);
    std::string out;
    for (const Link& link : *links) out += link.name + " " + link.mac.text() + "\n";
    return out;
  }
};

}  // namespace

TEST_CASE(
    "an IPoIB interface with the index of the host's, of which the kernel reports no lower one, is removed") {
  IpoibNode node;
  node.reach_index_of_master();
  const std::string pod_before = node.world.snapshot();
  REQUIRE(node.add(kConfig));
  REQUIRE(node.in_pod().index == node.world.link("ib0").index);
  REQUIRE(node.in_pod().lower == 0);
  REQUIRE(node.del(kConfig));
  CHECK(node.world.snapshot() == pod_before);
}

TEST_CASE("an IPoIB interface that the end of the pod's namespace has moved to the host is removed there") {
  IpoibNode node;
  // The administrator's own, and one of a pod that runs: neither is touched.
  const auto host = node.world.open(FakeWorld::kHost);
  REQUIRE(host->add_link(
      {.name = *IfName::parse("net1"), .kind = "ipoib", .lower = node.world.link("ib0").index}));
  const std::string before = node.in_host();
  node.container = "c2";
  REQUIRE(node.add(kConfig, "/run/netns/other"));
  const Link of_other = node.in_pod("/run/netns/other");
  node.container = "c1";
  REQUIRE(node.add(kConfig));
  SECTION("at once") {
    node.world.end_netns(kPod);
    CHECK(node.in_host() != before);
    REQUIRE(node.del(kConfig));
  }
  SECTION("while DEL waits for it") {
    node.return_timeout = std::chrono::seconds(10);
    node.paths_gone = true;
    node.world.while_waiting = [&] { node.world.end_netns(kPod); };
    REQUIRE(node.del(kConfig));
    node.world.while_waiting = nullptr;
    node.paths_gone = false;
  }
  SECTION("on a kernel that deletes it") {
    node.world.ipoib_children_return = false;
    node.world.end_netns(kPod);
    REQUIRE(node.del(kConfig));
  }
  CHECK(node.in_host() == before);
  CHECK(node.in_pod("/run/netns/other") == of_other);
  node.container = "c2";
  REQUIRE(node.del(kConfig, "/run/netns/other"));
  CHECK(node.no_state());
}

TEST_CASE("of a record without the address, which an older version wrote, what the pod has got says it") {
  IpoibNode node;
  const std::string before = node.in_host();
  REQUIRE(node.add(kConfig));
  node.process([](World& world) {
    auto record = world.store.load({"c1", IfName("net1")});
    REQUIRE(record);
    REQUIRE(*record);
    (*record)->pod_mac = {};
    REQUIRE(world.store.save(**record));
    return 0;
  });
  node.world.end_netns(kPod);
  REQUIRE(node.del(kConfig));
  CHECK(node.in_host() == before);
  CHECK(node.no_state());
}

}  // namespace vfrail::test
