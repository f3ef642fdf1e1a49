#include "tests/support/fake_kernel.h"
#include "tests/support/kernel_contract.h"
#include "tests/support/temp_dir.h"

#include <catch2/catch.hpp>

namespace vfrail::test {

TEST_CASE("the fake kernel keeps the contract") {
  const bool names_by_netns = GENERATE(false, true);
  CAPTURE(names_by_netns);
  for (const RdmaNetnsMode mode : {RdmaNetnsMode::exclusive, RdmaNetnsMode::shared}) {
    TempDir dir;
    FakeWorld world(dir.path());
    world.rdma_mode = mode;
    world.rdma_names_by_netns = names_by_netns;
    world.add_pf("0000:21:00.0", "enp1s0f0");
    world.add_vf("0000:21:10.0", "enp1s0f0v0", "0000:21:00.0");
    world.add_rdma("0000:21:10.0", "mlx5_0");
    world.rdma("mlx5_0").counters = {{"sent_pkts", 7}};
    world.add_vf("0000:21:10.2", "enp1s0f0v1");
    world.add_rdma("0000:21:10.2", "mlx5_1");
    world.add_veth(FakeWorld::kHost, "lo");
    const int pod = world.add_netns("/run/netns/pod");
    world.add_veth(pod, "lo");
    const auto host_kernel = world.open(FakeWorld::kHost);
    const auto pod_kernel = world.open(pod);
    check_kernel_contract({*host_kernel, *pod_kernel, "enp1s0f0v0", "mlx5_0",
                           [&](const std::string& name) { world.add_veth(pod, name); },
                           [&](const std::string& name) {
                             world.attach_program(FakeWorld::kHost, name, "XDP program (generic)");
                           },
                           UpperOffsets{}, "enp1s0f0", 0});
  }
}

}  // namespace vfrail::test
