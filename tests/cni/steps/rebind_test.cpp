// Rebinds of the driver and the numbers of the device nodes, on the fake kernel: each bind takes the lowest
// free ones.
#include "cni/baseline/baseline_store.h"
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

namespace {

constexpr const char* kReset =
    R"({"cniVersion":"1.0.0","name":"net","type":"vfrail","deviceID":"0000:21:10.0","reset":true})";

struct ResetNode : TwoVfs {
  std::vector<std::string> unclean() {
    const auto store = RecordStore::open(dir.path("state"), dir.path("locks"));
    REQUIRE(store);
    const auto file = BaselineStore(*store).load_unclean(kFirstVf);
    REQUIRE(file);
    return *file ? (*file)->reasons : std::vector<std::string>();
  }
};

}  // namespace

TEST_CASE("with reset a function is reset once, when its pod has ended, and is then as it was before") {
  ResetNode node;
  const std::string before = node.world.snapshot();
  REQUIRE(node.add(kReset));
  CHECK(node.resets.empty());
  REQUIRE(node.del(kReset));
  CHECK(node.resets == std::vector<std::string>{kFirstVf});
  CHECK(node.unclean().empty());
  CHECK(node.no_state());
  CHECK(node.has("vf0"));
  REQUIRE(node.add(kReset));
  REQUIRE(node.del(kReset));
  CHECK(node.resets.size() == 2);
}

TEST_CASE("a device that the kernel cannot reset alone is a warning of ADD and no error of DEL") {
  ResetNode node;
  node.world.has_flr = false;
  node.world.add_veth(FakeWorld::kHost, "any");  // writes sysfs
  REQUIRE(node.add(kReset));
  REQUIRE(node.del(kReset));
  CHECK(node.resets.empty());
  CHECK(node.unclean().empty());
}

TEST_CASE("a device that could not be reset is unclean until a later try has done it") {
  ResetNode node;
  REQUIRE(node.add(kReset));
  node.reset_failure = "write reset: EIO";
  REQUIRE(node.del(kReset));
  REQUIRE(node.unclean().size() == 1);
  CHECK(node.unclean()[0] == "it could not be reset: write reset: EIO");
  CHECK_FALSE(node.add(kReset));
  CHECK(node.unclean().size() == 1);
  node.reset_failure.clear();
  REQUIRE(node.add(kReset));
  CHECK(node.resets.size() == 3);
  CHECK(node.unclean().empty());
}

TEST_CASE("a function that VFIO has by then is not reset: VFIO does it") {
  ResetNode node;
  REQUIRE(node.add(kReset));
  node.world.give_to_vfio(kFirstVf);
  REQUIRE(node.del(kReset));
  CHECK(node.resets.empty());
}

}  // namespace vfrail::test
