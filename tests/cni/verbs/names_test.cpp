// A device whose name in the host is another's when it returns: it gets it back as soon as it is free, unless
// somebody has given it another one.
#include "cni/record/displaced_names.h"
#include "cni/sweep/sweep.h"
#include "tests/cni/fake_node.h"

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kVf = "0000:21:10.0";
constexpr const char* kConf =
    R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0"})";

struct Names : TwoVfs {
  std::string before = world.snapshot();
  void add_and_del() {
    const auto added = add(kConf);
    INFO((added ? "" : added.error().text));
    REQUIRE(added);
    REQUIRE(del(kConf));
  }
  void take_link_name() { world.add_veth(FakeWorld::kHost, "vf0"); }
  void free_link_name() {
    const auto host = world.open(FakeWorld::kHost);
    REQUIRE(host->remove_links({world.link("vf0").index}));
  }
  void rename(const std::string& from, const std::string& to) {
    REQUIRE(world.open(FakeWorld::kHost)->change_link(world.link(from).index, {.name = to}));
  }
  std::string sweep(bool dry_run = false) {
    return process([&](World& outside) {
      const auto report = vfrail::cni::sweep(outside, {.dry_run = dry_run});
      REQUIRE(report);
      return report->text();
    });
  }
  bool is_noted() const {
    return std::filesystem::exists(dir.path("state/baselines/" + std::string(kVf) + ".names"));
  }
};

}  // namespace

TEST_CASE("an interface whose name was in use gets it back when it is free") {
  Names node;
  const bool ended = GENERATE(false, true);
  CAPTURE(ended);
  REQUIRE(node.add(kConf));
  if (ended) node.world.rename_path(kPod, "/run/netns/gone");
  node.take_link_name();
  if (ended) {
    node.world.fake_link(2, "net1").link.name = "vf0";
    node.world.end_netns("/run/netns/gone");
    node.world.add_veth(node.world.add_netns(kPod), "eth0");
  }
  REQUIRE(node.del(kConf, ended ? "" : kPod));
  CHECK(node.has("netns 1 link dev0 "));
  CHECK(node.is_noted());
  SECTION("by the next ADD") {
    node.add_and_del();  // still in use
    CHECK(node.has("netns 1 link dev0 "));
    node.free_link_name();
    node.add_and_del();
  }
  SECTION("by the next ADD, although its name in place of it was taken, too") {
    REQUIRE(node.add(kConf));
    node.world.add_veth(FakeWorld::kHost, "dev0");
    REQUIRE(node.del(kConf));
    CHECK(node.has("netns 1 link dev1 "));
    node.free_link_name();
    node.rename("dev0", "other");
    node.add_and_del();
  }
  SECTION("by a sweep") {
    node.free_link_name();
    CHECK_THAT(node.sweep(true), Catch::Contains("would be restored: 0000:21:10.0: its own name"));
    CHECK_THAT(node.sweep(), Catch::Contains("restored: 0000:21:10.0: interface dev0 is vf0 again"));
  }
  SECTION("by GC") {
    node.free_link_name();
    REQUIRE(node.run(vfrail::cni::gc, Command::gc, kConf));
  }
  CHECK(node.has("netns 1 link vf0 52:54:00:00:00:02"));
  CHECK_FALSE(node.is_noted());
}

namespace {

// Both VFs are attached, and the second one's interface is in the host under the first one's name: a rebind
// has made it anew, and the kernel chose the lowest free name.
struct NewInterface : Names {
  NewInterface() {
    REQUIRE(add(kConf));
    container = "c2";
    args = "IgnoreUnknown=1";
    REQUIRE(add(second(), other));
    container = "c1";
    world.move(other_netns, "net1", FakeWorld::kHost);
    world.link("net1").name = *IfName::parse("vf0");
  }
  static std::string second() {
    std::string out = kConf;
    return out.replace(out.find(kVf), std::string(kVf).size(), kSecondVf);
  }
  bool first_has_its_name() const { return has("netns 1 link vf0 52:54:00:00:00:02"); }
  void del_first() {
    REQUIRE(del(kConf));
    CHECK_FALSE(world.before_call);  // what should happen meanwhile has
  }
  // After which nothing differs from the time before the two attachments.
  void del_second() {
    container = "c2";
    REQUIRE(del(second(), other));
    CHECK(has("netns 1 link vf1 "));
    if (is_noted()) CHECK_THAT(sweep(), Catch::Contains("is vf0 again"));
    CHECK(world.snapshot() == before);
  }
  // The pod of the second one has renamed its interface, and added the first one's name.
  void add_alternative_name() {
    Link& link = world.link("vf0");
    link.name = *IfName::parse("evil");
    link.altnames = {"vf0"};
  }
  // Once, when DEL is about to make that call.
  void when(const std::string& call, std::function<void()> what) {
    world.before_call = [this, call, what = std::move(what)](const std::string& now) {
      if (now != call) return;
      world.before_call = nullptr;
      what();
    };
  }
  // DEL of the first one, while the second one's interface gets the name again each time that it was renamed,
  // `most` times at most. Returns how often.
  int del_while_name_is_retaken(int most) {
    int times = 0;
    world.before_call = [&](const std::string& call) {
      for (const std::string name : {"dev0", "dev1"}) {
        if (call != "change_link" || times == most || !has("netns 1 link " + name + " 52:54:00:00:00:03"))
          continue;
        world.link(name).name = *IfName::parse("vf0");
        ++times;
      }
    };
    REQUIRE(del(kConf));
    world.before_call = nullptr;
    return times;
  }
  static constexpr const char* other = "/run/netns/b";
  int other_netns = world.add_netns(other);
};

}  // namespace

TEST_CASE("DEL restores the name of an interface when another attached device has it") {
  NewInterface node;
  SECTION("as its name") {
    node.del_first();
    CHECK(node.first_has_its_name());
    CHECK(node.has("netns 1 link dev0 52:54:00:00:00:03"));
    node.del_second();
  }
  SECTION("as an alternative name that its pod added") {
    node.add_alternative_name();
    SECTION("and still has it") {}
    SECTION("and loses it to its own DEL at the same time") {
      node.when("remove_altname vf0", [&] { node.world.link("evil").altnames.clear(); });
    }
    node.del_first();
    CHECK(node.first_has_its_name());
    CHECK(node.has("netns 1 link evil 52:54:00:00:00:03"));
    node.del_second();
  }
  SECTION("and its own DEL rebinds the driver at the same time") {
    node.when("rename_link vf0", [&] { REQUIRE(node.world.rebind(kSecondVf)); });
    node.del_first();
    CHECK(node.first_has_its_name());
    node.del_second();
  }
  SECTION("and its own DEL renames it at the same time: it keeps the name that it got") {
    node.when("rename_link vf0", [&] { node.world.link("vf0").name = *IfName::parse("vf1"); });
    node.del_first();
    CHECK(node.first_has_its_name());
    CHECK(node.has("netns 1 link vf1 52:54:00:00:00:03"));
    node.del_second();
  }
  SECTION("and gets it again") {
    const int most = GENERATE(1, 5);
    CHECK(node.del_while_name_is_retaken(most) == most);
    CHECK(node.first_has_its_name());
    node.del_second();
  }
}

TEST_CASE("an interface whose name another attached device keeps gets it back by a sweep") {
  NewInterface node;
  REQUIRE(node.log.open_file(node.dir.path("log")));
  node.log.set_level(LogLevel::warning);
  SECTION("which gets it again each time") { node.del_while_name_is_retaken(1000); }
  SECTION("which is up, before Linux 6.2") {
    node.world.names_only_down = true;
    node.world.link("vf0").flags |= 1U;  // IFF_UP
    node.del_first();
  }
  CHECK_FALSE(node.first_has_its_name());
  CHECK(node.is_noted());
  CHECK_THAT(node.text("log"), Catch::Contains("VF-HOST-NAME-TAKEN"));
  node.del_second();
}

TEST_CASE("DEL removes no alternative name that another attached device had before its attachment") {
  NewInterface node;
  node.add_alternative_name();
  node.process([&](World& outside) {
    auto record = **outside.store.load({"c2", "net1"});
    record.link->altnames = {"vf0"};
    REQUIRE(outside.store.save(record));
    return 0;
  });
  node.del_first();
  CHECK(node.has("netns 1 link dev0 52:54:00:00:00:02"));
  CHECK(node.has("altname vf0"));
  CHECK(node.is_noted());
}

TEST_CASE("DEL restores the name of an interface when its pod has added it as an alternative name") {
  Names node;
  REQUIRE(node.add(kConf));
  Link& link = node.world.fake_link(2, "net1").link;
  link.altnames.emplace_back("vf0");
  SECTION("in a namespace that is there") { REQUIRE(node.del(kConf)); }
  SECTION("in a namespace that has ended") {
    node.world.end_netns(kPod);
    REQUIRE(node.del(kConf, ""));
  }
  SECTION("in a namespace that has ended, of which Linux 5.10 still lists it and refuses to remove it") {
    node.world.end_netns(kPod);
    bool refused = false;
    node.world.before_call = [&](const std::string& call) {
      if (call != "remove_altname vf0") return;
      link.altnames.clear();
      refused = true;
    };
    REQUIRE(node.del(kConf, ""));
    CHECK(refused);
  }
  CHECK(node.has("netns 1 link vf0 52:54:00:00:00:02"));
  CHECK_FALSE(node.has("altname"));
}

TEST_CASE("an RDMA device whose name was in use gets it back when it is free") {
  Names node;
  node.world.rdma_names_by_netns = true;
  REQUIRE(node.add(kConf));
  node.world.rdma("mlx5_1").device.name = "mlx5_0";
  REQUIRE(node.del(kConf));
  CHECK(node.has("netns 1 rdma ibdev0 "));
  CHECK(node.is_noted());
  node.add_and_del();  // still in use
  CHECK(node.has("netns 1 rdma ibdev0 "));
  for (auto& other : {"mlx5_0"}) node.world.rdma(other).device.name = "mlx5_1";
  SECTION("by the next ADD") { node.add_and_del(); }
  SECTION("by a sweep") {
    CHECK_THAT(node.sweep(), Catch::Contains("restored: 0000:21:10.0: RDMA device ibdev0 is mlx5_0 again"));
  }
  CHECK(node.world.snapshot() == node.before);
  CHECK_FALSE(node.is_noted());
}

TEST_CASE("a device that somebody has renamed meanwhile, or that is attached, is left alone by a sweep") {
  Names node;
  REQUIRE(node.add(kConf));
  node.take_link_name();
  REQUIRE(node.del(kConf));
  SECTION("renamed") {
    node.rename("dev0", "mine");
    node.free_link_name();
    CHECK_THAT(node.sweep(), !Catch::Contains("again"));
    CHECK(node.has("netns 1 link mine "));
    CHECK_FALSE(node.is_noted());
  }
  SECTION("attached") {
    REQUIRE(node.add(kConf));
    node.free_link_name();
    CHECK_THAT(node.sweep(), !Catch::Contains("again"));
    REQUIRE(node.del(kConf));
    CHECK_THAT(node.sweep(), Catch::Contains("interface dev0 is vf0 again"));
  }
  SECTION("of an earlier boot") {
    std::ofstream(node.dir.path("root/proc/sys/kernel/random/boot_id")) << "boot-2\n";
    node.free_link_name();
    CHECK_THAT(node.sweep(), !Catch::Contains("again"));
    CHECK_FALSE(node.is_noted());
  }
  SECTION("of a file that cannot be read") {
    std::ofstream(node.dir.path("state/baselines/" + std::string(kVf) + ".names")) << "{";
    node.free_link_name();
    node.add_and_del();
    CHECK(node.has("netns 1 link dev0 "));
    CHECK_FALSE(node.is_noted());
  }
}

TEST_CASE("displaced names survive writing and reading unchanged, and chain to the first") {
  DisplacedNames out{.boot_id = "b", .links = {{"vf0", "dev0", 7}}, .rdma = {{"mlx5_0", "ibdev3", 3}}};
  add_displaced({"dev0", "dev4", 9}, out.links);
  CHECK(out.links == std::vector<DisplacedName>{{"vf0", "dev4", 9}});
  add_displaced({"vf1", "dev5", 10}, out.links);
  CHECK(out.links.size() == 2);
  const auto in = parse_displaced(format_displaced(out));
  REQUIRE(in);
  CHECK(*in == out);
  for (const char* bad : {"{}", R"({"schema":1,"links":[5]})", R"({"schema":1,"rdma":[{"own":"a"}]})"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_displaced(bad));
  }
}

TEST_CASE("ADD reports the host's addresses that the move removes, and DEL restores them") {
  TwoVfs node;
  auto& addresses = node.world.fake_link(FakeWorld::kHost, "vf0").addresses;
  addresses.push_back({*IpAddress::parse_cidr("10.5.0.7/24")});
  const std::string before = node.world.snapshot();
  addresses.push_back({.address = *IpAddress::parse_cidr("10.6.0.7/24"), .permanent = false});
  REQUIRE(node.add(kConf));
  const bool ends = GENERATE(false, true);
  if (ends) node.world.end_netns(kPod);
  REQUIRE(node.del(kConf));
  CHECK_THAT(node.world.snapshot(), Catch::Contains("address 10.5.0.7/24") && !Catch::Contains("10.6.0.7"));
  if (!ends) CHECK(node.world.snapshot() == before);
}

}  // namespace vfrail::test
