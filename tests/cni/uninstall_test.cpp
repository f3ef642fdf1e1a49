// cni/uninstall.h: everything that is ours goes, nothing else, and nothing while a pod needs it.
#include "cni/uninstall.h"

#include "cni/install.h"
#include "cni/record/record.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/container/claim_record.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << "x";
}

// A node that vfrail has been used on, among the files of others.
struct InstalledNode {
  test::TempDir dir;
  UninstallPlaces places = places_below(dir.path(), "/opt/cni/bin");

  InstalledNode() {
    fs::create_directories(places.cni_folder);
    REQUIRE(install(places.cni_folder, "vfrail"));
    REQUIRE(install(places.cni_folder, "host-device"));
    write(places.cni_folder + "/vfrail-check");
    write(places.cni_folder + "/bridge");
    REQUIRE(RecordStore::open(places.state, places.run + "/locks"));
    REQUIRE(write_allocated_nodes(places.run, *DeviceId::parse("0000:21:10.0"), {{"uverbs0"}, ""}));
    write(places.cdi + "/" + CdiSpec{.kind = "a/net-pci", .device = "0000:21:10.0", .edits = {}}.file_name());
    write(places.cdi + "/nvidia.json");
    write(places.device_info + "/nvidia.com-hostdev-0000:21:10.0-device.json");
    // A pod that has ended: DEL has ended the note, and the device-info file is still there.
    write(places.state + "/baselines/0000:21:10.2.json");
    write(places.device_info + "/nvidia.com-hostdev-0000:21:10.2-device.json");
    write(places.device_info + "/intel.com-other-0000:22:10.0-device.json");
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    for (const auto& one : fs::recursive_directory_iterator(dir.path())) {
      if (!one.is_directory()) out.push_back(one.path().string().substr(places.root.size()));
    }
    std::sort(out.begin(), out.end());
    return out;
  }
};

Record some_record() {
  Record record;
  record.attachment = {.container_id = "c1", .ifname = "net1"};
  record.device_key = "0000:21:10.0";
  return record;
}

}  // namespace

TEST_CASE("Uninstalling removes the files of vfrail under every name, and leaves those of others") {
  const InstalledNode node;
  const auto removed = uninstall(node.places);
  REQUIRE(removed);
  CHECK(removed->size() == 8);
  CHECK(node.files() ==
        std::vector<std::string>{"/opt/cni/bin/bridge", "/run/cdi/nvidia.json",
                                 "/run/k8s.cni.cncf.io/devinfo/dp/intel.com-other-0000:22:10.0-device.json"});
  CHECK_FALSE(fs::exists(node.places.state));
  CHECK_FALSE(fs::exists(node.places.run));
}

TEST_CASE("Uninstalling removes the specs of a plugin with another CDI folder as well") {
  const auto [cdi, on_node] = GENERATE(table<std::string, std::string>(
      {{"/etc/cdi", "/etc/cdi"},
       {"/var/run/more", "/run/more"}}));  // /var/run is a link that leads out of it
  const InstalledNode node;
  const UninstallPlaces places = places_below(node.places.root, "/opt/cni/bin", {.cdi_folder = cdi});
  write(node.dir.path(on_node) + "/vfrail-a-net-pci-0000:21:10.2.json");
  write(node.dir.path(on_node) + "/nvidia.json");
  const auto removed = uninstall(places);
  REQUIRE(removed);
  CHECK(removed->size() == 9);
  CHECK_FALSE(fs::exists(node.dir.path(on_node) + "/vfrail-a-net-pci-0000:21:10.2.json"));
  CHECK(fs::exists(node.dir.path(on_node) + "/nvidia.json"));
}

TEST_CASE("Uninstalling again, or where nothing was installed, is no error") {
  const InstalledNode node;
  REQUIRE(uninstall(node.places));
  CHECK(uninstall(node.places)->empty());
  const test::TempDir empty;
  CHECK(uninstall(places_below(empty.path(), "/opt/cni/bin"))->empty());
}

TEST_CASE("Uninstalling is refused while an attachment is recorded, and then removes nothing") {
  const InstalledNode node;
  const auto store = RecordStore::open(node.places.state, node.places.run + "/locks");
  REQUIRE(store->save(some_record()));
  const auto before = node.files();
  const auto refused = uninstall(node.places);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::busy);
  CHECK(refused.error().text.find("1 attachments are recorded (net1 of container c1)") != std::string::npos);
  CHECK(refused.error().text.find("run /opt/cni/bin/vfrail sweep on the node") != std::string::npos);
  CHECK(node.files() == before);
}

namespace {

void make_socket(const fs::path& path) {
  fs::create_directories(path.parent_path());
  REQUIRE(::mknod(path.c_str(), S_IFSOCK | 0600, 0) == 0);
}

// As a serve that was killed has left it, in an update.
void add_driver(const InstalledNode& node, const std::string& kubelet, const std::string& driver) {
  const std::string folder = node.places.root + kubelet;
  make_socket(folder + "/plugins/" + driver + "/dra.sock");
  make_socket(folder + "/plugins/" + driver + "/dra-uid-2.sock");
  make_socket(folder + "/plugins_registry/" + driver + "-reg.sock");
  make_socket(folder + "/plugins_registry/" + driver + "-uid-2-reg.sock");
}

}  // namespace

TEST_CASE("Uninstalling removes what the DRA driver had in kubelet's folders, and says so") {
  const InstalledNode node;
  const auto [kubelet, driver] = GENERATE(table<std::string, std::string>(
      {{"/var/lib/kubelet", "vfrail.io"}, {"/var/lib/k0s/kubelet", "nics.example.com"}}));
  const std::string folder = node.places.root + kubelet;
  const std::string plugin = folder + "/plugins/" + driver;
  add_driver(node, kubelet, driver);
  make_socket(folder + "/plugins/gpu.example.com/dra.sock");
  make_socket(folder + "/plugins_registry/" + driver + ".example.com-reg.sock");
  make_socket(folder + "/plugins_registry/" + driver + "-more.example.com-reg.sock");
  write(folder + "/plugins_registry/" + driver + "-reg.socks");
  const bool foreign = GENERATE(false, true);
  if (foreign) write(plugin + "/of-somebody");
  const auto removed = uninstall(
      places_below(node.places.root, "/opt/cni/bin", {.kubelet_folder = kubelet, .driver = driver}));
  REQUIRE(removed);
  CHECK(std::count(removed->begin(), removed->end(), plugin) == (foreign ? 0 : 1));
  CHECK(std::count(removed->begin(), removed->end(), folder + "/plugins_registry/" + driver + "-reg.sock") ==
        1);
  CHECK(fs::exists(plugin) == foreign);
  std::vector<std::string> left;
  for (const std::string& file : node.files()) {
    if (file.starts_with(kubelet)) left.push_back(file.substr(kubelet.size()));
  }
  std::vector<std::string> wanted{"/plugins/gpu.example.com/dra.sock",
                                  "/plugins_registry/" + driver + "-reg.socks",
                                  "/plugins_registry/" + driver + ".example.com-reg.sock",
                                  "/plugins_registry/" + driver + "-more.example.com-reg.sock"};
  if (foreign) wanted.push_back("/plugins/" + driver + "/of-somebody");
  std::sort(wanted.begin(), wanted.end());
  CHECK(left == wanted);
}

TEST_CASE("Uninstalling is refused while a claim is prepared, and the driver's folder stays") {
  const InstalledNode node;
  add_driver(node, "/var/lib/kubelet", "vfrail.io");
  ClaimRecord record{.claim = {"demo", "nics", "uid-1"},
                     .pod = {"trainer-0", "pod-uid"},
                     .node_pool = "node",
                     .requests = {{"nic", {{"0000-21-10-0", "nvidia.com/hostdev", "0000:21:10.0"}}}}};
  REQUIRE(write_claim(node.places.run, record));
  const auto before = node.files();
  const auto refused = uninstall(node.places);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::busy);
  CHECK(refused.error().text.find("1 ResourceClaim is prepared (claim demo/nics of pod trainer-0)") !=
        std::string::npos);
  CHECK(refused.error().text.find("folder /var/lib/kubelet/plugins/vfrail.io") != std::string::npos);
  CHECK(node.files() == before);
  REQUIRE(remove_claim(node.places.run, "uid-1"));
  CHECK(uninstall(node.places));
  CHECK_FALSE(fs::exists(node.places.kubelet + "/plugins/vfrail.io"));
}

TEST_CASE("Uninstalling keeps the record of an ADD that was at work when its executable went") {
  // The record comes between the removal of the first executable and that of the state, which many files to
  // look at make likely; else it is tried again.
  const auto deadline = std::chrono::steady_clock::now() + test::kDeadline;
  for (bool kept = false; !kept;) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    const InstalledNode node;
    for (int i = 0; i < 3000; ++i) write(node.places.cni_folder + "/zz" + std::to_string(i));
    const auto store = RecordStore::open(node.places.state, node.places.run + "/locks");
    std::jthread add([&] {
      while (fs::exists(node.places.cni_folder + "/host-device")) {
      }
      (void)store->save(some_record());
    });
    const auto removed = uninstall(node.places);
    add.join();
    if (removed || removed.error().code != Errc::busy) continue;
    kept = true;
    CHECK(removed.error().text.find("install it again") != std::string::npos);
    CHECK(fs::exists(node.places.state + "/attachments/c1:net1.json"));
  }
}

}  // namespace vfrail
