// prepare() as a front end beside kubelet's uses it. This executable links neither gRPC nor Protobuf.
#include "plugin/device/allocate/prepare.h"

#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/files.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "tests/plugin/tree.h"

#include <filesystem>
#include <fstream>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kConfig =
    R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                                                      "selectors": {"isRdma": true}}]})";

// A node, its pool, and the folders that prepare() writes to.
struct PrepareNode {
  test::Tree tree{"igb_node"};
  test::TempDir folder;
  AllocatePlaces places{.sys = tree.sys(),
                        .device_info_dir = folder.path("devinfo"),
                        .run_dir = folder.path("run"),
                        .cdi_dir = folder.path("cdi")};

  PrepareNode() { REQUIRE(open_cdi_folder(places.cdi_dir)); }

  Pool pool(const char* text = kConfig) const {
    const auto config = parse_config(text, {});
    REQUIRE(config);
    return match(*config, tree.scan()).pools.at(0);
  }
};

Texts host_paths(const std::vector<DeviceNode>& nodes) {
  Texts out;
  for (const DeviceNode& node : nodes) out.push_back(node.host_path);
  return out;
}

// What a DRA driver does for a claim (NodePrepareResources): its answer has nothing but names of CDI devices,
// so what is about all devices of the claim goes into a spec of its own.
Result<Texts> prepare_claim(const std::string& claim, const Pool& pool, const Texts& devices,
                            const AllocatePlaces& places) {
  ContainerEdits edits = TRY(prepare(pool, {devices}, places)).front();
  CdiSpec spec{"vfrail.example.com/claim", claim, {}};
  Texts names = std::move(edits.cdi_devices);
  edits.cdi_devices.clear();
  spec.edits = std::move(edits);
  TRY(put_cdi_spec(places.cdi_dir, spec));
  names.push_back(spec.qualified_name());
  return names;
}

constexpr const char* kWithFiles =
    R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev", "podFiles": ["nccl"],
                          "selectors": {"isRdma": true}}]})";

}  // namespace

TEST_CASE("the sources of the mounts are there before a container starts, and empty") {
  PrepareNode node;
  const std::string none = node.places.run_dir + "/none/nccl.conf";
  const std::string device = node.places.run_dir + "/devices/0000:21:10.0/";
  SECTION("with CDI") {
    REQUIRE(prepare(node.pool(kWithFiles), {{"0000:21:10.0"}}, node.places));
    CHECK(read_file(none, 1).value_or({}) == std::optional<std::string>(""));
    CHECK_FALSE(std::filesystem::exists(device));
    const auto spec = read_cdi_spec(node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:21:10.0.json");
    REQUIRE(spec);
    CHECK((*spec)->edits.mounts.at(1).host_path == none);
  }
  SECTION("without, for another pod than the last") {
    node.places.cdi_dir.clear();
    std::filesystem::create_directories(device);
    for (const char* file : {"nccl.conf", "pod.json"}) std::ofstream(device + file) << "of the last pod";
    const auto edits = prepare(node.pool(kWithFiles), {{"0000:21:10.0"}}, node.places);
    REQUIRE(edits);
    CHECK(edits->front().mounts.at(1).host_path == device + "nccl.conf");
    CHECK(read_file(device + "nccl.conf", 1).value_or({}) == std::optional<std::string>(""));
    CHECK_FALSE(std::filesystem::exists(device + "pod.json"));
  }
  SECTION("not where they are not asked for") {
    REQUIRE(prepare(node.pool(), {{"0000:21:10.0"}}, node.places));
    CHECK_FALSE(std::filesystem::exists(none));
  }
}

TEST_CASE("with mountCheck a container gets vfrail-check where it is installed, and else no mount") {
  PrepareNode node;
  const Pool pool = node.pool(R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "hostdev",
                                                    "mountCheck": true, "selectors": {"isRdma": true}}]})");
  node.places.cni_dir = "/var/lib/cni/bin";
  const std::string spec = node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:21:10.0.json";
  const auto mounts = [&] {
    const auto edits = prepare(pool, {{"0000:21:10.0"}}, node.places);
    REQUIRE(edits);
    if (node.places.cdi_dir.empty()) return edits->front().mounts;
    CHECK(edits->front().mounts.empty());
    return (*read_cdi_spec(spec))->edits.mounts;
  };
  const std::string cdi_dir = node.places.cdi_dir;
  for (const std::string& folder : {std::string(), cdi_dir}) {
    node.places.cdi_dir = folder;
    CHECK(mounts().empty());
  }
  node.tree.add("var/lib/cni/bin/vfrail-check = program");
  for (const std::string& folder : {std::string(), cdi_dir}) {
    node.places.cdi_dir = folder;
    CHECK(mounts() == std::vector<Mount>{{"/var/lib/cni/bin/vfrail-check", "/usr/local/bin/vfrail-check"}});
  }
}

TEST_CASE("the device-info folder is needed by resources that write such files alone") {
  PrepareNode node;
  const std::string missing = node.places.device_info_dir;
  std::ofstream(node.folder.path("file")) << "";
  node.places.device_info_dir = node.folder.path("file/devinfo");  // cannot be made
  const Pool shared = node.pool(
      R"({"configList": [{"resourceName": "hca", "rdmaHcaMax": 1, "selectors": {"drivers": ["igbvf"]}}]})");
  REQUIRE_FALSE(shared.devices.empty());
  CHECK(prepare(shared, {{"0"}}, node.places));
  const auto refused = prepare(node.pool(), {{"0000:21:10.0"}}, node.places);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("make the device-info folder") != std::string::npos);
  node.places.device_info_dir = missing;
  CHECK(prepare(shared, {{"0"}}, node.places));
  CHECK_FALSE(std::filesystem::exists(missing));
}

TEST_CASE("memlock without CDI is refused with the reason") {
  PrepareNode node;
  Pool pool = node.pool();
  pool.config.memlock = "unlimited";
  const std::string device = pool.devices.at(0).id();
  REQUIRE(prepare(pool, {{device}}, node.places));
  node.places.cdi_dir.clear();
  const auto refused = prepare(pool, {{device}}, node.places);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("needs CDI") != std::string::npos);
}

TEST_CASE("a front end that answers with CDI names only has all that a container gets") {
  const PrepareNode node;
  const auto names = prepare_claim("c1", node.pool(), {"0000:21:10.0", "0000:41:10.2"}, node.places);
  REQUIRE(names);
  CHECK(*names == Texts{"nvidia.com/net-pci=0000:21:10.0", "nvidia.com/net-pci=0000:41:10.2",
                        "vfrail.example.com/claim=c1"});
  const auto device = read_cdi_spec(node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:41:10.2.json");
  REQUIRE(device);
  REQUIRE(*device);
  CHECK(host_paths((*device)->edits.nodes) ==
        Texts{"/dev/infiniband/umad5", "/dev/infiniband/uverbs5", "/dev/infiniband/rdma_cm"});
  const auto claim = read_cdi_spec(node.places.cdi_dir + "/vfrail-vfrail.example.com-claim-c1.json");
  REQUIRE(claim);
  REQUIRE(*claim);
  CHECK((*claim)->edits.env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.0,0000:41:10.2");
  CHECK((*claim)->edits.env.contains("PCIDEVICE_NVIDIA_COM_HOSTDEV_INFO"));
  // vfrail-cni corrects the devices' specs, whoever has named them to the runtime.
  const auto allocated = read_allocated_nodes(node.places.run_dir, *DeviceId::parse("0000:41:10.2"));
  REQUIRE(allocated);
  REQUIRE(*allocated);
  CHECK(**allocated == AllocatedNodes{{"umad5", "uverbs5"},
                                      node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:41:10.2.json"});
}

TEST_CASE("a CDI spec that nobody can say was there stays when the request fails") {
  const PrepareNode node;
  const std::string spec = node.places.cdi_dir + "/vfrail-nvidia.com-net-pci-0000:21:10.0.json";
  const bool there = GENERATE(true, false);
  if (there) std::filesystem::create_symlink(spec, spec);  // access(2) answers ELOOP
  // What is written after the spec.
  std::filesystem::create_directories(node.places.device_info_dir +
                                      "/nvidia.com-hostdev-0000:21:10.0-device.json/x");
  CHECK_FALSE(prepare(node.pool(), {{"0000:21:10.0"}}, node.places));
  CHECK(std::filesystem::exists(spec) == there);
}

TEST_CASE("without CDI the front end has the edits themselves, each node once") {
  PrepareNode node;
  node.places.cdi_dir.clear();
  const auto containers =
      prepare(node.pool(), {{"0000:21:10.0", "0000:21:10.2"}, {"0000:41:10.0"}}, node.places);
  REQUIRE(containers);
  REQUIRE(containers->size() == 2);
  const ContainerEdits& first = containers->front();
  CHECK(host_paths(first.nodes) == Texts{"/dev/infiniband/umad0", "/dev/infiniband/uverbs0",
                                         "/dev/infiniband/rdma_cm", "/dev/infiniband/umad1",
                                         "/dev/infiniband/uverbs1"});
  CHECK(first.cdi_devices.empty());
  CHECK(containers->back().env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:41:10.0");
}

// The kernel removes them when it moves an RDMA device to another namespace, and makes them one after
// another.
TEST_CASE("a device whose RDMA nodes the kernel is just making is not allocated without them") {
  PrepareNode node;
  const Pool pool = node.pool();
  const std::string device = "sys/devices/pci0000:20/0000:20:00.0/0000:21:10.0/";
  const auto refused = [&](const Pool& known) {
    const auto edits = prepare(known, {{"0000:21:10.0"}}, node.places);
    REQUIRE_FALSE(edits);
    CHECK(edits.error().code == Errc::not_yet);
    CHECK(edits.error().text.find("0000:21:10.0: its RDMA device has just returned") != std::string::npos);
  };
  SECTION("none is there yet") {
    node.tree.remove(device + "infiniband_verbs");
    node.tree.remove(device + "infiniband_mad");
    refused(pool);
  }
  SECTION("the last is missing") {
    node.tree.remove(device + "infiniband_mad");
    refused(pool);
  }
  SECTION("none was there at the first scan either") {
    node.tree.remove(device + "infiniband_verbs");
    node.tree.remove(device + "infiniband_mad");
    node.tree.add("sys/class/infiniband_verbs/abi_version = 6");
    refused(node.pool());
  }
  SECTION("a device without nodes on a node without ib_uverbs is allocated as it is") {
    node.tree.remove(device + "infiniband_verbs");
    node.tree.remove(device + "infiniband_mad");
    node.tree.remove("sys/class/infiniband_verbs");
    CHECK(prepare(node.pool(), {{"0000:21:10.0"}}, node.places));
  }
}

namespace {

constexpr const char* kTwoPools =
    R"({"resourceList": [{"resourcePrefix": "nvidia.com", "resourceName": "left", "selectors": {"isRdma": true, "pciAddresses": ["0000:21:10.0", "0000:21:10.2"]}},
                         {"resourcePrefix": "nvidia.com", "resourceName": "right", "selectors": {"isRdma": true}}]})";

struct ClaimNode : PrepareNode {
  std::vector<PublishedPool> pools() const {
    const auto config = parse_config(kTwoPools, {});
    REQUIRE(config);
    std::vector<PublishedPool> out;
    for (Pool& one : match(*config, tree.scan()).pools) out.push_back(PublishedPool(std::move(one)));
    return out;
  }
  std::vector<ContainerUnits> both(const std::string& left = "0000:21:10.0") const {
    const auto all = pools();
    return {{{all[0], {left}}, {all[1], {"0000:41:10.0"}}}};
  }
  std::set<std::string> files() const {
    std::set<std::string> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) out.insert(entry.path().string());
    }
    return out;
  }
};

const std::string kClaim1 = "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11";

}  // namespace

TEST_CASE("a container gets devices of several resources by one preparation") {
  const ClaimNode node;
  const auto edits = prepare(node.both(), node.places);
  REQUIRE(edits);
  REQUIRE(edits->size() == 1);
  CHECK(edits->front().cdi_devices ==
        Texts{"nvidia.com/net-pci=0000:21:10.0", "nvidia.com/net-pci=0000:41:10.0"});
  CHECK(edits->front().env.at("PCIDEVICE_NVIDIA_COM_LEFT") == "0000:21:10.0");
  CHECK(edits->front().env.at("PCIDEVICE_NVIDIA_COM_RIGHT") == "0000:41:10.0");
}

TEST_CASE("what is prepared for an owner is the same again, also when its device is in the pod") {
  ClaimNode node;
  const auto first = prepare_for(kClaim1, node.both(), node.places);
  REQUIRE(first);
  const auto files = node.files();
  CHECK(files.size() > 4);
  const auto asked = node.both();
  node.tree.move_to_pod("0000:21:10.0");
  const auto again = prepare_for(kClaim1, asked, node.places);
  REQUIRE(again);
  CHECK(*again == *first);
  CHECK(node.files() == files);
  const auto other = prepare_for(kClaim1, node.both("0000:21:10.2"), node.places);
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::busy);
}

TEST_CASE("a release removes all that was prepared for its owner, and nothing else") {
  const ClaimNode node;
  REQUIRE(prepare({{{node.pools()[1], {"0000:41:10.2"}}}}, node.places));
  const auto before = node.files();
  REQUIRE(prepare_for(kClaim1, node.both(), node.places));
  CHECK(node.files() != before);
  REQUIRE(release(kClaim1, node.places));
  CHECK(node.files() == before);
  CHECK(release(kClaim1, node.places));
  CHECK(release("never-seen", node.places));
  CHECK_FALSE(release("../../etc", node.places));
}

TEST_CASE("a prepare that was killed is prepared anew, or released") {
  const ClaimNode node;
  const auto before = node.files();
  REQUIRE(prepare_for(kClaim1, node.both(), node.places));
  auto record = read_prepared(node.places.run_dir, kClaim1);
  REQUIRE(record);
  REQUIRE(*record);
  const auto all = node.files();
  const ContainerEdits edits = (*record)->edits->front();
  (*record)->edits.reset();
  REQUIRE(write_prepared(node.places.run_dir, **record));
  std::filesystem::remove((*record)->files.paths.back());
  SECTION("anew") {
    const auto again = prepare_for(kClaim1, node.both(), node.places);
    REQUIRE(again);
    CHECK(again->front() == edits);
    CHECK(node.files() == all);
    REQUIRE(release(kClaim1, node.places));
  }
  SECTION("released") { REQUIRE(release(kClaim1, node.places)); }
  CHECK(node.files() == before);
}

TEST_CASE("a prepare that fails leaves no record and no file") {
  ClaimNode node;
  const auto before = node.files();
  node.tree.remove("sys/bus/pci/devices/0000:41:10.0/infiniband");
  const auto asked = node.both();
  const auto failed =
      prepare_for(kClaim1, {{{node.pools()[0], {"0000:21:10.0"}}, {node.pools()[0], {"none"}}}}, node.places);
  REQUIRE_FALSE(failed);
  CHECK(node.files() == before);
  SECTION("nor does one that cannot be written") {
    node.places.device_info_dir = "/proc/none";
    const auto refused = prepare_for(kClaim1, {{{node.pools()[0], {"0000:21:10.0"}}}}, node.places);
    REQUIRE_FALSE(refused);
    CHECK(node.files() == before);
  }
}

TEST_CASE("one device by two resources of one request is refused") {
  const ClaimNode node;
  const auto pools = node.pools();
  Pool same = *pools[0];
  same.config.name = "same";
  const auto refused = prepare(
      {{{pools[0], {"0000:21:10.0"}}}, {{PublishedPool(std::move(same)), {"0000:21:10.0"}}}}, node.places);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text == "nvidia.com/same: device '0000:21:10.0' is requested twice");
}
