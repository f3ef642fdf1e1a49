#include "plugin/device/allocate/allocation.h"

#include "common/json.h"
#include "common/programs.h"
#include "plugin/device/allocate/cdi.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

Pool make_pool(const std::string& prefix = "intel.com", const std::string& name = "sriov_net_A") {
  Pool pool;
  pool.config.prefix = prefix;
  pool.config.name = name;
  return pool;
}

PoolDevice make_device(const std::string& address, const std::string& driver = "mlx5_core") {
  PoolDevice device;
  device.facts.address = *PciAddress::parse(address);
  device.facts.id = DeviceId(device.facts.address);
  device.facts.driver = Driver(driver);
  return device;
}

PoolDevice rdma_device(const std::string& address, unsigned number) {
  PoolDevice device = make_device(address);
  const std::string n = std::to_string(number);
  device.rdma = true;
  device.facts.rdma.push_back({RdmaName("mlx5_" + n),
                               "uverbs" + n,
                               "",
                               {{1, "ACTIVE", "Ethernet", "umad" + n, "issm" + n, "LinkUp"}},
                               ""});
  return device;
}

Allocation allocated(const std::vector<PoolDevice>& devices, NodeFacts node = {true, true}) {
  auto out = allocate(make_pool(), devices, node);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

std::string info(const Allocation& allocation) {
  return allocation.edits.env.at("PCIDEVICE_INTEL_COM_SRIOV_NET_A_INFO");
}

std::vector<std::string> host_paths(const Allocation& allocation) {
  std::vector<std::string> out;
  for (const DeviceNode& node : allocation.edits.nodes) out.push_back(node.host_path);
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("the variable's name has underscores for dots, in upper case, the rest unchanged") {
  CHECK(env_name(make_pool().config) == "PCIDEVICE_INTEL_COM_SRIOV_NET_A");
  CHECK(env_name(make_pool("k8s-x.io", "a-b").config) == "PCIDEVICE_K8S-X_IO_A-B");
}

TEST_CASE("the devices are listed in the order of the request") {
  const Allocation out = allocated({make_device("0000:03:04.3"), make_device("0000:03:02.1")});
  CHECK(out.edits.env.size() == 2);
  CHECK(out.edits.env.at("PCIDEVICE_INTEL_COM_SRIOV_NET_A") == "0000:03:04.3,0000:03:02.1");
  CHECK(info(out) == R"({"0000:03:02.1":{"generic":{"deviceID":"0000:03:02.1"}},)"
                     R"("0000:03:04.3":{"generic":{"deviceID":"0000:03:04.3"}}})");
}

TEST_CASE("a kernel netdev without RDMA has no device nodes and no AllocatedNodes") {
  const Allocation out = allocated({make_device("0000:03:02.1")});
  CHECK(out.edits.nodes.empty());
  CHECK(out.allocated_nodes.empty());
}

TEST_CASE("an RDMA device has its nodes in the peer's order, all rw, at the same path") {
  const Allocation out = allocated({rdma_device("0000:03:02.1", 4)});
  CHECK(host_paths(out) == Texts{"/dev/infiniband/issm4", "/dev/infiniband/umad4", "/dev/infiniband/uverbs4",
                                 "/dev/infiniband/rdma_cm"});
  for (const DeviceNode& node : out.edits.nodes) {
    CHECK(node.permissions == "rw");
    CHECK(node.container_path == node.host_path);
  }
  CHECK(info(out) ==
        R"({"0000:03:02.1":{"generic":{"deviceID":"0000:03:02.1"},"rdma":{"issm":"/dev/infiniband/issm4",)"
        R"("rdma_cm":"/dev/infiniband/rdma_cm","rdma_dev":"mlx5_4","umad":"/dev/infiniband/umad4",)"
        R"("uverbs":"/dev/infiniband/uverbs4"}}})");
  CHECK(out.allocated_nodes.at("0000:03:02.1") == Texts{"issm4", "umad4", "uverbs4"});
}

TEST_CASE("nodes that do not exist on the node are not allocated") {
  PoolDevice device = rdma_device("0000:03:02.1", 4);
  device.facts.rdma[0].ports[0].issm.clear();
  device.facts.rdma[0].ports[0].umad.clear();
  const Allocation out = allocated({device}, {false, false});
  CHECK(host_paths(out) == Texts{"/dev/infiniband/uverbs4"});
  CHECK(info(out).find("rdma_cm") == std::string::npos);
}

TEST_CASE("every port of every RDMA device has its nodes, and the last one is in the variable") {
  PoolDevice device = rdma_device("0000:03:02.1", 0);
  device.facts.rdma[0].ucm = "ucm0";
  device.facts.rdma[0].ports.push_back({2, "DOWN", "Ethernet", "umad1", "issm1", "Disabled"});
  device.facts.rdma.push_back({"mlx5_9", "uverbs9", "", {}, ""});
  const Allocation out = allocated({device});
  CHECK(host_paths(out) == Texts{"/dev/infiniband/ucm0", "/dev/infiniband/issm0", "/dev/infiniband/issm1",
                                 "/dev/infiniband/umad0", "/dev/infiniband/umad1", "/dev/infiniband/uverbs0",
                                 "/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs9"});
  CHECK(info(out).find(R"("uverbs":"/dev/infiniband/uverbs9")") != std::string::npos);
  CHECK(info(out).find(R"("umad":"/dev/infiniband/umad1")") != std::string::npos);
  CHECK(info(out).find(R"("rdma_dev":"mlx5_0")") != std::string::npos);
  CHECK(out.files[0].content.find(R"("rdma-device":"mlx5_0,mlx5_9")") != std::string::npos);
}

TEST_CASE("a node that several devices share is allocated once") {
  const Allocation out = allocated({rdma_device("0000:03:02.1", 4), rdma_device("0000:03:02.2", 5)});
  CHECK(host_paths(out) == Texts{"/dev/infiniband/issm4", "/dev/infiniband/umad4", "/dev/infiniband/uverbs4",
                                 "/dev/infiniband/rdma_cm", "/dev/infiniband/issm5", "/dev/infiniband/umad5",
                                 "/dev/infiniband/uverbs5"});
}

TEST_CASE("a device without additional information has an empty entry, and texts are escaped as Go does") {
  Pool pool = make_pool();
  pool.config.additional_info.emplace();
  PoolDevice device = make_device("0000:03:02.1");
  auto out = allocate(pool, {device}, {});
  REQUIRE(out);
  CHECK(info(*out) == R"({"0000:03:02.1":{"extra":{},"generic":{"deviceID":"0000:03:02.1"}}})");
  device.extra = {{"k", "<a>&\xE2\x80\xA8\xE2\x80\xA9\x1f\"\\u003C"}};
  out = allocate(pool, {device}, {});
  REQUIRE(out);
  CHECK(info(*out) == R"({"0000:03:02.1":{"extra":{"k":"\u003ca\u003e\u0026\u2028\u2029\u001f\"\\u003C"},)"
                      R"("generic":{"deviceID":"0000:03:02.1"}}})");
  device.extra = {{"k", "\xC3\xA9\xff\xE2\x80"}};
  out = allocate(pool, {device}, {});
  REQUIRE(out);
  CHECK(info(*out).starts_with("{\"0000:03:02.1\":{\"extra\":{\"k\":\"\xC3\xA9\\ufffd\\ufffd\\ufffd\"}"));
}

TEST_CASE("a uio driver without a uio folder has an empty entry and no node") {
  const Allocation out = allocated({make_device("0000:03:02.1", "igb_uio")});
  CHECK(info(out) == R"({"0000:03:02.1":{"generic":{"deviceID":"0000:03:02.1"},"uio":{}}})");
  CHECK(out.edits.nodes.empty());
}

TEST_CASE("vfio, vhost and additional information make the same variable as the peer's") {
  PoolDevice device = make_device("0000:3b:02.6", "vfio-pci");
  device.facts.iommu_group = "169";
  device.vhost_net = true;
  device.extra = {{"token", "t"}};
  Pool pool = make_pool();
  pool.config.additional_info.emplace();
  const Allocation out = allocate(pool, {device}, {true, true}).value_or({});
  CHECK(
      info(out) ==
      R"({"0000:3b:02.6":{"extra":{"token":"t"},"generic":{"deviceID":"0000:3b:02.6"},"vfio":{"dev-mount":)"
      R"("/dev/vfio/169","mount":"/dev/vfio/vfio"},"vhost":{"net-mount":"/dev/vhost-net","tun-mount":"/dev/net/tun"}}})");
  CHECK(host_paths(out) == Texts{"/dev/vfio/vfio", "/dev/vfio/169", "/dev/vhost-net", "/dev/net/tun"});
}

TEST_CASE("without an IOMMU the group's node has another name on the host") {
  PoolDevice device = make_device("0000:3b:02.6", "vfio-pci");
  device.facts.iommu_group = "3";
  device.facts.vfio_noiommu = true;
  const Allocation out = allocated({device});
  CHECK(out.edits.nodes.at(1) == DeviceNode{"/dev/vfio/noiommu-3", "/dev/vfio/3", "rw"});
  CHECK(info(out).find(R"("dev-mount":"/dev/vfio/3")") != std::string::npos);
}

TEST_CASE("vhost nodes are allocated together or not at all") {
  PoolDevice device = make_device("0000:3b:02.6");
  device.vhost_net = true;
  const Allocation out = allocated({device}, {true, false});
  CHECK(out.edits.nodes.empty());
  CHECK(info(out).find("vhost") == std::string::npos);
}

TEST_CASE("a uio device has its node and its entry at the first call") {
  PoolDevice device = make_device("0000:3b:02.6", "igb_uio");
  device.facts.uio = "uio4";
  const Allocation out = allocated({device});
  CHECK(host_paths(out) == Texts{"/dev/uio4"});
  CHECK(info(out).find(R"("uio":{"mount":"/dev/uio4"})") != std::string::npos);
}

TEST_CASE("a vhost vDPA device has its node, its entry and the vdpa form of the device-info file") {
  PoolDevice device = make_device("0000:65:00.2");
  device.vdpa_type = "vhost";
  device.facts.vdpa = Vdpa{"vdpa2", Driver("vhost_vdpa"), "vhost-vdpa-0"};
  const Allocation out = allocated({device});
  CHECK(host_paths(out) == Texts{"/dev/vhost-vdpa-0"});
  CHECK(info(out).find(R"("vdpa":{"mount":"/dev/vhost-vdpa-0"})") != std::string::npos);
  CHECK(out.files.at(0).content ==
        R"({"type":"vdpa","version":"1.1.0","vdpa":{"parent-device":"vdpa2","driver":"vhost",)"
        R"("path":"/dev/vhost-vdpa-0","pci-address":"0000:65:00.2"}})");
}

TEST_CASE("vhost-net comes behind the vDPA device's node, as in the peer") {
  PoolDevice device = make_device("0000:65:00.2");
  device.vdpa_type = "vhost";
  device.vhost_net = true;
  device.facts.vdpa = Vdpa{"vdpa2", Driver("vhost_vdpa"), "vhost-vdpa-0"};
  CHECK(host_paths(allocated({device})) == Texts{"/dev/vhost-vdpa-0", "/dev/vhost-net", "/dev/net/tun"});
}

TEST_CASE("a virtio vDPA device has no node and an empty entry") {
  PoolDevice device = make_device("0000:65:00.2");
  device.vdpa_type = "virtio";
  device.facts.vdpa = Vdpa{"vdpa2", Driver("virtio_vdpa"), ""};
  const Allocation out = allocated({device});
  CHECK(out.edits.nodes.empty());
  CHECK(info(out).find(R"("vdpa":{})") != std::string::npos);
  CHECK(out.files.at(0).content.find("path") == std::string::npos);
}

TEST_CASE("every device has a device-info file by the specification's name") {
  const Allocation out = allocated({rdma_device("0000:03:02.1", 4), make_device("0000:03:02.2")});
  REQUIRE(out.files.size() == 2);
  CHECK(out.files[0].name == "intel.com-sriov_net_A-0000:03:02.1-device.json");
  CHECK(out.files[0].content ==
        R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:03:02.1","rdma-device":"mlx5_4"}})");
  CHECK(out.files[1].content == R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:03:02.2"}})");
}

TEST_CASE("an empty request and one that names a device twice are invalid") {
  const auto empty = allocate(make_pool(), {}, {});
  REQUIRE_FALSE(empty);
  CHECK(empty.error().code == Errc::invalid);
  const auto twice = allocate(make_pool(), {make_device("0000:03:02.1"), make_device("0000:03:02.1")}, {});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code == Errc::invalid);
  CHECK(twice.error().text == "intel.com/sriov_net_A: 0000:03:02.1: is in the request twice");
}

TEST_CASE("a device whose RDMA device is still in a pod is busy") {
  PoolDevice device = rdma_device("0000:03:02.1", 4);
  device.facts.rdma.clear();
  device.facts.rdma_capable = true;
  const auto out = allocate(make_pool(), {device}, {true, true});
  REQUIRE_FALSE(out);
  CHECK(out.error().code == Errc::not_yet);
  CHECK(out.error().text.find("0000:03:02.1: its RDMA device is not in the host's RDMA namespace") !=
        std::string::npos);
}

TEST_CASE("a vfio device without an IOMMU group cannot be allocated") {
  const auto out = allocate(make_pool(), {make_device("0000:03:02.1", "vfio-pci")}, {});
  REQUIRE_FALSE(out);
  CHECK(out.error().text.find("has no IOMMU group") != std::string::npos);
}

TEST_CASE("containers get the files of their pod, of a default until vfrail-cni has written them") {
  Pool pool = make_pool();
  pool.config.pod_files = {.nccl = true, .ucx = true};
  NodeFacts node;
  node.run_folder = "/run/vfrail";
  auto out = allocate(pool, {rdma_device("0000:03:02.1", 1), make_device("0000:03:02.2")}, node);
  REQUIRE(out);
  // Without CDI the answer to kubelet has the folder of the first device.
  CHECK(out->edits.mounts ==
        std::vector<Mount>{{"/run/vfrail/devices/0000:03:02.1", "/run/vfrail"},
                           {"/run/vfrail/devices/0000:03:02.1/nccl.conf", "/etc/nccl.conf"}});
  CHECK(out->edits.env.at("UCX_CONFIG_DIR") == "/run/vfrail");
  // vfrail-cni finds the spec of each device by these, also of one without RDMA nodes.
  CHECK(out->allocated_nodes.at("0000:03:02.1") == Texts{"issm1", "umad1", "uverbs1"});
  CHECK(out->allocated_nodes.at("0000:03:02.2").empty());

  use_cdi(pool.config, kCniFolder, *out);
  CHECK(out->edits.mounts.empty());
  CHECK(out->edits.env.at("UCX_CONFIG_DIR") == "/run/vfrail");
  REQUIRE(out->specs.size() == 2);
  for (const auto& [device, spec] : out->specs) {
    CHECK(spec.edits.mounts == std::vector<Mount>{{"/run/vfrail/none", "/run/vfrail"},
                                                  {"/run/vfrail/none/nccl.conf", "/etc/nccl.conf"}});
    // The env of a spec would win over that of the pod.
    CHECK(spec.edits.env.empty());
  }
}

TEST_CASE("with podFiles ucx alone the image keeps its own nccl.conf") {
  Pool pool = make_pool();
  pool.config.pod_files = {.ucx = true};
  auto out = allocate(pool, {make_device("0000:03:02.1")}, {});
  REQUIRE(out);
  CHECK(out->edits.mounts == std::vector<Mount>{{"/run/vfrail/devices/0000:03:02.1", "/run/vfrail"}});
  CHECK(out->edits.env.at("UCX_CONFIG_DIR") == "/run/vfrail");
  CHECK_FALSE(out->edits.env.contains("NCCL_CONF_FILE"));  // it is the pod's to set
}

TEST_CASE("without podFiles a container gets no mount, and a device without nodes no spec") {
  Allocation out = allocated({make_device("0000:03:02.1")}, {});
  CHECK(out.edits.mounts.empty());
  CHECK(out.allocated_nodes.empty());
  use_cdi(make_pool().config, kCniFolder, out);
  CHECK(out.specs.empty());
}
