// cni/plan/pod_files.h: what the files of a pod say.
#include "cni/plan/pod_files.h"

#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

// A rail with the facts that a mlx5 VF has.
DescribedAttachment rail(const std::string& ifname, const std::string& pci, const std::string& rdma) {
  DescribedAttachment out;
  out.record.attachment = {"c1", *IfName::parse(ifname)};
  out.record.network = "rail-" + ifname;
  out.record.device_key = pci;
  out.record.device = *DeviceId::parse(pci);
  out.record.cni_args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
  out.record.in_pod = InPod{.mac = *MacAddress::parse("02:00:00:00:00:01"),
                            .mtu = 9000,
                            .addresses = {*IpAddress::parse_cidr("10.0.0.2/24")},
                            .rdma = rdma,
                            .uverbs = "uverbs2",
                            .link_layer = "Ethernet",
                            .gid_index = 3,
                            .pf = *PciAddress::parse("0000:03:00.0"),
                            .numa_node = 0,
                            .default_interface = "eth0"};
  return out;
}

// A device without RDMA, on no PF that is known.
DescribedAttachment plain(const std::string& ifname, const std::string& pci) {
  DescribedAttachment out = rail(ifname, pci, "");
  InPod& in_pod = *out.record.in_pod;
  in_pod = InPod{.mac = in_pod.mac, .mtu = 1500};
  return out;
}

void has_form(const PodFiles& files) {
  CHECK(test::schema_violation(test::source_text("cni/plan/pod_schema.json"), files.pod_json).empty());
}

}  // namespace

TEST_CASE("the rails of a pod are in PCI order, whatever the order of its networks is") {
  const PodFiles files =
      make_pod_files("c1", {rail("net1", "0000:85:00.2", "mlx5_6"), rail("net2", "0000:03:00.2", "mlx5_2")});
  CHECK(files.nccl_conf ==
        "# vfrail: net2 net1\n"
        "NCCL_IB_HCA==mlx5_2:1,mlx5_6:1\n"
        "NCCL_IB_GID_INDEX=3\n"
        "NCCL_SOCKET_IFNAME==eth0\n");
  CHECK(files.ucx_conf == "# vfrail: net2 net1\nUCX_NET_DEVICES=mlx5_2:1,mlx5_6:1\n");
  CHECK(files.conflicts.empty());
  has_form(files);
}

TEST_CASE("a GID index is given only if all rails have the same, on RoCE") {
  auto first = rail("net1", "0000:03:00.2", "mlx5_2");
  auto second = rail("net2", "0000:85:00.2", "mlx5_6");
  std::string line;
  SECTION("an interface without RDMA does not count") {
    second = plain("net2", "0000:85:00.2");
    line = "NCCL_IB_GID_INDEX=3\n";
  }
  SECTION("another index") { second.record.in_pod->gid_index = 5; }
  SECTION("none") { second.record.in_pod->gid_index.reset(); }
  SECTION("InfiniBand") { second.record.in_pod->link_layer = "InfiniBand"; }
  const std::string text = make_pod_files("c1", {first, second}).nccl_conf;
  CHECK_THAT(text, Contains("NCCL_IB_HCA="));
  CHECK((text.find("NCCL_IB_GID_INDEX") != std::string::npos) == !line.empty());
  CHECK_THAT(text, Contains(line));
}

TEST_CASE("the interface of the pod's default route is for sockets, unless it is a rail") {
  auto first = rail("net1", "0000:03:00.2", "mlx5_2");
  auto second = rail("net2", "0000:85:00.2", "mlx5_6");
  SECTION("a rail") {
    first.record.in_pod->default_interface = second.record.in_pod->default_interface = "net2";
  }
  SECTION("none") {
    first.record.in_pod->default_interface.clear();
    second.record.in_pod->default_interface.clear();
  }
  CHECK_THAT(make_pod_files("c1", {first, second}).nccl_conf, !Contains("IFNAME"));
}

TEST_CASE("variables of the networks are passed on as they are, and replace ours") {
  auto first = rail("net1", "0000:03:00.2", "mlx5_2");
  auto second = rail("net2", "0000:85:00.2", "mlx5_6");
  first.nccl = {{"NCCL_IB_TC", "106 "}, {"NCCL_IB_GID_INDEX", "1"}};
  second.nccl = {{"NCCL_IB_TC", "104"}, {"NCCL_IB_GID_INDEX", "1"}, {"NCCL_IB_SL", "3"}};
  const PodFiles files = make_pod_files("c1", {second, first});
  CHECK(files.nccl_conf ==
        "# vfrail: net1 net2\n"
        "NCCL_IB_HCA==mlx5_2:1,mlx5_6:1\n"
        "NCCL_SOCKET_IFNAME==eth0\n"
        "NCCL_IB_TC=106 \n"
        "NCCL_IB_GID_INDEX=1\n"
        "NCCL_IB_SL=3\n");
  REQUIRE(files.conflicts.size() == 1);
  CHECK(files.conflicts[0] ==
        "NCCL_IB_TC is 106  in an earlier network of the pod, 104 in rail-net2 is not used");
}

TEST_CASE("pod.json has every fact, and null for what is not there") {
  const PodFiles files =
      make_pod_files("c1", {rail("net1", "0000:03:00.2", "mlx5_2"), plain("net2", "0000:85:00.2")});
  has_form(files);
  const Json json = *Json::parse(files.pod_json);
  CHECK(json == *Json::parse(R"({"version":1,"container":"c1","pod":{"namespace":"team","name":"train-0"},
      "interfaces":[{"name":"net1","network":"rail-net1","device":"0000:03:00.2","pf":"0000:03:00.0",
      "rdma":"mlx5_2","uverbs":"uverbs2","link_layer":"Ethernet","mac":"02:00:00:00:00:01","mtu":9000,
      "addresses":["10.0.0.2/24"],"gid_index":3,"numa_node":0},
      {"name":"net2","network":"rail-net2","device":"0000:85:00.2","pf":null,"rdma":null,"uverbs":null,
      "link_layer":null,"mac":"02:00:00:00:00:01","mtu":1500,"addresses":[],"gid_index":null,
      "numa_node":null}]})"));
}

TEST_CASE("a pod that the runtime did not name has none in pod.json") {
  auto one = rail("net1", "0000:03:00.2", "mlx5_2");
  one.record.cni_args = "IgnoreUnknown=1";
  const PodFiles files = make_pod_files("c1", {one});
  has_form(files);
  CHECK(Json::parse(files.pod_json)->find("pod") == nullptr);
}

}  // namespace vfrail
