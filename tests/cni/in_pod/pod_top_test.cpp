// vfrail-check --top: what it reads, and how it is called.
#include "cni/in_pod/pod_top.h"

#include "common/json.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/support/shell.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;
using test::run_in_shell;

TEST_CASE("the counters of the pod's own rails and of their interfaces are read") {
  PodTree tree;
  tree.add("sys/devices/pci0000:16/0000:16:01.0/0000:17:00.1/net/net1/statistics/rx_bytes = 7\n");
  const CheckedPod pod = tree.read();
  auto rails = pod.own_rails();
  const Reading reading = read_rail_traffic(tree.sys(), rails);
  REQUIRE(reading.devices.size() == 2);
  const DeviceReading& one = reading.devices[0];
  CHECK(one.id == "mlx5_2");
  CHECK(one.names == "net1");
  CHECK(one.speed_mbps == 100'000U);
  CHECK(one.counts[static_cast<size_t>(Count::rdma_tx_bytes)] == 4000U);
  CHECK(one.counts[static_cast<size_t>(Count::net_rx_bytes)] == 7U);
  CHECK(!reading.devices[1].counts[static_cast<size_t>(Count::net_rx_bytes)]);
  // A device that has gone while it was watched.
  tree.remove("sys/class/infiniband/mlx5_2");
  CHECK(read_rail_traffic(tree.sys(), rails).devices.size() == 1);
}

TEST_CASE("with --top there is a line for each rail, or JSON, and it says what it cannot do") {
  PodTree tree;
  const std::string program = "vfrail-check --root " + tree.root() + " --top ";
  const auto lines = run_in_shell(program + "--once -i 0.1");
  CHECK(lines.status == 0);
  CHECK(
      lines.output.find(" mlx5_2 rdma_tx_bytes=0 rdma_tx_packets=0 retransmissions=0 out_of_sequence=0\n") !=
      std::string::npos);
  CHECK(lines.output.find("no device had traffic") != std::string::npos);
  const auto json = Json::parse(run_in_shell(program + "-n 1 -i 0.1 -o json").output);
  REQUIRE(json);
  CHECK(json->find("traffic")->as_array()->size() == 2);
  for (const char* wrong : {"-i 0", "-i x", "-i nan", "-n 0", "-n x", "--listen"}) {
    INFO(wrong);
    CHECK(run_in_shell(program + wrong).status == 2);
  }
  CHECK(run_in_shell("vfrail-check --once").status == 2);
  tree.remove("dev/infiniband");
  CHECK(run_in_shell(program + "--once").status == 1);
}
