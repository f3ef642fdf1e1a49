// cni/in_pod: NCCL's settings and choice. The tables of GIDs are those that were seen in pods, and the
// choices those that NCCL's own code made of them.
#include "cni/in_pod/facts/nccl_choice.h"
#include "cni/in_pod/pod_report.h"
#include "tests/cni/in_pod/pod_tree.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;

namespace {

Gid gid(uint32_t index, const char* address, int version) {
  const auto parsed = IpAddress::parse(address);
  REQUIRE(parsed);
  return {index, *parsed, version, "net1"};
}

uint32_t chosen(std::vector<Gid> gids, const PodEnvironment& environment = {}) {
  RailPort port;
  port.link_layer = "Ethernet";
  port.gids = std::move(gids);
  NcclSettings settings;
  for (const auto& [name, text] : environment) settings.add(name, {text, "the environment"});
  return choose_gid_index(port, settings);
}

const char* const kDefault = "fe80::ff:fe00:1";

}  // namespace

TEST_CASE("NCCL's search finds the entry of RoCE v2 of the first IPv4 address") {
  CHECK(chosen({gid(0, kDefault, 2), gid(1, "::ffff:10.0.0.2", 2)}) == 1);
  CHECK(chosen({gid(0, kDefault, 2), gid(1, "fd00::8", 2), gid(2, "::ffff:10.0.0.2", 2)}) == 2);
  CHECK(chosen({gid(0, kDefault, 2), gid(1, "fe80::99", 2), gid(2, "::ffff:10.0.0.2", 2)}) == 2);
  CHECK(chosen({gid(0, kDefault, 1), gid(1, kDefault, 2), gid(2, "::ffff:10.0.0.2", 1),
                gid(3, "::ffff:10.0.0.2", 2)}) == 3);
  CHECK(chosen({gid(0, kDefault, 2), gid(1, "::ffff:10.0.0.2", 2), gid(2, "::ffff:10.1.0.2", 2)}) == 1);
}

TEST_CASE("variables change NCCL's search") {
  const std::vector<Gid> two = {gid(0, kDefault, 2), gid(1, "::ffff:10.0.0.2", 2),
                                gid(2, "::ffff:10.1.0.2", 2)};
  CHECK(chosen(two, {{"NCCL_IB_ADDR_RANGE", "10.1.0.0/24"}}) == 2);
  CHECK(chosen(two, {{"NCCL_IB_GID_INDEX", "7"}}) == 7);
  CHECK(chosen(two, {{"NCCL_IB_GID_INDEX", ""}}) == 1);
  const std::vector<Gid> v6 = {gid(0, kDefault, 2), gid(1, "fd00::8", 2)};
  CHECK(chosen(v6) == 0);
  CHECK(chosen(v6, {{"NCCL_IB_ADDR_FAMILY", "AF_INET6"}}) == 1);
}

TEST_CASE("NCCL goes by the link layer, and leaves out a port of another than InfiniBand and Ethernet") {
  PodTree tree;
  tree.add(std::string(test::kFirstPort) + "link_layer = Unknown\n");
  const CheckedPod pod = tree.read();
  REQUIRE(pod.rails);
  const auto chosen = choose_rails(*pod.rails, NcclSettings());
  REQUIRE(chosen.size() == 1);
  CHECK(chosen[0].rail.name == "mlx5_6");
}

TEST_CASE("names are prefixes unless '=' is before them, and '^' excludes") {
  CHECK(NcclNames("").takes("mlx5_2", 1));
  CHECK(NcclNames("mlx5_1").takes("mlx5_10", 1));
  CHECK_FALSE(NcclNames("=mlx5_1").takes("mlx5_10", 1));
  CHECK(NcclNames("=mlx5_1:1,mlx5_2:2").takes("mlx5_2", 2));
  CHECK_FALSE(NcclNames("=mlx5_1:1,mlx5_2:2").takes("mlx5_2", 1));
  CHECK_FALSE(NcclNames("^docker,lo").takes("docker0"));
  CHECK(NcclNames("^docker,lo").takes("eth0"));
  CHECK(NcclNames("^=eth0").takes("eth01"));
}

TEST_CASE("sockets go over the first interface by index, or over one whose name begins with ib") {
  PodNetwork network = test::good_network();
  CHECK(choose_socket_interface(network, {}) == "eth0");
  network.links[1].index = 9;
  std::swap(network.links[1], network.links[2]);
  CHECK(choose_socket_interface(network, {}) == "net1");
  network.links[3].name = "ib0";
  CHECK(choose_socket_interface(network, {}) == "ib0");
  NcclSettings settings;
  settings.add("NCCL_SOCKET_IFNAME", {"=eth9", "the environment"});
  CHECK_FALSE(choose_socket_interface(network, settings));
}

TEST_CASE("the environment comes before the user's file, and that before /etc/nccl.conf") {
  PodTree tree;
  tree.write("etc/nccl.conf",
             "# vfrail: net1 net2\nNCCL_IB_HCA==mlx5_2:1\nNCCL_CROSS_NIC=0\n#NCCL_DEBUG=INFO\n");
  tree.write("root/.nccl.conf", "NCCL_IB_HCA=home\nNCCL_IB_TC=106\nNCCL_IB_SL\n");
  tree.write("opt/own.conf", "NCCL_IB_HCA=own\n");
  const auto home = read_nccl_settings(tree.sys(), {{"NCCL_CROSS_NIC", ""}});
  REQUIRE(home);
  CHECK(home->with_source("NCCL_IB_HCA") == "NCCL_IB_HCA=home from /root/.nccl.conf");
  CHECK(home->find("NCCL_CROSS_NIC")->source == "the environment");
  CHECK(home->text("NCCL_IB_TC") == "106");
  CHECK(home->find("NCCL_DEBUG") == nullptr);
  CHECK(home->find("NCCL_IB_SL") == nullptr);
  const auto own = read_nccl_settings(tree.sys(), {{"NCCL_CONF_FILE", "/opt/own.conf"}});
  REQUIRE(own);
  CHECK(own->text("NCCL_IB_HCA") == "own");
  CHECK(own->find("NCCL_IB_TC") == nullptr);  // ~/.nccl.conf is not read then
  CHECK(own->with_source("NCCL_CROSS_NIC") == "NCCL_CROSS_NIC=0 from /etc/nccl.conf (vfrail: net1 net2)");
  tree.remove("root/.nccl.conf");
  CHECK(read_nccl_settings(tree.sys(), {})->text("NCCL_IB_HCA") == "=mlx5_2:1");
}

TEST_CASE(
    "white space at the end of a file is part of its last value, and the case of NCCL_NET does not count") {
  PodTree tree;
  tree.write("etc/nccl.conf", "NCCL_NET=socket\nNCCL_SOCKET_IFNAME=eth0 ");
  CHECK(read_nccl_settings(tree.sys(), {})->text("NCCL_SOCKET_IFNAME") == "eth0 ");
  bool refused = false;
  for (const CheckReport& report : check_pod(tree.read())) {
    for (const CheckResult& result : report.results)
      refused |= result.finding == Finding::fault && result.text.starts_with("NCCL_NET=socket");
  }
  CHECK(refused);
}

TEST_CASE("a device without a node, or a port that is not ACTIVE, is no choice of NCCL") {
  PodTree tree;
  tree.remove("dev/infiniband/uverbs6");
  const auto rails = read_rails(tree.sys());
  REQUIRE(rails);
  REQUIRE(rails->size() == 2);
  const auto one = choose_rails(*rails, {});
  REQUIRE(one.size() == 1);
  CHECK(one[0].name() == "mlx5_2:1");
  CHECK(one[0].gid_index == 3);
  tree.add(std::string(test::kFirstPort) + "state = 2: INIT\n");
  CHECK(choose_rails(*read_rails(tree.sys()), {}).empty());
  CHECK(expected_line({}) == "NET/IB : No device found.");
}
