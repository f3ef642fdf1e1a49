// plugin/device/provisioning: VFs are withheld until `vfrail provision` has done with their PF, and no longer
// than it takes to lose patience.
#include "plugin/device/provisioning/withheld.h"

#include "plugin/device/config/formats/file.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/pools.h"
#include "tests/plugin/tree.h"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::test;
using std::chrono::seconds;

namespace {

const PciAddress kPf = *PciAddress::parse("0000:18:00.0");
constexpr seconds kStart{1000};

struct Node {
  Node() : tree("") {
    tree.add(
        "pci pci0000:16/0000:16:02.0/0000:18:00.0 class=0x020000 vendor=8086 device=1572 driver=i40e "
        "net=ens1f0:1 vfs=0000:18:02.0,0000:18:02.1 vf_device=154c\n");
    for (const char* vf : {"0", "1"}) add_netdev(vf);
    auto read = parse_config(
        R"({"resourceList": [{"resourceName": "nic", "selectors": {"vendors": ["8086"]}}],
            "vfs": [{"pf": "ens1f*", "count": 2}]})",
        {.file = "c.json"});
    if (!read) FAIL(read.error().text);
    config = *std::move(read);
  }
  void add_netdev(const std::string& vf) {
    const std::string folder = "devices/pci0000:16/0000:16:02.0/0000:18:02." + vf + "/net/v" + vf;
    tree.add("sys/" + folder + "/type = 1\nsys/class/net/v" + vf + " -> ../../" + folder + "\n");
  }
  ProgressRecords records(const std::string& boot = "boot") const {
    return {tree.root() + "/run/provision", boot};
  }
  void write(ProgressState state, seconds at, const std::string& text = "") {
    const auto saved = records().save(kPf, {state, "vfs[0]", text, at});
    if (!saved) FAIL(saved.error().text);
  }

  // As serve reads the node at that time.
  Pools read(seconds now) {
    Inventory inventory = tree.scan();
    auto remarked = await_provision(config.vfs, records(), tree.sys(), now, inventory);
    if (!remarked) FAIL(remarked.error().text);
    remarks = lines_of(*remarked);
    auto until = add_withheld(records(), now, inventory);
    if (!until) FAIL(until.error().text);
    again_at = *until;
    return match(config, inventory);
  }
  // Of its VFs: "none", or the code of the fault.
  std::string fault(seconds now) {
    const Pools pools = read(now);
    REQUIRE(pools.pools.at(0).devices.size() == 2);
    const Fault& first = pools.pools[0].devices[0].fault;
    CHECK(first == pools.pools[0].devices[1].fault);
    return first.empty() ? "none" : name_of(first.code);
  }

  Tree tree;
  Config config;
  std::vector<std::string> remarks;
  std::optional<seconds> again_at;
};

}  // namespace

TEST_CASE("VFs wait for provision from serve's first start on, and are allocated when patience is over") {
  Node node;
  CHECK(node.fault(kStart) == "provisioning");
  REQUIRE(node.remarks.size() == 1);
  CHECK(node.remarks[0].find("0000:18:00.0 (vfs[0])") != std::string::npos);
  CHECK(node.again_at == kStart + kProvisionPatience);
  // Another serve does not begin to wait again.
  CHECK(node.fault(kStart + kProvisionPatience - seconds{1}) == "provisioning");
  CHECK(node.fault(kStart + kProvisionPatience) == "none");
  CHECK_FALSE(node.again_at);
  REQUIRE(node.remarks.size() == 1);
  CHECK(node.remarks[0].find("does it run") != std::string::npos);
}

TEST_CASE("what provision has come to decides on the VFs, and what it could not do is remarked") {
  Node node;
  CHECK(node.fault(kStart) == "provisioning");
  node.write(ProgressState::running, kStart);
  CHECK(node.fault(kStart) == "provisioning");
  node.write(ProgressState::done, kStart);
  CHECK(node.fault(kStart) == "none");
  CHECK(node.remarks.empty());
  for (const ProgressState state :
       {ProgressState::refused, ProgressState::failed, ProgressState::needs_reboot}) {
    node.write(state, kStart, "because");
    CHECK(node.fault(kStart) == "none");
    REQUIRE(node.remarks.size() == 1);
    CHECK(node.remarks[0].find("because") != std::string::npos);
  }
}

TEST_CASE("a provision that was killed withholds VFs no longer than one that runs may") {
  Node node;
  for (const ProgressState state : {ProgressState::running, ProgressState::draining}) {
    node.write(state, kStart);
    CHECK(node.fault(kStart + kProvisionPatience - seconds{1}) == "provisioning");
    CHECK(node.fault(kStart + kProvisionPatience) == "none");
  }
}

TEST_CASE("a VF that a pod has is not withheld, the others are") {
  Node node;
  node.tree.remove("sys/class/net/v1");
  node.tree.remove("sys/devices/pci0000:16/0000:16:02.0/0000:18:02.1/net");
  node.write(ProgressState::draining, kStart, "0000:18:02.1 is in pod demo/one");
  const Pools pools = node.read(kStart);
  REQUIRE(pools.pools[0].devices.size() == 2);
  CHECK(pools.pools[0].devices[0].fault.code == FaultCode::provisioning);
  CHECK(pools.pools[0].devices[1].fault.empty());
}

TEST_CASE("a PF without an entry is neither awaited nor recorded") {
  Node node;
  node.config.vfs.entries[0].names = {"other*"};
  CHECK(node.fault(kStart) == "none");
  CHECK(node.remarks.empty());
  CHECK_FALSE(node.records().load(kPf)->has_value());
}

TEST_CASE("without vfs what was written of PFs is removed, unless provision is at work on them") {
  Node node;
  for (const ProgressState state : {ProgressState::awaited, ProgressState::refused, ProgressState::done}) {
    node.write(state, kStart);
    REQUIRE(forget_progress(node.records(), kStart));
    CHECK_FALSE(node.records().load(kPf)->has_value());
  }
  node.write(ProgressState::running, kStart);
  REQUIRE(forget_progress(node.records(), kStart));
  CHECK(node.records().load(kPf)->has_value());
  REQUIRE(forget_progress(node.records(), kStart + kProvisionPatience));
  CHECK_FALSE(node.records().load(kPf)->has_value());
  CHECK(node.records().known()->empty());
}

// The container of the device plugin can put one there, and provision runs as root.
TEST_CASE("a link in the place of a folder of progress leads nowhere") {
  const Node node;
  const std::filesystem::path elsewhere = node.tree.root() + "/elsewhere";
  const std::filesystem::path file = elsewhere / "0000:18:00.0.json";
  std::filesystem::create_directories(elsewhere);
  for (const auto& [folder, state] :
       {std::pair{"awaited", ProgressState::awaited}, std::pair{"progress", ProgressState::done}}) {
    std::filesystem::create_directories(node.tree.root() + "/run/provision");
    std::filesystem::create_directory_symlink(elsewhere, node.tree.root() + "/run/provision/" + folder);
    CHECK_FALSE(node.records("boot").save(kPf, {state, "vfs[0]", "", kStart}));
    CHECK(std::filesystem::is_empty(elsewhere));
    std::ofstream(file) << "safe";
    CHECK_FALSE(node.records("boot").known());
    CHECK_FALSE(node.records("boot").remove(kPf));
    CHECK(std::filesystem::remove(file));
    std::filesystem::remove(node.tree.root() + "/run/provision/" + folder);
  }
}

TEST_CASE("progress of another boot, and a damaged record, count as none") {
  Node node;
  node.write(ProgressState::done, kStart);
  CHECK(node.records("boot").load(kPf)->has_value());
  CHECK_FALSE(node.records("other").load(kPf)->has_value());
  std::ofstream(node.tree.root() + "/run/provision/progress/0000:18:00.0.json") << "{\"state\": 7";
  CHECK(node.fault(kStart) == "provisioning");
}
