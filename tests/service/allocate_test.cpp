#include "common/container/allocated_nodes.h"
#include "common/container/allocated_unit.h"
#include "plugin/device/allocate/prepare.h"
#include "tests/service/support.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

TEST_CASE("two containers get their devices, files for Multus and AllocatedNodes for the CNI") {
  const IgbNode node;
  const auto out = prepare(node.pool(), {{"0000:41:10.0"}, {"0000:21:10.2", "0000:21:10.0"}}, node.places());
  REQUIRE(out);
  REQUIRE(out->size() == 2);
  CHECK((*out)[0].env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:41:10.0");
  CHECK((*out)[1].env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.2,0000:21:10.0");
  CHECK(node.written() == std::vector<std::string>{"0000:21:10.0.json", "0000:21:10.2.json",
                                                   "0000:41:10.0.json",
                                                   "nvidia.com-hostdev-0000:21:10.0-device.json",
                                                   "nvidia.com-hostdev-0000:21:10.2-device.json",
                                                   "nvidia.com-hostdev-0000:41:10.0-device.json"});
  const std::string info = node.device_info_dir() + "/nvidia.com-hostdev-0000:21:10.0-device.json";
  CHECK(read_text(info) ==
        R"({"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:21:10.0","rdma-device":"mlx5_0"}})");
  CHECK(mode_of(info) == 0444);
  CHECK(mode_of(node.device_info_dir()) == 0755);
  const auto promised = read_allocated_nodes(node.run_dir(), *DeviceId::parse("0000:21:10.0"));
  REQUIRE(promised);
  CHECK(**promised == AllocatedNodes{{"umad0", "uverbs0"}, ""});
}

TEST_CASE("a device that is allocated again gets its files replaced") {
  const IgbNode node;
  fs::create_directories(node.device_info_dir());
  const std::string info = node.device_info_dir() + "/nvidia.com-hostdev-0000:21:10.0-device.json";
  std::ofstream(info) << "of an earlier pod";
  REQUIRE(prepare(node.pool(), {{"0000:21:10.0"}}, node.places()));
  CHECK(read_text(info).find("mlx5_0") != std::string::npos);
}

TEST_CASE("facts are read when the device is allocated, not when it was found") {
  const IgbNode node;
  Pool pool = node.pool();
  for (PoolDevice& device : pool.devices) device.facts.rdma.clear();
  const auto out = prepare(pool, {{"0000:21:10.0"}}, node.places());
  REQUIRE(out);
  CHECK(out->front().nodes.size() == 3);
}

TEST_CASE("a refused request writes nothing, whichever of its containers is wrong") {
  const IgbNode node;
  const Pool pool = node.pool();
  const auto refusal = [&](const std::vector<std::vector<std::string>>& containers) {
    const auto out = prepare(pool, containers, node.places());
    REQUIRE_FALSE(out);
    CHECK(node.written().empty());
    return out.error();
  };
  SECTION("an unknown device") {
    const Error error = refusal({{"0000:21:10.0"}, {"0000:99:00.0"}});
    CHECK(error.code == Errc::not_found);
    CHECK(error.text == "nvidia.com/hostdev: device '0000:99:00.0' is not in the pool");
  }
  SECTION("a hostile id") { CHECK(refusal({{"../../etc/passwd"}}).code == Errc::not_found); }
  SECTION("the same device twice in a container") {
    CHECK(refusal({{"0000:21:10.0", "0000:21:10.0"}}).code == Errc::invalid);
  }
  SECTION("the same device in two containers") {
    const Error error = refusal({{"0000:21:10.0"}, {"0000:21:10.0"}});
    CHECK(error.code == Errc::invalid);
    CHECK(error.text == "nvidia.com/hostdev: device '0000:21:10.0' is requested twice");
  }
  SECTION("no device") { CHECK(refusal({{"0000:21:10.0"}, {}}).code == Errc::invalid); }
  SECTION("a device that has vanished") {
    node.remove_device("0000:41:10.6");
    const Error error = refusal({{"0000:21:10.0"}, {"0000:41:10.6"}});
    CHECK(error.code == Errc::not_found);
    CHECK(error.text == "nvidia.com/hostdev: device 0000:41:10.6 has vanished from the node");
  }
  SECTION("an RDMA device that is still in a pod") {
    fs::remove_all(node.root() + "/sys/bus/pci/devices/0000:21:10.0/infiniband");
    CHECK(refusal({{"0000:21:10.0"}}).code == Errc::not_yet);
  }
}

TEST_CASE("a file that cannot be written removes those written before it") {
  const IgbNode node;
  // A folder in the place of the second container's AllocatedNodes: rename(2) refuses.
  fs::create_directories(node.run_dir() + "/promised/0000:21:10.2.json");
  const auto out = prepare(node.pool(), {{"0000:21:10.0"}, {"0000:21:10.2"}}, node.places());
  REQUIRE_FALSE(out);
  CHECK(out.error().text.find("record the allocated nodes of device 0000:21:10.2") == 0);
  CHECK(node.written() == std::vector<std::string>{"0000:21:10.2.json"});
}

namespace {

std::vector<std::string> paths(const ContainerEdits& edits) {
  std::vector<std::string> out;
  for (const DeviceNode& node : edits.nodes) out.push_back(node.host_path);
  return out;
}

bool has(const ContainerEdits& edits, const std::string& path) {
  const auto all = paths(edits);
  return std::find(all.begin(), all.end(), path) != all.end();
}

Pool shared_pool(const IgbNode& node, UnitKind unit) {
  Pool pool = node.pool();
  pool.config.unit = unit;
  pool.config.units = 100;
  pool.config.permissions = "rwm";
  return pool;
}

}  // namespace

TEST_CASE("a unit of a shared pool has the nodes of every device, and nothing is written for the CNI") {
  const IgbNode node;
  const auto out = prepare(shared_pool(node, UnitKind::shared), {{"7", "99"}}, node.places());
  REQUIRE(out);
  const ContainerEdits& got = out->front();
  for (int i = 0; i < 8; ++i) CHECK(has(got, "/dev/infiniband/uverbs" + std::to_string(i)));
  CHECK(got.nodes.size() == 17);  // uverbs and umad of each, and rdma_cm once
  CHECK(got.nodes.front().permissions == "rwm");
  CHECK(got.env.empty());
  CHECK(node.written().empty());
}

TEST_CASE("a shared pool is allocated from the devices that are left") {
  const IgbNode node;
  const Pool pool = shared_pool(node, UnitKind::shared);
  node.remove_device("0000:21:10.0");
  const auto out = prepare(pool, {{"0"}}, node.places());
  REQUIRE(out);
  CHECK_FALSE(has(out->front(), "/dev/infiniband/uverbs0"));
  CHECK(has(out->front(), "/dev/infiniband/uverbs1"));
  for (const PoolDevice& device : pool.devices) node.remove_device(device.id());
  const auto none = prepare(pool, {{"0"}}, node.places());
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  CHECK(none.error().text ==
        "nvidia.com/hostdev: none of its devices has an RDMA device in the host now; see vfrail inspect");
}

TEST_CASE("with one device for each unit the container gets that device alone, and its address") {
  const IgbNode node;
  const auto out = prepare(shared_pool(node, UnitKind::shared_one), {{"9", "1"}}, node.places());
  REQUIRE(out);
  CHECK(out->front().env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.2");  // both units are the second
  CHECK(has(out->front(), "/dev/infiniband/uverbs1"));
  CHECK(out->front().nodes.size() == 3);
}

TEST_CASE("a bundle allocates one device of each rail, with what belongs to each") {
  const IgbNode node;
  Pool pool = node.pool();
  pool.config.unit = UnitKind::bundle;
  const auto out = prepare(pool, {{"bundle-1"}}, node.places());
  REQUIRE(out);
  CHECK(out->front().env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.2,0000:41:10.2");
  CHECK(node.written() == std::vector<std::string>{"0000:21:10.2.json", "0000:41:10.2.json",
                                                   "bundle-1~nvidia.com~hostdev.json",
                                                   "nvidia.com-hostdev-0000:21:10.2-device.json",
                                                   "nvidia.com-hostdev-0000:41:10.2-device.json"});
  const auto units = read_allocated_units(node.places().run_dir, "bundle-1");
  REQUIRE((units && units->size() == 1));
  CHECK(units->front().resource == pool.resource());
  CHECK(units->front().devices ==
        std::vector{*DeviceId::parse("0000:21:10.2"), *DeviceId::parse("0000:41:10.2")});
  pool.devices[1].fault = {FaultCode::port_down, "its port is down"};
  const auto ill = prepare(pool, {{"bundle-1"}}, node.places());
  REQUIRE_FALSE(ill);
  CHECK(ill.error().text == "nvidia.com/hostdev: bundle-1 is not complete: 0000:21:10.2: its port is down");
}

TEST_CASE("extra device nodes are allocated as declared, and a missing one is named") {
  const IgbNode node;
  Pool pool = node.pool();
  pool.config.extra_nodes = {"/dev/knem", "cxi/*"};
  const auto missing = prepare(pool, {{"0000:21:10.0"}}, node.places());
  REQUIRE_FALSE(missing);
  CHECK(missing.error().text.find("extraDeviceNodes: there is no /dev/knem on this node") !=
        std::string::npos);
  std::ofstream(node.root() + "/dev/knem") << "";
  fs::create_directories(node.root() + "/sys/bus/pci/devices/0000:21:10.0/cxi/cxi3");
  const auto out = prepare(pool, {{"0000:21:10.0"}}, node.places());
  REQUIRE(out);
  CHECK(has(out->front(), "/dev/knem"));
  CHECK(has(out->front(), "/dev/cxi3"));
}

}  // namespace vfrail::test
