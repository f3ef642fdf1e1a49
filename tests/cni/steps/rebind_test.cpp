// Rebinds of the driver and the numbers of the device nodes, on the fake kernel: each bind takes the lowest
// free ones.
#include "cni/steps/rebind_step.h"
#include "common/container/allocated_nodes.h"
#include "common/errors/error_id.h"
#include "tests/cni/fake_node.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kGuid =
    R"({"cniVersion":"1.0.0","name":"ib","type":"vfrail","deviceID":"0000:21:10.2",)"
    R"("guid":"00:11:22:33:44:55:66:77"})";

// Two InfiniBand VFs, whose nodes have the numbers 0 and 1; pods get the second.
struct InfiniBandNode : FakeNode {
  InfiniBandNode() {
    world.add_pf("0000:21:00.0", "enp1s0f0");
    world.add_ib_vf(kFirstVf, "ib0", "0000:21:00.0");
    world.add_ib_vf(kSecondVf, "ib1", "0000:21:00.0");
    world.add_rdma(kFirstVf, "mlx5_0");
    world.add_rdma(kSecondVf, "mlx5_1");
    world.add_veth(world.add_netns(kPod), "eth0");
  }
  void allocate(const std::vector<std::string>& nodes) const {
    REQUIRE(write_allocated_nodes(dir.path("run"), *DeviceId::parse(kSecondVf), {nodes, ""}));
  }
  bool others_can_move() const {
    const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
    REQUIRE(store);
    return store->lock_rdma(std::chrono::milliseconds{0}).ok();
  }
};

}  // namespace

TEST_CASE("no other pod's RDMA device moves or is rebound while a driver is") {
  InfiniBandNode node;
  std::vector<bool> could_move;
  node.after_rebind = [&] { could_move.push_back(node.others_can_move()); };
  const auto added = node.add(kGuid);
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(node.others_can_move());
  REQUIRE(node.del(kGuid));
  CHECK(could_move == std::vector<bool>{false, false});
  CHECK(node.others_can_move());
}

TEST_CASE("a rebind waits for its turn, and takes place although the turn does not come") {
  InfiniBandNode node;
  const auto store = RecordStore::open(node.dir.path("state"), node.dir.path("locks"));
  REQUIRE(store);
  node.world.rdma_mode = RdmaNetnsMode::shared;
  const auto held = store->lock_rdma(std::chrono::milliseconds{0});
  REQUIRE(held);
  const auto added = node.add(kGuid);
  INFO((added ? "" : added.error().text));
  REQUIRE(added);
  CHECK(node.del(kGuid));
}

TEST_CASE("a device that is bound anew under another name gets its own again, in the same turn") {
  InfiniBandNode node;
  const bool shared = GENERATE(true, false);
  if (shared) node.world.rdma_mode = RdmaNetnsMode::shared;
  const auto names_in = [](Kernel& kernel) {
    std::vector<std::string> out;
    const auto devices = kernel.rdma_devices();
    for (const RdmaDevice& device : *devices) out.push_back(device.name);
    std::sort(out.begin(), out.end());
    return out;
  };
  using Names = std::vector<std::string>;
  const auto host = node.world.open(FakeWorld::kHost);
  const auto pod = *node.world.open_path(kPod);
  // As Linux 7 does it where mlx5_2 to mlx5_8 are with pods, which the names in the host do not show.
  node.after_rebind = [&] {
    const auto devices = host->rdma_devices();
    for (const RdmaDevice& device : *devices) {
      if (device.name == "mlx5_1") REQUIRE(host->rename_rdma_device(device.index, "mlx5_9"));
    }
  };
  REQUIRE(node.add(kGuid));
  CHECK(names_in(*host) == (shared ? Names{"mlx5_0", "mlx5_1"} : Names{"mlx5_0"}));
  if (!shared) CHECK(names_in(*pod) == Names{"mlx5_1"});
  REQUIRE(node.del(kGuid));
  CHECK(names_in(*host) == Names{"mlx5_0", "mlx5_1"});
}

TEST_CASE("a pod whose device has other nodes after the rebind than its container was allocated is refused") {
  InfiniBandNode node;
  const bool shared = GENERATE(true, false);
  const bool by_vfrail = GENERATE(true, false);  // another device plugin leaves no file
  if (shared) node.world.rdma_mode = RdmaNetnsMode::shared;
  if (by_vfrail) node.allocate({"umad1", "uverbs1"});
  SECTION("a lower number has come free") {
    node.world.destroy_vf(kFirstVf);
    const auto refused = node.add(kGuid);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().id() == ErrorId::rdma_nodes_changed);
    CHECK_THAT(refused.error().text, Catch::Contains("umad0, uverbs0") && Catch::Contains("umad1, uverbs1"));
    CHECK(node.no_state());
  }
  SECTION("it has its own again") { CHECK(node.add(kGuid)); }
}

}  // namespace vfrail::test
