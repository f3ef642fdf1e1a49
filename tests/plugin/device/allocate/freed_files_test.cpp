// plugin/device/allocate/freed_files.h: what Allocate has written goes when its device is free, and not
// before.
#include "plugin/device/allocate/freed_files.h"

#include "common/container/allocated_nodes.h"
#include "common/container/allocated_unit.h"
#include "common/files.h"
#include "plugin/device/allocate/prepared_record.h"
#include "tests/support/temp_dir.h"

#include <filesystem>

#include <catch2/catch.hpp>

namespace vfrail::plugin {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kDevice = "0000:03:02.1";
constexpr const char* kResource = "nvidia.com/hostdev";
constexpr seconds kAfter{30};

struct FreedNode {
  test::TempDir dir;
  FreedFiles freed{{.run_dir = dir.path("run"), .device_info_dir = dir.path("devinfo"), .after = kAfter}};
  DevicesInUse in_use;
  AttachedDevices attached;
  FreedFiles::Time now{};

  FreedNode() { fs::create_directories(dir.path("devinfo")); }
  void allocate(const std::string& device = kDevice) const {
    REQUIRE(write_file(info(device), "{}", 0444, Durability::renamed));
    REQUIRE(write_allocated_nodes(dir.path("run"), *DeviceId::parse(device), {{"uverbs3"}, ""}));
  }
  std::string info(const std::string& device = kDevice) const {
    return dir.path("devinfo/nvidia.com-hostdev-" + device + "-device.json");
  }
  bool has(const std::string& device = kDevice) const {
    const bool nodes = fs::exists(dir.path("run/promised/" + device + ".json"));
    CHECK(fs::exists(info(device)) == nodes);
    return nodes;
  }
  // Kubelet answers at once, so much later.
  FreedFiles::Outcome answer(seconds later = kAfter) {
    now += later;
    auto out = freed.follow(in_use, attached, now, now);
    REQUIRE(out);
    return *out;
  }
};

}  // namespace

TEST_CASE("the files of a device that kubelet has called free for a while are removed") {
  FreedNode node;
  node.allocate();
  node.allocate("0000:03:02.2");
  node.in_use.resources[kResource]["0000:03:02.2"] = {"default", "p", "c"};
  const auto first = node.answer();
  CHECK(first.removed.empty());
  CHECK(first.ask_at == node.now + kAfter);
  CHECK(node.has());
  CHECK(node.answer(kAfter - seconds{1}).removed.empty());
  const auto last = node.answer(seconds{1});
  CHECK(last.removed == std::vector<std::string>{kDevice});
  CHECK_FALSE(last.ask_at);
  CHECK_FALSE(node.has());
  CHECK(node.has("0000:03:02.2"));
}

TEST_CASE("the files of a device stay while anything may need them") {
  FreedNode node;
  node.allocate();
  SECTION("a container has it") { node.in_use.resources[kResource][kDevice] = {"default", "p", "c"}; }
  SECTION("a container has it by a unit, which the pool may have lost") {
    node.in_use.resources["rdma/hca"]["bundle-3"] = {"default", "p", "c"};
    REQUIRE(
        write_allocated_unit(node.dir.path("run"), {"bundle-3", "rdma/hca", {*DeviceId::parse(kDevice)}}));
  }
  SECTION("it is attached, so a DEL comes") { node.attached.emplace(kDevice, AttachmentName{"c1", "net1"}); }
  SECTION("it is prepared for a claim") {
    PreparedRecord record{.owner = "uid", .asked = {}, .files = {}};
    record.files.allocated_nodes.push_back(*DeviceId::parse(kDevice));
    REQUIRE(write_prepared(node.dir.path("run"), record));
  }
  for (int i = 0; i < 3; ++i) {
    const auto done = node.answer();
    CHECK(done.removed.empty());
    CHECK_FALSE(done.ask_at);
  }
  CHECK(node.has());
}

TEST_CASE("the files of a later Allocate stay, of which kubelet does not know yet") {
  FreedNode node;
  node.allocate();
  node.answer();
  node.allocate();
  CHECK(node.answer().removed.empty());
  CHECK(node.has());
  // An answer that was asked for before the files were seen says nothing about them.
  FreedNode late;
  late.allocate();
  late.answer();
  const auto asked = late.now;
  late.now += std::chrono::hours{1};
  const auto done = late.freed.follow(late.in_use, late.attached, asked, late.now);
  REQUIRE(done);
  CHECK(done->removed.empty());
  CHECK(late.has());
}

TEST_CASE("a device that is in use in between is free only from then on") {
  FreedNode node;
  node.allocate();
  node.answer();
  node.in_use.resources[kResource][kDevice] = {"default", "p", "c"};
  node.answer();
  node.in_use = {};
  CHECK(node.answer().removed.empty());
  CHECK(node.answer().removed.size() == 1);
}

TEST_CASE("what is not known of the devices in use removes nothing") {
  FreedNode node;
  node.allocate();
  node.answer();
  node.in_use.resources["rdma/hca"]["bundle-3"] = {"default", "p", "c"};
  fs::create_directories(node.dir.path("run/promised/bundle-3~rdma~hca.json"));
  node.now += kAfter;
  CHECK_FALSE(node.freed.follow(node.in_use, node.attached, node.now, node.now));
  CHECK(node.has());
}

}  // namespace vfrail::plugin
