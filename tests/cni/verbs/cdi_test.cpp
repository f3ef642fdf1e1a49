// An ADD of a device whose container gets its nodes by CDI, on nodes whose runtime has CDI, has none, or does
// not say.
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/errors/error_id.h"
#include "tests/cni/fake_node.h"

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kConf =
    R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0"})";

struct CdiNode : TwoVfs {
  // As Allocate does it.
  void allocate_by_cdi() const {
    const std::string path = dir.path("vfrail-spec.json");
    const CdiSpec spec{"nvidia.com/net-pci",
                       "0000:21:10.0",
                       {.nodes = {{"/dev/infiniband/uverbs0", "/dev/infiniband/uverbs0", "rw"}}}};
    REQUIRE(write_cdi_spec(path, path + ".new", spec));
    REQUIRE(write_allocated_nodes(dir.path("run"), *DeviceId::parse("0000:21:10.0"), {{"uverbs0"}, path}));
  }
  void configure_containerd(const char* config) const {
    std::filesystem::create_directories(dir.path("root/etc/containerd"));
    std::ofstream(dir.path("root/etc/containerd/config.toml")) << config;
  }
};

}  // namespace

TEST_CASE("a device whose container would not get its nodes, because CDI is off, is refused by its id") {
  CdiNode node;
  node.allocate_by_cdi();
  const std::string before = node.world.snapshot();
  std::filesystem::create_directories(node.dir.path("root/etc/crio"));  // as the DaemonSet's mount does
  node.configure_containerd("version = 2\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  enable_cdi = false\n");
  const auto refused = node.add(kConf);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().id() == ErrorId::cdi_not_supported);
  CHECK_THAT(refused.error().text,
             Catch::Contains("config.toml has enable_cdi = false") && Catch::Contains("vfrail-spec.json"));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
  SECTION("until it is on, and reads that folder") {
    const std::string on = "version = 2\nenable_cdi = true\n";
    node.configure_containerd(on.c_str());
    const auto elsewhere = node.add(kConf);
    REQUIRE_FALSE(elsewhere);
    CHECK(elsewhere.error().id() == ErrorId::cdi_not_supported);
    CHECK_THAT(elsewhere.error().text, Catch::Contains("it reads /etc/cdi and /var/run/cdi alone"));
    node.configure_containerd((on + "cdi_spec_dirs = [\"" + node.dir.path() + "\"]\n").c_str());
  }
  SECTION("unless it is not known") { node.configure_containerd("version = 2\n"); }
  SECTION("unless no configuration is there") {
    std::filesystem::remove(node.dir.path("root/etc/containerd/config.toml"));
  }
  SECTION("unless kubelet may use another runtime") {
    std::filesystem::create_directories(node.dir.path("root/run/crio"));
    std::ofstream(node.dir.path("root/run/crio/crio.sock")).close();
  }
  CHECK(node.add(kConf));
}

TEST_CASE("a device that was allocated with RDMA devices and is bound to vfio-pci by now is refused") {
  CdiNode node;
  REQUIRE(write_allocated_nodes(node.dir.path("run"), *DeviceId::parse("0000:21:10.0"), {{"uverbs0"}, ""}));
  node.world.give_to_vfio("0000:21:10.0");
  const auto refused = node.add(kConf);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().text,
             Catch::Contains("with the RDMA devices uverbs0, and is bound to vfio-pci by now"));
  CHECK(node.no_state());
}

TEST_CASE("a device that was allocated without CDI needs none in the runtime") {
  CdiNode node;
  node.configure_containerd("enable_cdi = false\n");
  CHECK(node.add(kConf));
}

}  // namespace vfrail::test
