#include "plugin/publish/feature_file.h"

#include "common/files.h"
#include "tests/plugin/tree.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

using Time = Publisher::Time;
const Time kNow{seconds{1000}};

std::string text_of(const std::string& path) {
  const auto text = read_file(path, 1 << 20);
  return text && *text ? **text : "missing";
}

// A node of tests/data, and the folder of feature files.
struct Node {
  Tree tree;
  TempDir folder;
  Log log;
  std::chrono::system_clock::time_point clock{seconds{1795743000}};  // 2026-11-27T01:30:00Z
  FeatureFile file{
      {.folder = folder.path("features.d"), .sys = tree.sys(), .clock = [this] { return clock; }}, log};

  explicit Node(const std::string& name = "h100_roce") : tree(name) {
    fs::create_directory(folder.path("features.d"));
    REQUIRE(log.open_file(folder.path("log")));
  }
  std::string path() const { return folder.path("features.d/vfrail"); }
  std::string logged() const { return text_of(folder.path("log")); }
  // All of its functions that have RDMA, in one pool.
  std::vector<PublishedPool> pools() const {
    Pool pool;
    pool.config.prefix = "nvidia.com";
    pool.config.name = "hostdev";
    for (const DeviceFacts& function : tree.scan().functions) {
      if (!function.rdma_capable) continue;
      PoolDevice device;
      device.facts = function;
      pool.devices.push_back(device);
    }
    return {PublishedPool(pool)};
  }
};

size_t count_of(const std::string& text, const std::string& part) {
  size_t out = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

}  // namespace

TEST_CASE("the feature file is written with the first pools, by the ports as sysfs has them") {
  Node node;
  CHECK(node.file.run_due(kNow) == Time::max());
  CHECK_FALSE(fs::exists(node.path()));
  CHECK_FALSE(node.file.follow(node.pools(), kNow));
  CHECK(node.file.run_due(kNow) == kNow + FeatureFile::kRenew);
  const std::string text = text_of(node.path());
  CHECK(text.find("# +expiry-time=2026-11-27T01:40:00Z\n") != std::string::npos);
  CHECK(text.find("vfrail.io/hostdev.fabric=roce\n") != std::string::npos);
  CHECK(text.find("vfrail.io/hostdev.speed=") != std::string::npos);
  struct stat info {};
  REQUIRE(::stat(node.path().c_str(), &info) == 0);
  CHECK((info.st_mode & 07777) == 0644);
  CHECK(std::distance(fs::directory_iterator(node.folder.path("features.d")), {}) == 1);
}

TEST_CASE("the feature file is renewed before its labels expire, and at once when they change") {
  Node node;
  node.file.follow(node.pools(), kNow);
  node.file.run_due(kNow);
  const std::string first = text_of(node.path());
  node.clock += minutes{3};
  CHECK_FALSE(node.file.follow(node.pools(), kNow + minutes{3}));
  CHECK(node.file.run_due(kNow + minutes{3}) == kNow + FeatureFile::kRenew);
  CHECK(text_of(node.path()) == first);
  SECTION("expiry") {
    node.clock += minutes{1};
    CHECK(node.file.run_due(kNow + minutes{4}) == kNow + minutes{8});
    CHECK(text_of(node.path()).find("# +expiry-time=2026-11-27T01:44:00Z\n") != std::string::npos);
  }
  SECTION("change") {
    node.file.follow({}, kNow + minutes{3});
    node.file.run_due(kNow + minutes{3});
    CHECK(text_of(node.path()).find("vfrail.io/") == std::string::npos);
  }
}

TEST_CASE("labels of a card stay when it is in a pod and nothing of it is seen") {
  Node node;
  const auto pools = node.pools();
  node.file.follow(pools, kNow);
  node.file.run_due(kNow);
  const std::string before = text_of(node.path());
  for (const PoolDevice& device : pools[0]->devices) node.tree.move_to_pod(device.id());
  node.file.follow(pools, kNow);
  node.file.run_due(kNow + FeatureFile::kRenew);
  CHECK(text_of(node.path()) == before);
}

TEST_CASE("the speed is the uplink's, whatever the representors beside it state") {
  Node node("mlx5_switchdev");
  node.tree.add(R"(
sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/net/enp3s0f0_0/speed = 10000
sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/net/enp3s0f0_1/speed = 10000
sys/devices/pci0000:00/0000:00:02.0/0000:03:00.0/net/enp3s0f0np0/speed = 100000
)");
  node.file.follow(node.pools(), kNow);
  node.file.run_due(kNow);
  CHECK(text_of(node.path()).find("vfrail.io/hostdev.speed=100\n") != std::string::npos);
}

TEST_CASE("a feature file that cannot be written is one warning, and is tried again") {
  Node node;
  SECTION("no folder") { fs::remove(node.folder.path("features.d")); }
  SECTION("a link in the place of the folder") {
    fs::remove(node.folder.path("features.d"));
    fs::create_directory(node.folder.path("elsewhere"));
    fs::create_directory_symlink("elsewhere", node.folder.path("features.d"));
  }
  SECTION("a folder in the place of the file") { fs::create_directories(node.path()); }
  node.file.follow(node.pools(), kNow);
  CHECK(node.file.run_due(kNow) == kNow + FeatureFile::kRetry);
  node.file.run_due(kNow + FeatureFile::kRetry);
  CHECK(count_of(node.logged(), "VF-NODE-LABELS") == 1);
  fs::remove_all(node.folder.path("features.d"));
  fs::create_directory(node.folder.path("features.d"));
  node.file.run_due(kNow + 2 * FeatureFile::kRetry);
  CHECK(text_of(node.path()).find("hostdev.count") != std::string::npos);
  CHECK(node.logged().find("written again") != std::string::npos);
}

TEST_CASE("nothing is written through what stands in the place of the feature file") {
  Node node;
  std::ofstream(node.folder.path("victim")) << "whole";
  const std::string name = GENERATE("vfrail", ".vfrail.tmp");
  SECTION("a symbolic link") {
    fs::create_symlink(node.folder.path("victim"), node.folder.path("features.d/" + name));
  }
  SECTION("a second name") {
    fs::create_hard_link(node.folder.path("victim"), node.folder.path("features.d/" + name));
  }
  SECTION("a FIFO") { REQUIRE(::mkfifo(node.folder.path("features.d/" + name).c_str(), 0600) == 0); }
  node.file.follow(node.pools(), kNow);
  node.file.run_due(kNow);
  CHECK(fs::is_regular_file(fs::symlink_status(node.path())));
  CHECK(text_of(node.path()).find("hostdev.count") != std::string::npos);
  CHECK(text_of(node.folder.path("victim")) == "whole");
}

TEST_CASE("the feature file goes with the plugin, unless another one has replaced it") {
  Node node;
  node.file.follow(node.pools(), kNow);
  node.file.run_due(kNow);
  SECTION("its own") {
    node.file.close(seconds{0});
    CHECK(fs::is_empty(node.folder.path("features.d")));
  }
  SECTION("another's") {
    REQUIRE(write_file(node.path(), "vfrail.io/vfs=1\n", 0644, Durability::renamed));
    node.file.close(seconds{0});
    CHECK(text_of(node.path()) == "vfrail.io/vfs=1\n");
  }
  CHECK(node.file.run_due(kNow + minutes{60}) == Time::max());
}

}  // namespace vfrail::test
