#include "cni/node/find_link.h"

#include "tests/cni/fake_node.h"

namespace vfrail::test {
namespace {

constexpr const char* kConfig =
    R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})";

// Nothing says which device is below an interface: a kernel before 5.14, with a driver that does not say it.
struct OldKernel : TwoVfs {
  OldKernel() {
    world.reports_parents = false;
    world.add_loopback(*world.netns_at(kPod));
    REQUIRE(add(kConfig));
  }
  int pod() const { return *world.netns_at(kPod); }
};

}  // namespace

TEST_CASE("A device that has ended in the pod is not taken for the pod's loopback interface") {
  OldKernel node;
  node.world.destroy_vf(kFirstVf);
  CHECK(node.del(kConfig));
  const auto lo = node.world.open(node.pod())->find_link("lo");
  REQUIRE((lo && *lo));
  CHECK((*lo)->type == 772);
  CHECK(node.no_state());
}

TEST_CASE("A device that has ended in the pod is not taken for another device there") {
  OldKernel node;
  node.world.move(FakeWorld::kHost, "vf1", node.pod());
  node.world.destroy_vf(kFirstVf);
  CHECK(node.del(kConfig));
  CHECK((*node.world.open(node.pod())->find_link("vf1")).has_value());
}

TEST_CASE("A device that the pod has renamed is found where nothing says which device is below it") {
  OldKernel node;
  const auto kernel = node.world.open(node.pod());
  const auto link = *kernel->find_link("net1");
  REQUIRE(link);
  REQUIRE(kernel->change_link(link->index, {.name = "other", .mac = MacAddress{{2, 0, 0, 0, 0, 0x77}}}));
  CHECK(node.del(kConfig));
  CHECK((*node.world.open(FakeWorld::kHost)->find_link("vf0")).has_value());
  CHECK(node.no_state());
}

}  // namespace vfrail::test
