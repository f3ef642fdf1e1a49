// `vfrail-cni sweep` on the fake node: whatever was killed or never asked for, a sweep alone makes the node
// what it was, and leaves alone what lives.
#include "cni/sweep/sweep.h"
#include "tests/cni/fake_node.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr const char* kVf = "0000:21:10.0";
constexpr const char* kName = "enp1s0f0v0";

// A VF with an RDMA device and settings at its PF, and a pod.
struct ReconciledNode : FakeNode {
  ReconciledNode() {
    world.add_pf("0000:21:00.0", "enp1s0f0");
    world.add_vf(kVf, kName, "0000:21:00.0");
    world.vf(kVf).vlan = VfVlan{7, 0, 0x8100};
    world.add_rdma(kVf, "mlx5_0");
    world.link(kName).mtu = 1400;
    world.link(kName).tx_queue_len = 500;
    world.link(kName).altnames = {"rail0"};
    world.add_netns(kPod);
    world.add_netns("/run/netns/b");
    install_lease_ipam("fake-ipam", kOneAddress);
    REQUIRE(RecordStore::open(dir.path("state"), dir.path("locks")));
    makes_state_folder = false;
  }

  static std::string config(const std::string& type = "vfrail") {
    return R"({"cniVersion":"1.0.0","name":"rail0","type":")" + type +
           R"(","deviceID":"0000:21:10.0","mtu":9000,"vlan":100,"trust":"on","ipam":{"type":"fake-ipam"}})";
  }
  Result<AddResult> add() { return FakeNode::add(config()); }
  Result<> del(const std::string& type = "vfrail") { return FakeNode::del(config(type)); }
  Result<SweepReport> try_sweep(SweepOptions options = {}) {
    options.cni_path = dir.path();
    return process([&](World& w) { return vfrail::cni::sweep(w, options); });
  }
  std::string sweep(const SweepOptions& options = {}) {
    const auto report = try_sweep(options);
    REQUIRE(report);
    INFO(report->text());
    REQUIRE(report->all_well());
    return report->text();
  }

  void write(const std::string& file, const std::string& text) {
    const fs::path path = dir.path(file);
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Link pod_link() {
    const auto link = world.open(*world.netns_at(kPod))->find_link("net1");
    REQUIRE(link);
    REQUIRE(*link);
    return **link;
  }

  // The kernel's side, the addresses given out, and each file of ours with what is in it.
  std::string everything() const {
    std::string out = world.snapshot();
    std::vector<std::string> files;
    for (const std::string& folder :
         {dir.path("leases"), dir.path("state"), dir.path("run"), dir.path("locks")}) {
      std::error_code missing;
      for (const auto& entry : fs::recursive_directory_iterator(folder, missing)) {
        // What a device was before its first attachment is kept until the next boot.
        if (entry.path().string().find("/baselines") != std::string::npos) continue;
        if (entry.is_directory() && entry.path().filename() == "unclean") continue;
        std::ostringstream text;
        if (entry.is_symlink()) {
          text << fs::read_symlink(entry.path());
        } else if (entry.is_regular_file()) {
          text << std::ifstream(entry.path()).rdbuf();
        }
        files.push_back(entry.path().string().substr(folder.size()) + ": " + text.str());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) out += file + "\n";
    return out;
  }
  std::string settings() { return world.vf(kVf).text(); }
};

std::string pristine(bool pod_ended = false) {
  ReconciledNode node;
  if (pod_ended) node.world.end_netns(kPod);
  return node.everything();
}

// No call that changes anything.
bool only_looked(const FakeWorld& world) {
  return std::all_of(world.log().begin(), world.log().end(), [](const std::string& call) {
    for (const char* change : {"change_", "add_", "remove_", "write_", "move_", "rebind"}) {
      if (call.starts_with(change)) return false;
    }
    return true;
  });
}

}  // namespace

TEST_CASE("a sweep of a node without attachments does nothing") {
  ReconciledNode node;
  CHECK(node.sweep() == "nothing to do\n");
  CHECK(node.everything() == pristine());
}

TEST_CASE("a sweep leaves an active attachment alone") {
  ReconciledNode node;
  REQUIRE(node.add());
  const std::string during = node.everything();
  CHECK(node.sweep() ==
        "kept: 0000:21:10.0 (net1 of container c1, network rail0): its pod still exists\n1 kept\n");
  CHECK(node.everything() == during);
}

TEST_CASE("a sweep restores the device and releases the address of a pod that ended without DEL") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  CHECK(node.sweep() ==
        "released: 0000:21:10.0 (net1 of container c1, network rail0): its namespace has ended\n"
        "1 released\n");
  CHECK(node.everything() == pristine(true));
  CHECK(node.sweep() == "nothing to do\n");
}

TEST_CASE("the address of an ended pod is released even when another pod has its device") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  node.container = "c2";
  const Request second = node.request(Command::add, ReconciledNode::config(), "/run/netns/b");
  node.container = "c1";
  REQUIRE(node.process([&](World& w) { return vfrail::cni::add(second, w); }));
  const std::string during = node.world.snapshot();
  CHECK_THAT(node.sweep(), Contains("released: 0000:21:10.0 (net1 of container c1,") &&
                               Contains("kept: 0000:21:10.0 (net1 of container c2,"));
  CHECK(node.world.snapshot() == during);
  CHECK_FALSE(fs::exists(node.dir.path("leases/c1.net1")));
  CHECK(fs::exists(node.dir.path("leases/c2.net1")));
  REQUIRE(node.process([&](World& w) { return vfrail::cni::del(second, w); }));
  CHECK(node.everything() == pristine(true));
}

TEST_CASE("a sweep escapes control characters in names, because terminals print them") {
  SweepReport report;
  report.lines.push_back({SweepAction::kept, "net\x1b[2J", "of \nforged: line\xC2\x9b"});
  CHECK_THAT(report.text(), Contains("net\\x1b[2J: of \\x0aforged: line\\xc2\\x9b\n"));
}

TEST_CASE("a sweep waits for a device that the kernel has not yet returned") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  const auto host = node.world.open(FakeWorld::kHost);
  const int ending = node.world.add_netns("/ending");
  REQUIRE(
      host->change_link(node.world.link("net1").index, {.netns_fd = node.world.open(ending)->netns_fd()}));
  node.world.while_waiting = [&] { node.world.end_netns("/ending"); };
  CHECK_THAT(node.sweep(), Contains("1 released"));
  CHECK(node.everything() == pristine(true));
}

TEST_CASE("an ADD killed at any call is undone by a sweep alone", "[sweep]") {
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    ReconciledNode node;
    node.world.kill_call(call);
    if (!killed([&] { (void)node.add(); })) break;
    INFO("killed at call " << call << " (" << node.world.log().back() << ")");
    node.world.forget_faults();
    const std::string text = node.sweep();
    INFO(text);
    if (text.find("kept") == std::string::npos) {
      REQUIRE(node.everything() == pristine());
      continue;
    }
    // The pod has it, so it may be running for all that we know.
    REQUIRE(node.pod_link().name == "net1");
    node.world.end_netns(kPod);
    node.sweep();
    REQUIRE(node.everything() == pristine(true));
  }
  WARN("kill points tried in ADD, then a sweep: " << points);
  CHECK(points > 10);
}

TEST_CASE("a DEL killed at any call is completed by a sweep alone", "[sweep]") {
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    ReconciledNode node;
    REQUIRE(node.add());
    node.world.forget_faults();
    node.world.kill_call(call);
    if (!killed([&] { (void)node.del(); })) break;
    INFO("killed at call " << call << " (" << node.world.log().back() << ")");
    node.world.forget_faults();
    node.sweep();
    node.world.end_netns(kPod);
    node.sweep();
    REQUIRE(node.everything() == pristine(true));
  }
  CHECK(points > 5);
}

TEST_CASE("a sweep in which any call fails, or is the last one, is completed by the next", "[sweep]") {
  const bool kill = GENERATE(false, true);
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    ReconciledNode node;
    REQUIRE(node.add());
    node.world.end_netns(kPod);
    node.world.forget_faults();
    if (kill) {
      node.world.kill_call(call);
      if (!killed([&] { (void)node.try_sweep(); })) break;
    } else {
      node.world.fail_call(call, EIO, FakeWorld::When::before);
      const auto report = node.try_sweep();
      if (node.world.calls() < call) break;
    }
    INFO((kill ? "killed at call " : "failed call ") << call);
    node.world.forget_faults();
    node.sweep();
    REQUIRE(node.everything() == pristine(true));
  }
  CHECK(points > 5);
}

// The call of an ADD that is the first to change something: what comes before only reads.
int first_change() {
  ReconciledNode node;
  REQUIRE(node.add());
  const auto& log = node.world.log();
  const auto at = std::find_if(log.begin(), log.end(),
                               [](const std::string& call) { return call.starts_with("change_"); });
  return static_cast<int>(at - log.begin()) + 1;
}

TEST_CASE("a dry run reports what a sweep would do and changes nothing") {
  ReconciledNode node;
  SECTION("ended") {
    REQUIRE(node.add());
    node.world.end_netns(kPod);
  }
  SECTION("killed before the move") {
    node.world.kill_call(first_change());
    REQUIRE(killed([&] { (void)node.add(); }));
    node.world.forget_faults();
    REQUIRE(node.world.snapshot().find("link net1") == std::string::npos);
  }
  SECTION("of an earlier boot") {
    REQUIRE(node.add());
    node.write("root/proc/sys/kernel/random/boot_id", "boot-2\n");
  }
  const std::string during = node.everything();
  const auto written = fs::last_write_time(node.dir.path("locks"));
  node.world.forget_faults();
  const std::string said = node.sweep({.dry_run = true});
  CHECK_THAT(said, Contains("would be released: 0000:21:10.0 (net1 of container c1, network rail0): "));
  CHECK(node.everything() == during);
  CHECK(fs::last_write_time(node.dir.path("locks")) == written);
  CHECK(only_looked(node.world));
  CHECK_THAT(node.sweep(), Contains("1 released"));
}

TEST_CASE("a dry run does not create a missing state folder") {
  ReconciledNode node;
  fs::remove_all(node.dir.path("state"));
  CHECK(node.sweep({.dry_run = true}) == "nothing to do\n");
  CHECK_FALSE(fs::exists(node.dir.path("state")));
}

TEST_CASE("a record from before a reboot is removed, its address released, the device not touched") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  node.write("root/proc/sys/kernel/random/boot_id", "boot-2\n");
  const std::string after_boot = node.world.snapshot();
  CHECK_THAT(node.sweep(), Contains("released: ") && Contains("it is of an earlier boot"));
  CHECK(node.world.snapshot() == after_boot);
  CHECK(fs::is_empty(node.dir.path("state/attachments")));
  CHECK(fs::is_empty(node.dir.path("state/devices")));
  CHECK(fs::is_empty(node.dir.path("leases")));
}

TEST_CASE("a device that its pod has moved to another namespace is left alone and reported") {
  ReconciledNode node;
  REQUIRE(node.add());
  const auto pod = node.world.open(*node.world.netns_at(kPod));
  const auto other = node.world.open(*node.world.netns_at("/run/netns/b"));
  REQUIRE(pod->change_link(node.pod_link().index, {.netns_fd = other->netns_fd()}));
  const std::string during = node.everything();
  CHECK_THAT(node.sweep(), Contains("kept") && Contains("the pod has moved it on"));
  CHECK(node.everything() == during);
}

TEST_CASE("a device of an ended pod that is in another pod by now is not touched, which is an error") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  const auto host = node.world.open(FakeWorld::kHost);
  const auto other = node.world.open(*node.world.netns_at("/run/netns/b"));
  REQUIRE(host->change_link(node.world.link("net1").index, {.netns_fd = other->netns_fd()}));
  node.world.vf(kVf).vlan = VfVlan{200, 0, 0x8100};
  const std::string during = node.world.snapshot();
  const auto report = node.try_sweep();
  REQUIRE(report);
  CHECK_FALSE(report->all_well());
  CHECK_THAT(report->text(), Contains("failed: 0000:21:10.0 (net1 of container c1, network rail0): "
                                      "restore 0000:21:10.0: the interface of 0000:21:10.0") &&
                                 Contains("has not returned to the host"));
  CHECK(node.world.snapshot() == during);
}

TEST_CASE("a device that another plugin has given to a running pod is not taken out of it") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  const int b = *node.world.netns_at("/run/netns/b");
  node.write("root/proc/self/mountinfo",
             "36 35 0:4 net:[" + std::to_string(b) + "] /run/netns/b rw shared:7 - nsfs nsfs rw\n");
  // Who says so: libcni's cache, the marker of sriov-cni, or another record of ours.
  const std::string file =
      GENERATE(as<std::string>(), "root/var/lib/cni/multus/results/n-c2-net1",
               "root/var/lib/cni/results/n-c2-eth0", "root/var/lib/cni/sriov/pci/0000:21:10.0");
  const bool cached = file.find("results") != std::string::npos;
  node.write(file, cached ? R"({"kind":"cniCacheV1","netns":"/run/netns/b"})" : "/run/netns/b");
  node.write("root/var/lib/cni/results/torn", "{");
  node.world.move(FakeWorld::kHost, "net1", b);
  const auto host = node.world.open(FakeWorld::kHost);
  REQUIRE(host->move_rdma_device(0, node.world.open(b)->netns_fd()));
  const std::string during = node.world.snapshot();
  const auto deleted = node.FakeNode::del(node.config(), "");
  REQUIRE_FALSE(deleted);
  CHECK(deleted.error().code == Errc::busy);
  CHECK_THAT(deleted.error().text, Contains("has not returned to the host") && Contains("/run/netns/b") &&
                                       Contains("its interface is net1 in another pod"));
  const auto report = node.try_sweep();
  REQUIRE(report);
  CHECK_FALSE(report->all_well());
  CHECK(node.world.snapshot() == during);
}

TEST_CASE("a pod whose path is gone while a process of it lives has not ended") {
  ReconciledNode node;
  REQUIRE(node.add());
  const int pod = *node.world.netns_at(kPod);
  const auto link = fs::path(node.dir.path("root/proc/77/ns/net"));
  fs::create_directories(link.parent_path());
  fs::create_symlink("net:[" + std::to_string(pod) + "]", link);
  node.world.rename_path(kPod, link);
  const std::string during = node.everything();
  CHECK_THAT(node.sweep(), Contains("kept") && Contains("its pod still exists"));
  node.container = "c2";
  const auto added = node.FakeNode::add(node.config(), "/run/netns/b");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::busy);
  CHECK(node.everything() == during);
  // Its own DEL fetches it, though.
  node.container = "c1";
  REQUIRE(node.FakeNode::del(node.config(), ""));
  CHECK(node.has("netns 1 link enp1s0f0v0 "));
}

TEST_CASE("an ADD does not take a device that a running pod has moved to a namespace of its own") {
  ReconciledNode node;
  REQUIRE(node.add());
  const auto link = fs::path(node.dir.path("root/proc/77/ns/net"));
  const int nested = node.world.add_netns(link);
  fs::create_directories(link.parent_path());
  fs::create_symlink("net:[" + std::to_string(nested) + "]", link);
  node.world.move(*node.world.netns_at(kPod), "net1", nested);
  const std::string during = node.everything();
  node.container = "c2";
  const auto added = node.FakeNode::add(node.config(), "/run/netns/b");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Errc::busy);
  CHECK_THAT(added.error().text, Contains("is attached to net1 of container c1"));
  CHECK(node.everything() == during);
}

TEST_CASE("whether an RDMA device is in the host is known by its index, whoever has its name") {
  ReconciledNode node;
  node.world.add_vf("0000:21:10.2", "enp1s0f0v1");
  node.world.add_rdma("0000:21:10.2", "mlx5_1");
  REQUIRE(node.add());
  std::string text = node.text("state/attachments/c1:net1.json");
  auto json = Json::parse(text);
  REQUIRE(json);
  // As an entry of a chain that moved the RDMA device only.
  node.write("state/attachments/c1:net1.json", json->set("link", Json()).text());
  const auto pod = node.world.open(*node.world.netns_at(kPod));
  const int nested = node.world.add_netns("/run/netns/nested");
  REQUIRE(pod->move_rdma_device(0, node.world.open(nested)->netns_fd()));
  node.world.rdma("mlx5_0").device.name = "moved_on";
  node.world.rdma("mlx5_1").device.name = "mlx5_0";
  CHECK_THAT(node.sweep(), Contains("kept") && Contains("the pod has moved it on"));
}

TEST_CASE("an unreadable record is quarantined, and its device is free") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.write("state/attachments/c1:net1.json", "{ torn");
  CHECK_THAT(node.sweep({.dry_run = true}), Contains("would be removed: record of net1 of container c1: "));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net1.json")));
  CHECK_THAT(node.sweep(), Contains("removed: record of net1 of container c1: "));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net1.corrupt")));
  CHECK(fs::is_empty(node.dir.path("state/devices")));
}

TEST_CASE("files that killed processes left are removed, files in use are not") {
  ReconciledNode node;
  node.write("state/devices/0000:21:10.2.new", "{");
  node.write("state/devices/0000:21:10.4.new", "{");
  node.write("locks/0000:21:10.2", "");
  node.write("locks/rdma", "");
  fs::create_symlink("c9:net1", node.dir.path("state/devices/0000:21:10.2"));
  std::optional<FileLock> held;
  held.emplace(*FileLock::acquire(node.dir.path("locks/0000:21:10.4"), {}));
  const std::string before = node.everything();
  CHECK_THAT(node.sweep({.dry_run = true}), Contains("4 would be removed"));
  CHECK(node.everything() == before);
  CHECK_THAT(node.sweep(), Contains("\n4 removed\n"));
  CHECK(fs::exists(node.dir.path("state/devices/0000:21:10.4.new")));
  CHECK(fs::exists(node.dir.path("locks/0000:21:10.4")));
  held.reset();
  SECTION("by the next sweep") { CHECK_THAT(node.sweep(), Contains("1 removed")); }
  SECTION("by GC, of whatever network") {
    REQUIRE(node.process([&](World& outside) {
      return vfrail::cni::gc(
          node.request(Command::gc, R"({"cniVersion":"1.1.0","name":"other","type":"vfrail"})"), outside);
    }));
  }
  CHECK(node.everything() == pristine());
}

TEST_CASE("a device that an ADD or DEL has locked is skipped") {
  ReconciledNode node;
  node.world.kill_call(first_change());
  REQUIRE(killed([&] { (void)node.add(); }));
  node.world.forget_faults();
  const auto held = FileLock::acquire(node.dir.path(std::string("locks/") + kVf), {});
  REQUIRE(held);
  const std::string during = node.everything();
  CHECK_THAT(node.sweep({.dry_run = true}), Contains("kept") && Contains("at work on it"));
  const auto report = node.try_sweep();
  REQUIRE(report);
  CHECK_FALSE(report->all_well());
  CHECK(node.everything() == during);
}

TEST_CASE("a new pod under the name of the attachment to release is left alone") {
  ReconciledNode node;
  REQUIRE(node.add());
  const auto old = node.process([](World& w) { return w.store.load({"c1", "net1"}); });
  REQUIRE(old);
  REQUIRE(*old);
  node.world.end_netns(kPod);
  node.world.add_netns(kPod);
  REQUIRE(node.add());  // between the sweep's read and its lock
  const std::string during = node.everything();
  const auto done = node.process([&](World& w) { return undo(**old, w, [] { return true; }); });
  REQUIRE(done.ok());
  CHECK_FALSE(*done);
  CHECK(node.everything() == during);
}

TEST_CASE("an ADD under the name of the attachment being released waits, and keeps its address") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.world.end_netns(kPod);
  const auto old = node.process([](World& w) { return w.store.load({"c1", "net1"}); });
  node.world.add_netns(kPod);
  const auto done = node.process([&](World& w) {
    return undo(**old, w, [&]() -> Result<bool> {
      const auto added = node.add();
      CHECK_FALSE(added);
      if (!added) CHECK_THAT(added.error().text, Contains("clean-up of net1 of container c1"));
      return true;
    });
  });
  REQUIRE(done.ok());
  CHECK(*done);
  CHECK(node.everything() == pristine(true));
  CHECK(node.add());
}

namespace {

std::string base64(const std::string& text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < text.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (i + j < text.size() ? static_cast<unsigned char>(text[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) out += i + j > text.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return out;
}

// What libcni writes (cacheAdd()).
std::string cache_of(const std::string& config) {
  return R"({"kind":"cniCacheV1","containerId":"c1","config":")" + base64(config) +
         R"(","ifName":"net1","networkName":"rail0","netns":"/run/netns/a",)"
         R"("cniArgs":[["IgnoreUnknown","true"],["K8S_POD_NAME","p"]],"result":{}})";
}

constexpr const char* kCache = "root/var/lib/cni/multus/results/rail0-c1-net1";
constexpr const char* kState = "root/var/lib/cni/sriov/c1-net1";
constexpr const char* kMarker = "root/var/lib/cni/sriov/pci/0000:21:10.0";

// The VF goes into the pod as sriov-cni does it.
void attach_by_sriov_cni(ReconciledNode& node) {
  const VfSettings before = node.world.vf(kVf);
  const Link link = node.world.link(kName);
  node.world.vf(kVf).vlan = VfVlan{100, 0, 0x8100};
  node.world.vf(kVf).trust = true;
  const auto host = node.world.open(FakeWorld::kHost);
  const auto pod = node.world.open(*node.world.netns_at(kPod));
  REQUIRE(
      host->change_link(link.index, {.netns_fd = pod->netns_fd(), .name = "net1", .mtu = 9000, .up = true}));
  node.write(
      kState,
      R"({"cniVersion":"1.0.0","name":"rail0","type":"sriov","ipam":{"type":"fake-ipam"},"dns":{},)"
      R"("OrigVfState":{"HostIFName":"enp1s0f0v0","SpoofChk":true,"Trust":false,)"
      R"("AdminMAC":"00:00:00:00:00:00","EffectiveMAC":")" +
          link.mac.text() +
          R"(","Vlan":7,"VlanQoS":0,"VlanProto":33024,"MinTxRate":0,"MaxTxRate":0,"LinkState":0,"MTU":1400},)"
          R"("Master":"enp1s0f0","MAC":"","MTU":9000,"vlan":100,"vlanQoS":0,"vlanProto":"802.1q",)"
          R"("deviceID":"0000:21:10.0","VFID":0,"min_tx_rate":null,"max_tx_rate":null,"trust":"on",)"
          R"("runtimeConfig":{},"logLevel":"info"})");
  node.write(kMarker, kPod);
  std::ofstream(node.dir.path("leases/c1.net1"));
}

}  // namespace

TEST_CASE("an attachment of sriov-cni is reported, and adopted only on demand") {
  ReconciledNode node;
  attach_by_sriov_cni(node);
  node.write(kCache, cache_of(node.config("sriov")));
  const std::string during = node.everything();
  CHECK(node.sweep() ==
        "kept: 0000:21:10.0 (net1 of container c1, network rail0): attached by sriov-cni, can be taken over "
        "with --adopt\n1 kept\n");
  CHECK_THAT(node.sweep({.dry_run = true, .adopt = true}), Contains("would be taken over: 0000:21:10.0"));
  CHECK(node.everything() == during);
  CHECK_THAT(node.sweep({.adopt = true}), Contains("1 taken over"));
  CHECK_THAT(node.sweep({.adopt = true}), Contains("its pod still exists\n1 kept"));
}

TEST_CASE("an adopted attachment of sriov-cni is released like one of vfrail") {
  const bool with_cache = GENERATE(true, false);
  CAPTURE(with_cache);
  ReconciledNode node;
  attach_by_sriov_cni(node);
  if (with_cache) node.write(kCache, cache_of(node.config("sriov")));
  CHECK_THAT(node.sweep({.adopt = true}), Contains("1 taken over"));
  SECTION("by DEL under its name") {
    REQUIRE(node.del("sriov"));
    CHECK(node.everything() == pristine());
  }
  SECTION("by a sweep when the pod has ended") {
    node.world.end_netns(kPod);
    CHECK_THAT(node.sweep(), Contains("1 released"));
    CHECK(node.everything() == pristine(true));
  }
  // It is not reported again, and its own files are still there for going back.
  CHECK(node.sweep() == "nothing to do\n");
  CHECK(fs::exists(node.dir.path(kState)));
}

TEST_CASE("an adoption in which any call fails, or is the last one, can be repeated", "[sweep]") {
  const bool kill = GENERATE(false, true);
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    ReconciledNode node;
    attach_by_sriov_cni(node);
    node.world.forget_faults();
    if (kill) {
      node.world.kill_call(call);
      if (!killed([&] { (void)node.try_sweep({.adopt = true}); })) break;
    } else {
      node.world.fail_call(call, EIO, FakeWorld::When::before);
      (void)node.try_sweep({.adopt = true});
      if (node.world.calls() < call) break;
    }
    INFO("call " << call << " of " << node.world.calls());
    node.world.forget_faults();
    node.sweep({.adopt = true});
    REQUIRE(node.del("sriov"));
    REQUIRE(node.everything() == pristine());
  }
  CHECK(points > 3);
}

TEST_CASE("state of sriov-cni whose pod has ended, or whose device is not in that pod, is ignored") {
  ReconciledNode node;
  SECTION("ended") {
    attach_by_sriov_cni(node);
    node.world.end_netns(kPod);
  }
  SECTION("another interface has the name") {
    attach_by_sriov_cni(node);
    const auto pod = node.world.open(*node.world.netns_at(kPod));
    const auto host = node.world.open(FakeWorld::kHost);
    REQUIRE(pod->change_link(node.pod_link().index, {.netns_fd = host->netns_fd()}));
    node.world.add_veth(*node.world.netns_at(kPod), "net1");
  }
  const std::string during = node.everything();
  CHECK(node.sweep({.adopt = true}) == "nothing to do\n");
  CHECK(node.everything() == during);
}

TEST_CASE("invalid files of other plugins are reported and hide nothing") {
  ReconciledNode node;
  attach_by_sriov_cni(node);
  const auto bad = GENERATE(as<std::string>(), "{", "[]", R"({"kind":"cniCacheV1"})",
                            R"({"kind":"cniCacheV1","containerId":"../x","ifName":"net1"})",
                            R"({"kind":"cniCacheV1","containerId":"c","ifName":"net1","config":"?"})");
  CAPTURE(bad);
  node.write("root/var/lib/cni/results/x-y-z", bad + " cniCacheV1");
  node.write("root/var/lib/cni/results/x-y-w", bad);
  node.write("root/var/lib/cni/sriov/c2-net1", bad);
  CHECK_THAT(node.sweep({.adopt = true}), Contains("1 taken over"));
}

TEST_CASE("a device that another record of vfrail owns is not adopted") {
  ReconciledNode node;
  REQUIRE(node.add());
  node.write(kState, R"({"name":"rail0","type":"sriov","deviceID":"0000:21:10.0",)"
                     R"("OrigVfState":{"HostIFName":"enp1s0f0v0"}})");
  fs::rename(node.dir.path(kState), node.dir.path("root/var/lib/cni/sriov/c2-net1"));
  node.write(kMarker, kPod);
  const std::string during = node.everything();
  const auto report = node.try_sweep({.adopt = true});
  REQUIRE(report);
  CHECK_FALSE(report->all_well());
  CHECK_THAT(report->text(),
             Contains("cannot be taken over: 0000:21:10.0 is attached to net1 of container c1"));
  CHECK(node.everything() == during);
}

TEST_CASE("an InfiniBand VF with its RDMA device, of ib-sriov-cni, is adopted and its GUID restored") {
  ReconciledNode node;
  node.world.add_ib_vf("0000:21:10.2", "ib0", "0000:21:00.0");
  node.world.add_rdma("0000:21:10.2", "mlx5_1");
  node.world.link("ib0").tx_queue_len = 1000;  // what a driver that is bound again creates
  node.world.link("ib0").mtu = 2044;
  const std::string before = node.everything();
  const auto guid = *node.world.vf("0000:21:10.2").port_guid;
  // As ib-sriov-cni does it: GUID, driver, RDMA device, netdev.
  node.world.vf("0000:21:10.2").port_guid = node.world.vf("0000:21:10.2").node_guid = 0x77;
  REQUIRE(node.world.rebind("0000:21:10.2"));
  const auto host = node.world.open(FakeWorld::kHost);
  const auto pod = node.world.open(*node.world.netns_at(kPod));
  REQUIRE(host->move_rdma_device(node.world.rdma("mlx5_1").device.index, pod->netns_fd()));
  REQUIRE(host->change_link(node.world.link("ib0").index,
                            {.netns_fd = pod->netns_fd(), .name = "net1", .up = true}));
  node.write(
      "root/var/lib/cni/ib-sriov/c1-net1",
      R"({"name":"rail0","type":"ib-sriov-cni","deviceID":"0000:21:10.2","HostIFNames":"ib0",)"
      R"("HostIFGUID":")" +
          format_guid(guid) +
          R"(","RdmaNetState":{"version":"1.0","containerRdmaDevName":"mlx5_1"},"rdmaIsolation":true})");
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"rail0","type":"ib-sriov-cni","deviceID":"0000:21:10.2"})";
  node.write(kCache, cache_of(config));
  CHECK_THAT(node.sweep({.adopt = true}),
             Contains("taken over: 0000:21:10.2") && Contains("attached by ib-sriov-cni"));
  REQUIRE(node.process([&](World& w) { return vfrail::cni::del(node.request(Command::del, config), w); }));
  CHECK(node.everything() == before);
}

TEST_CASE("an interface of host-device, chained with rdma-cni, is adopted by its alias") {
  ReconciledNode node;
  const std::string before = node.world.snapshot();
  const auto host = node.world.open(FakeWorld::kHost);
  const auto pod = node.world.open(*node.world.netns_at(kPod));
  REQUIRE(host->change_link(node.world.link(kName).index,
                            {.netns_fd = pod->netns_fd(), .name = "net1", .alias = kName, .up = true}));
  REQUIRE(host->move_rdma_device(node.world.rdma("mlx5_0").device.index, pod->netns_fd()));
  node.write("root/var/lib/cni/rdma/rail0-c1-net1",
             R"({"version":"1.0","deviceID":"0000:21:10.0","sandboxRdmaDevName":"mlx5_0",)"
             R"("containerRdmaDevName":"mlx5_0"})");
  node.write(kCache, cache_of(R"({"cniVersion":"1.0.0","name":"rail0","plugins":[)"
                              R"({"type":"host-device","device":"enp1s0f0v0"},{"type":"rdma"}]})"));
  CHECK_THAT(node.sweep({.adopt = true}),
             Contains("taken over: 0000:21:10.0") && Contains("attached by host-device"));
  node.world.end_netns(kPod);
  CHECK_THAT(node.sweep(), Contains("1 released"));
  CHECK(node.world.snapshot() == before);
}

}  // namespace vfrail::test
