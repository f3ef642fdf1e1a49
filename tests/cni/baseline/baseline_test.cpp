// What a pod changes on its device beyond what the attachment set, on the fake node: after DEL it is as it
// was, or the device is unclean and says so, whichever call of the kernel fails.
#include "cni/baseline/baseline.h"

#include "cni/baseline/baseline_store.h"
#include "cni/sweep/sweep.h"
#include "common/node/unclean.h"
#include "tests/cni/fake_node.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <utility>

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kConf =
    R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0"})";
constexpr const char* kVf = "0000:21:10.0";

struct Baselined : TwoVfs {
  std::string before = world.snapshot();
  UncleanDevices unclean() const {
    auto out = read_unclean(dir.path("state"), "boot-1");
    REQUIRE(out);
    return *out;
  }
  FakeLink& in_pod() { return world.fake_link(2, "net1"); }
  // What a pod with NET_ADMIN does, by messages.
  void change_everything() {
    const auto pod = world.open(2);
    const int index = in_pod().link.index;
    REQUIRE(pod->change_link(index, {.options = {.flags = 0x80,
                                                 .mode = 1,
                                                 .group = 7,
                                                 .proto_down = 1,
                                                 .gso_max_size = 30'000,
                                                 .gso_max_segs = 10,
                                                 .gro_max_size = 20'000}}));
    REQUIRE(pod->add_altname(index, "vf1-of-the-host"));
    REQUIRE(pod->change_ethtool(21, index, EthtoolGroup::rings, {.numbers = {{"rx", 512}}}));
    REQUIRE(pod->change_ethtool(21, index, EthtoolGroup::features,
                                {.bits = {0, 0}, .mask = {0x4000, 0x10}, .bit_count = 64}));
  }
  SweepReport sweep(bool dry_run = false) {
    auto report =
        run([&](const Request&, World& outside) { return vfrail::cni::sweep(outside, {.dry_run = dry_run}); },
            Command::del, kConf);
    REQUIRE(report);
    return *report;
  }
  bool says(const char* call) const {
    const auto& calls = world.log();
    return std::any_of(calls.begin(), calls.end(),
                       [&](const std::string& one) { return one.starts_with(call); });
  }
};

}  // namespace

TEST_CASE("what a pod changed on its device is restored at DEL, even when its namespace has ended") {
  const bool ended = GENERATE(false, true);
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  if (ended) node.world.end_netns(kPod);
  REQUIRE(node.del(kConf, ended ? "" : kPod));
  if (ended) node.world.add_veth(node.world.add_netns(kPod), "eth0");
  CHECK(node.unclean().empty());
  const std::string host_now = node.world.snapshot();
  const size_t pods = node.before.find("netns 2");  // a namespace that is created again has another number
  CHECK(host_now.substr(0, pods) == node.before.substr(0, pods));
}

TEST_CASE("the baseline is read once a boot, and a DEL sets only what differs") {
  Baselined node;
  REQUIRE(node.add(kConf));
  CHECK(node.says("ethtool_family"));
  REQUIRE(node.del(kConf));
  CHECK_FALSE(node.says("change_ethtool"));
  node.world.forget_faults();
  REQUIRE(node.add(kConf));
  CHECK_FALSE(node.says("ethtool"));
  node.in_pod().ethtool[EthtoolGroup::rings].numbers["tx"] = 4096;
  node.world.forget_faults();
  REQUIRE(node.del(kConf));
  CHECK(node.says("change_ethtool rings"));
  CHECK_FALSE(node.says("change_ethtool features"));
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("an interface that its driver created again gets a new baseline") {
  Baselined node;
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  REQUIRE(node.world.rebind(kVf));
  FakeLink& fresh = node.world.fake_link(FakeWorld::kHost, "eth0");
  fresh.link.index = 77;
  fresh.ethtool[EthtoolGroup::rings].numbers["rx"] = 1024;
  REQUIRE(node.add(kConf));
  node.in_pod().ethtool[EthtoolGroup::rings].numbers["rx"] = 64;
  REQUIRE(node.del(kConf));
  CHECK(node.world.fake_link(FakeWorld::kHost, "eth0").ethtool[EthtoolGroup::rings].numbers["rx"] == 1024);
}

TEST_CASE("a device that cannot be restored is unclean: DEL succeeds, ADD refuses it, a sweep tries again") {
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  node.in_pod().refuses = {EthtoolGroup::rings};
  REQUIRE(node.del(kConf));
  CHECK(node.no_state());
  const auto unclean = node.unclean();
  REQUIRE(unclean.contains(kVf));
  REQUIRE(unclean.at(kVf).size() == 1);
  CHECK_THAT(unclean.at(kVf).front(), Catch::StartsWith("rings: rx is 512, was 256 ("));

  const std::string in_host = node.world.snapshot();
  const auto refused = node.add(kConf);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::busy);
  CHECK_THAT(refused.error().text, Catch::Contains("rings: rx is 512, was 256"));
  CHECK(node.world.snapshot() == in_host);
  CHECK_THAT(node.sweep(true).text(), Catch::Contains("would be restored: 0000:21:10.0: rings"));
  CHECK_THAT(node.sweep().text(), Catch::Contains("failed: 0000:21:10.0: "));
  CHECK(node.unclean().contains(kVf));

  node.world.fake_link(FakeWorld::kHost, "vf0").refuses = {};
  SECTION("by a sweep") { CHECK_THAT(node.sweep().text(), Catch::Contains("restored: 0000:21:10.0")); }
  SECTION("by GC") { REQUIRE(node.run(vfrail::cni::gc, Command::gc, kConf)); }
  SECTION("by the next ADD") {
    REQUIRE(node.add(kConf));
    REQUIRE(node.del(kConf));
  }
  CHECK(node.unclean().empty());
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("an unclean device whose driver was bound again is clean") {
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  node.in_pod().refuses = {EthtoolGroup::rings};
  REQUIRE(node.del(kConf));
  REQUIRE(node.world.rebind(kVf));
  FakeLink& fresh = node.world.fake_link(FakeWorld::kHost, "eth0");
  fresh.link.index = 78;
  fresh.ethtool = FakeLink().ethtool;
  fresh.refuses = {};
  REQUIRE(node.add(kConf));
  CHECK(node.unclean().empty());
}

TEST_CASE(
    "a device that is bound to vfio-pci while a pod has it is unclean until its own driver is bound again") {
  Baselined node;
  REQUIRE(node.add(kConf));
  node.world.give_to_vfio(kVf);  // as Kata does, and leaves it
  REQUIRE(node.del(kConf));
  CHECK(node.no_state());
  const auto unclean = node.unclean();
  REQUIRE(unclean.contains(kVf));
  CHECK_THAT(unclean.at(kVf).front(), Catch::Contains("is bound to vfio-pci and had the interface vf0"));

  const auto refused = node.add(kConf);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().id() == ErrorId::device_unclean);
  CHECK_THAT(node.sweep().text(),
             Catch::Contains("failed: 0000:21:10.0: ") && Catch::Contains("it is bound to vfio-pci"));

  node.world.destroy_vf(kVf);
  node.world.add_vf(kVf, "vf0");
  node.world.add_rdma(kVf, "mlx5_0");
  REQUIRE(node.add(kConf));
  CHECK(node.unclean().empty());
  REQUIRE(node.del(kConf));
}

TEST_CASE("whichever call fails in a DEL, the device is as it was or unclean, and never silently changed",
          "[sweep]") {
  int points = 0;
  for (const int error : {EIO, EBUSY, ENOMEM, EPERM, EOPNOTSUPP}) {
    for (int call = 1;; ++call, ++points) {
      Baselined node;
      REQUIRE(node.add(kConf));
      node.change_everything();
      node.world.forget_faults();
      node.world.fail_call(call, error, FakeWorld::When::before);
      const auto deleted = node.del(kConf);
      if (node.world.calls() < call) break;
      INFO("call " << call << " (" << node.world.log()[static_cast<size_t>(call) - 1] << "), errno "
                   << error);
      node.world.forget_faults();
      if (!deleted) REQUIRE(node.del(kConf));
      const bool as_it_was = node.world.snapshot() == node.before;
      INFO(node.world.snapshot());
      REQUIRE((as_it_was || node.unclean().contains(kVf)));
      // Nothing is in the way now, so the next attachment makes it clean.
      REQUIRE(node.add(kConf));
      REQUIRE(node.del(kConf));
      REQUIRE(node.world.snapshot() == node.before);
      REQUIRE(node.unclean().empty());
    }
  }
  WARN("fault points tried in DEL: " << points);
  CHECK(points > 50);
}

TEST_CASE("a record of an older version, without the options of a link, restores what it has") {
  Baselined node;
  REQUIRE(node.add(kConf));
  std::filesystem::remove_all(node.dir.path("state/baselines"));
  const std::string path = node.dir.path("state/attachments/c1:net1.json");
  std::ifstream in(path);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto json = Json::parse(text);
  REQUIRE(json);
  Json link = *json->find("link");
  std::erase_if(*link.as_object(), [](const auto& one) { return one.first == "options"; });
  std::ofstream(path) << Json(*json).set("link", link).text();
  REQUIRE(node.del(kConf));
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.unclean().empty());
}

TEST_CASE("baselines of an earlier boot are removed by a sweep and restore nothing") {
  Baselined node;
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
  node.world.fake_link(FakeWorld::kHost, "vf0").ethtool[EthtoolGroup::rings].numbers["rx"] = 128;
  CHECK_THAT(node.sweep().text(), Catch::Contains("removed: 1 baselines: they are of an earlier boot"));
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  CHECK(node.world.fake_link(FakeWorld::kHost, "vf0").ethtool[EthtoolGroup::rings].numbers["rx"] == 128);
}

TEST_CASE("an unreadable baseline is read from the device again, and a DEL without one restores the rest") {
  Baselined node;
  REQUIRE(node.add(kConf));
  const std::string path = node.dir.path("state/baselines/0000:21:10.0.json");
  REQUIRE(std::filesystem::exists(path));
  std::ofstream(path) << "{\"schema\":";
  REQUIRE(node.del(kConf));
  CHECK(node.world.snapshot() == node.before);
  REQUIRE(node.add(kConf));
  node.change_everything();
  REQUIRE(node.del(kConf));
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("an unclean device whose baseline is torn stays unclean in this boot, and stops no other device") {
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  node.in_pod().refuses = {EthtoolGroup::rings};
  REQUIRE(node.del(kConf));
  std::ofstream(node.dir.path("state/baselines/0000:21:10.0.json")) << "{";
  std::filesystem::copy_file(node.dir.path("state/unclean/0000:21:10.0.json"),
                             node.dir.path("state/unclean/0000:21:10.2.json"));
  SECTION("of this boot") {
    const auto refused = node.add(kConf);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::busy);
    CHECK_THAT(refused.error().text,
               Catch::Contains("rings: rx is 512") && Catch::Contains("cannot be read"));
    CHECK_THAT(node.sweep().text(),
               Catch::Contains("failed: 0000:21:10.0: ") && Catch::Contains("restored: 0000:21:10.2: "));
    CHECK(node.unclean().contains(kVf));
    REQUIRE(node.run(vfrail::cni::gc, Command::gc, kConf));
  }
  SECTION("of an earlier one, which a power cut has ended") {
    std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
    REQUIRE(node.add(kConf));
  }
  SECTION("with a torn unclean file") {
    std::ofstream(node.dir.path("state/unclean/0000:21:10.0.json")) << "{";
    REQUIRE(node.add(kConf));
  }
}

TEST_CASE("a device whose record cannot be read is compared with its baseline before it is attached again") {
  Baselined node;
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0",)"
      R"("ipam":{"type":"fake-ipam"}})";
  node.install_lease_ipam("fake-ipam", kOneAddress);
  const size_t end = node.before.find('\n', node.before.find("netns 1 link vf0 "));
  const std::string clean = node.before.substr(0, end + 1);
  REQUIRE(node.add(config));
  node.change_everything();
  node.world.attach_program(2, "net1", "xdp7");
  std::ofstream(node.dir.path("state/attachments/c1:net1.json")) << "{ torn";
  SECTION("by the DEL that returns it") {
    REQUIRE(node.del(config));
    CHECK(node.unclean().empty());
  }
  SECTION("by the next ADD, when its namespace has ended") {
    REQUIRE(node.del(kConf));  // without IPAM it can be another plugin's, and stays in the pod
    CHECK(node.unclean().contains(kVf));
    node.world.end_netns(kPod);
    node.world.fake_link(FakeWorld::kHost, "net1").link.index = 77;  // the pod had its own in use
    node.world.add_netns(kPod);
    REQUIRE(node.add(kConf));
    CHECK(node.unclean().empty());
    REQUIRE(node.del(kConf));
  }
  SECTION("by the next ADD, which waits for it while its namespace ends") {
    REQUIRE(node.del(kConf));
    node.world.add_veth(node.world.add_netns("/run/netns/b"), "eth0");
    bool ended = false;
    node.world.while_waiting = [&] {
      if (!std::exchange(ended, true)) node.world.end_netns(kPod);
    };
    node.container = "c2";
    REQUIRE(node.add(kConf, "/run/netns/b"));
    CHECK(ended);
    CHECK(node.unclean().empty());
    CHECK_FALSE(node.has("xdp7"));
    REQUIRE(node.del(kConf, "/run/netns/b"));
  }
  SECTION("by a sweep, which quarantines the record") {
    node.world.end_netns(kPod);
    const std::string text = node.sweep().text();
    CHECK_THAT(text, Catch::Contains("removed: record of net1") && Catch::Contains("restored: 0000:21:10.0"));
    CHECK(node.unclean().empty());
  }
  CHECK_THAT(node.world.snapshot(), Catch::Contains(clean.substr(clean.find("netns 1 link vf0 "))));
}

TEST_CASE("a device whose driver is resetting it is unclean, and keeps its baseline") {
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  node.world.ethtool_error = ENODEV;
  REQUIRE(node.del(kConf));
  CHECK(node.unclean().contains(kVf));
  CHECK_FALSE(node.add(kConf));
  node.world.ethtool_error = 0;
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  CHECK(node.unclean().empty());
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("an interface that leaves the host while DEL compares it is compared by the next DEL") {
  constexpr int kElsewhere = 99;
  Baselined node;
  REQUIRE(node.add(kConf));
  node.change_everything();
  node.world.at_ethtool = [&] {
    if (node.has("netns 1 link vf0 ")) node.world.move(FakeWorld::kHost, "vf0", kElsewhere);
  };
  const auto detached = node.del(kConf);
  REQUIRE_FALSE(detached);
  CHECK(detached.error().code == Errc::busy);
  node.world.at_ethtool = nullptr;
  node.world.move(kElsewhere, "vf0", FakeWorld::kHost);
  REQUIRE(node.del(kConf));
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("a baseline survives writing and reading unchanged") {
  Baseline out{.boot_id = "b", .device_key = kVf, .device = *DeviceId::parse(kVf), .port = 1};
  out.link.index = 7;
  out.link.name = "vf0";
  out.link.altnames = {"a"};
  out.link.options = {.flags = 0x1000, .mode = 1, .group = 3, .gso_max_size = 65536};
  out.ethtool_family = 21;
  out.ethtool[EthtoolGroup::rings] = {.numbers = {{"rx", 256}, {"tx", 4'000'000'000}}};
  out.ethtool[EthtoolGroup::features] = {.bits = {0xffffffff, 1}, .bit_count = 33};
  out.vf = VfBefore{{.vlan = VfVlan{7, 0, 0x8100}}};
  out.files = {{"queues/rx-0/rps_cpus", "ff,00000003"}, {"threaded", "0"}};
  const auto in = parse_baseline(format_baseline(out));
  INFO((in ? "" : in.error().text));
  REQUIRE(in);
  CHECK(*in == out);
  for (const char* file : {"/etc/passwd", "../../x", ""}) {
    INFO("a path that leaves the interface's folder is refused: " << file);
    out.files = {{file, "1"}};
    CHECK_FALSE(parse_baseline(format_baseline(out)));
  }
}

TEST_CASE(
    "a folder or a FIFO in the place of a device's state hides no other device, and goes with its ADD") {
  Baselined node;
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  const std::string path = node.dir.path("state/unclean/0000:21:10.0.json");
  SECTION("a folder") { std::filesystem::create_directories(path + "/x"); }
  SECTION("a FIFO") { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
  const auto unclean = node.unclean();
  REQUIRE(unclean.contains(kVf));
  CHECK_THAT(unclean.at(kVf).front(), Catch::Contains("its state cannot be read"));
  REQUIRE(node.add(kConf));
  REQUIRE(node.del(kConf));
  CHECK(node.unclean().empty());
  CHECK(node.world.snapshot() == node.before);
}

}  // namespace vfrail::test
