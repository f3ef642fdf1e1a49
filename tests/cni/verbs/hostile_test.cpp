// What a pod with CAP_NET_ADMIN can do to its device, on the fake node: DEL restores a clean one
// nevertheless. With the real kernel: tests/netns/hostile_test.cpp, tests/lab/hostile_test.sh.
#include "common/errors/error_id.h"
#include "common/node/unclean.h"
#include "tests/cni/fake_node.h"

#include <cerrno>
#include <fstream>

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kConfig =
    R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})";
constexpr int kPodNetns = 2;

enum class Kernels : uint8_t {
  list,  // what stands on an interface, in whichever namespace
  do_not,
};

struct Hostile : TwoVfs {
  std::string before;
  explicit Hostile(Kernels kernels = Kernels::list) : before(world.snapshot()) {
    kernel_lists_uppers = kernels == Kernels::list;
  }

  void attach(const std::string& config = kConfig) {
    const auto added = add(config);
    INFO((added ? "" : added.error().text));
    REQUIRE(added);
  }
  // A namespace that a process is in, which /proc shows.
  int add_accomplice(const std::string& pid = "77") {
    const auto link = dir.path("root/proc/" + pid + "/ns/net");
    const int netns = world.add_netns(link);
    std::filesystem::create_directories(std::filesystem::path(link).parent_path());
    std::filesystem::create_symlink("net:[" + std::to_string(netns) + "]", link);
    return netns;
  }
  // One that only a thread is in; its process is in the host's.
  int add_hidden() {
    const auto process = std::filesystem::path(dir.path("root/proc/79"));
    const int netns = world.add_netns(process / "task/80/ns/net");
    for (const auto& [folder, id] : {std::pair(process, int{FakeWorld::kHost}),
                                     {process / "task/79", FakeWorld::kHost},
                                     {process / "task/80", netns}}) {
      std::filesystem::create_directories(folder / "ns");
      std::filesystem::create_symlink("net:[" + std::to_string(id) + "]", folder / "ns/net");
    }
    return netns;
  }
  size_t rebinds() const {
    return static_cast<size_t>(std::count(world.log().begin(), world.log().end(), "rebind 0000:21:10.0"));
  }
  void detach_well(const std::string& netns = kPod) {
    const auto detached = del(kConfig, netns);
    INFO((detached ? "" : detached.error().text));
    REQUIRE(detached);
    CHECK(no_state());
  }
};

}  // namespace

TEST_CASE("an RDMA device that its pod has renamed is restored under its own name") {
  Hostile node;
  node.attach();
  const std::string name = GENERATE(as<std::string>(), "evil0", "a/b", "..");
  CAPTURE(name);
  REQUIRE(node.world.open(kPodNetns)->rename_rdma_device(0, name));
  SECTION("by DEL") { node.detach_well(); }
  SECTION("by DEL after the end of the namespace") {
    node.world.end_netns(kPod);
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
  }
  SECTION("by DEL with a record of an older version, which has no index") {
    const std::string path = node.dir.path("state/attachments/c1:net1.json");
    std::string text;
    std::getline(std::ifstream(path), text, '\0');
    const auto at = text.find("\"rdmaIndex\"");
    REQUIRE(at != std::string::npos);
    text.erase(at, text.find("\"indexInPod\"") - at);
    std::ofstream(path) << text;
    REQUIRE(node.world.open(kPodNetns)->rename_rdma_device(0, "evil1"));  // refreshes sysfs
    node.detach_well();
  }
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("a name that is in use when the namespace ends is restored once it is free") {
  Hostile node;
  node.world.rdma_names_by_netns = true;
  node.attach();
  // As since Linux 7: the other device may have the name, and the kernel calls ours ibdev0 when it returns.
  node.world.rdma("mlx5_1").device.name = "mlx5_0";
  node.world.end_netns(kPod);
  CHECK(node.has("netns 1 rdma ibdev0 "));
  SECTION("free at DEL") {
    node.world.rdma("mlx5_0").device.name = "mlx5_1";
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
    CHECK(node.world.snapshot() == node.before);
  }
  SECTION("still in use at DEL, which succeeds") {
    node.detach_well("");
    CHECK(node.has("netns 1 rdma ibdev0 "));
  }
}

TEST_CASE("where names are per namespace, the pod can have a name that the host uses") {
  Hostile node;
  node.world.rdma_names_by_netns = true;
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","rdmaName":"mlx5_1","deviceID":"0000:21:10.0"})";
  node.attach(config);
  CHECK(node.has("netns 2 rdma mlx5_1 "));
  SECTION("its own name is free at DEL") {
    node.detach_well();
    CHECK(node.world.snapshot() == node.before);
  }
  SECTION("every possible name is in use at DEL") {
    // The pod's name is the other device's, and ours has been given away, too.
    node.world.add_rdma("0000:21:10.2", "mlx5_0");
    node.detach_well();
    CHECK(node.has("netns 1 rdma ibdev0 "));
  }
}

TEST_CASE("where names are per node, a name in use is refused, and nothing stays changed") {
  Hostile node;
  const auto added = node.add(
      R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","rdmaName":"mlx5_1","deviceID":"0000:21:10.0"})");
  REQUIRE_FALSE(added);
  CHECK_THAT(added.error().text,
             Catch::Contains("rdmaName: rename mlx5_0 to mlx5_1") && Catch::Contains("EEXIST"));
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.no_state());
}

TEST_CASE("a device that its pod has moved to another namespace is fetched from there") {
  const bool only_a_thread_is_in_it = GENERATE(false, true);
  Hostile node;
  node.attach();
  const int deep = only_a_thread_is_in_it ? node.add_hidden() : node.add_accomplice();
  node.world.move(kPodNetns, "net1", deep);
  const auto pod = node.world.open(kPodNetns);
  REQUIRE(pod->move_rdma_device(0, node.world.open(deep)->netns_fd()));
  SECTION("while its own namespace lives") { node.detach_well(); }
  SECTION("when that has ended") {
    node.world.end_netns(kPod);
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
  }
  CHECK(node.world.snapshot() == node.before);
}

// The kernel shows neither its name nor its nodes then, as if it were gone for good.
TEST_CASE("an RDMA device in the middle of a move is waited for") {
  Hostile node;
  node.attach();
  SECTION("to the host, from an ended namespace, under the name that its pod gave it") {
    node.world.rdma("mlx5_0").device.name = "evil0";
    node.world.end_netns(kPod);
    node.world.begin_rdma_move("evil0", FakeWorld::kHost, 4);
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
  }
  SECTION("to an accomplice of its pod") {
    node.world.begin_rdma_move("mlx5_0", node.add_accomplice(), 4);
    node.detach_well();
  }
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("an RDMA device that no longer exists keeps no pod from ending") {
  constexpr int kForGood = 1'000'000;
  Hostile node;
  node.attach();
  SECTION("its function still has its driver") { node.world.begin_rdma_move("mlx5_0", 99, kForGood); }
  SECTION("its function is bound to a driver for user space") {
    node.world.begin_rdma_move("mlx5_0", 99, kForGood);
    node.world.give_to_vfio("0000:21:10.0");
  }
  node.detach_well();
}

TEST_CASE("interfaces that a pod has stacked upon its own are removed, wherever they are") {
  Hostile node(GENERATE(Kernels::list, Kernels::do_not));
  node.attach();
  node.world.stack(kPodNetns, "net1", "m9");
  node.world.stack(kPodNetns, "m9", "m9.7");
  SECTION("in the pod") {}
  SECTION("in an accomplice's namespace") { node.world.move(kPodNetns, "m9", node.add_accomplice()); }
  SECTION("and the pod's own namespace has ended") {
    node.world.move(kPodNetns, "m9", node.add_accomplice());
    node.world.end_netns(kPod);
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
    CHECK(node.world.snapshot() == node.before);
    return;
  }
  node.detach_well();
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.rebinds() == 0);
}

TEST_CASE("where the kernel lists what stands on a device, DEL opens no namespace without any of it") {
  Hostile node;
  std::filesystem::remove_all(node.dir.path("root/proc/77"));
  const int stranger = node.add_accomplice("77");
  node.world.churning.insert(stranger);
  node.attach();
  SECTION("nothing stands on it") {
    const int calls_of_add = node.world.calls();
    node.detach_well();
    const auto& calls = node.world.log();
    CHECK(std::find(calls.begin() + calls_of_add, calls.end(), "links") == calls.end());
  }
  SECTION("something does in another one") {
    node.world.stack(kPodNetns, "net1", "spy");
    node.world.move(kPodNetns, "spy", node.add_accomplice("78"));
    node.detach_well();
    CHECK_FALSE(node.has("link spy "));
  }
  SECTION("more than one list takes does, in several") {
    const int first = node.add_accomplice("78");
    const int second = node.add_hidden();
    for (size_t i = 0; i < 3 * UpperLinks::kMost; ++i) {
      const std::string name = "spy" + std::to_string(i);
      node.world.stack(kPodNetns, "net1", name);
      node.world.move(kPodNetns, name, i % 2 == 0 ? first : second);
    }
    node.detach_well();
    CHECK_FALSE(node.has("link spy"));
  }
  CHECK(node.rebinds() == 0);
  CHECK(node.world.snapshot().find("netns 1 link vf0 ") != std::string::npos);
}

TEST_CASE("what is stacked in a namespace that only a thread is in is removed where the kernel lists it") {
  Hostile node;
  node.attach();
  node.world.stack(kPodNetns, "net1", "spy");
  node.world.move(kPodNetns, "spy", node.add_hidden());
  node.detach_well();
  CHECK_FALSE(node.has("link spy "));
  CHECK(node.rebinds() == 0);
}

TEST_CASE("what is stacked in a namespace that only a thread is in is removed, if it is searched for") {
  Hostile node(Kernels::do_not);
  SECTION("because it leaves a trace") {
    node.attach();
    node.world.promiscuous(kPodNetns, "net1", 1);
    node.world.stack(kPodNetns, "net1", "spy");
    node.world.move(kPodNetns, "spy", node.add_hidden());
    node.detach_well();
  }
  SECTION("because the pod has stacked another one in sight") {
    node.attach();
    node.world.stack(kPodNetns, "net1", "m9");
    node.world.stack(kPodNetns, "net1", "spy");
    node.world.move(kPodNetns, "spy", node.add_hidden());
    node.detach_well();
  }
  SECTION("because the network says podNetAdmin") {
    std::string config = kConfig;
    config.insert(config.size() - 1, R"(,"podNetAdmin":true)");
    node.attach(config);
    node.world.stack(kPodNetns, "net1", "spy");
    node.world.move(kPodNetns, "spy", node.add_hidden());
    node.detach_well();  // by the configuration of ADD
  }
  CHECK_FALSE(node.has("link spy "));
}

TEST_CASE("interfaces on another device with the same index are left alone") {
  Hostile node;
  const int other = node.add_accomplice();
  node.world.add_veth(other, "a");
  REQUIRE((*node.world.open(other)->find_link("a"))->index == node.world.link("vf0").index);
  node.world.stack(other, "a", "m");
  node.world.move(other, "m", node.add_accomplice("78"));
  node.attach();
  node.detach_well();
  CHECK(node.has("netns 4 link m "));
}

TEST_CASE("a stacked interface that cannot be found but leaves a trace is removed by rebinding the driver") {
  Hostile node(GENERATE(Kernels::list, Kernels::do_not));
  node.attach();
  node.world.stack(kPodNetns, "net1", "spy");
  node.world.move(kPodNetns, "spy", 99);  // no path leads there
  node.world.promiscuous(kPodNetns, "net1", 1);
  node.detach_well();
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("what another pod has stacked on a free device is removed by the ADD of the next") {
  Hostile node;
  node.world.stack(FakeWorld::kHost, "vf0", "spy");
  const bool hidden = GENERATE(false, true);
  node.world.move(FakeWorld::kHost, "spy", hidden ? node.add_hidden() : node.add_accomplice());
  node.attach();
  CHECK_FALSE(node.has("link spy "));
  CHECK(node.rebinds() == 0);
  node.detach_well();
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE(
    "what another pod has stacked and cannot be found refuses an ADD, which has the driver bound again") {
  Hostile node;
  node.world.stack(FakeWorld::kHost, "vf0", "spy");
  node.world.move(FakeWorld::kHost, "spy", 99);
  const auto added = node.add(kConfig);
  REQUIRE_FALSE(added);
  CHECK(added.error().id() == ErrorId::device_unclean);
  CHECK_THAT(added.error().text, Catch::Contains("1 interface of a pod in net:[99]"));
  CHECK(node.no_state());
  CHECK(node.rebinds() == 1);
  CHECK_FALSE(node.has("link spy "));
  node.attach();
  node.detach_well();
}

TEST_CASE("what another pod has stacked and nothing removes makes the device unclean, and no pod gets it") {
  Hostile node;
  node.world.stack(FakeWorld::kHost, "vf0", "spy");
  node.world.move(FakeWorld::kHost, "spy", 99);
  std::filesystem::remove_all(node.dir.path("root/sys/bus/pci/drivers"));
  node.world.keeps_drivers_bound = true;
  for (int i = 0; i < 2; ++i) {
    const auto added = node.add(kConfig);
    REQUIRE_FALSE(added);
    CHECK(added.error().id() == ErrorId::device_unclean);
    CHECK(node.no_state());
    const auto unclean = read_unclean(node.dir.path("state"), "");
    REQUIRE(unclean);
    CHECK(unclean->contains("0000:21:10.0"));
  }
  node.world.keeps_drivers_bound = false;
  node.world.move(99, "spy", 98);  // writes sysfs again
  CHECK(node.add(kConfig));
  CHECK_FALSE(node.has("link spy "));
}

TEST_CASE("what the host has stacked on its device stays, and refuses no ADD") {
  Hostile node;
  node.world.stack(FakeWorld::kHost, "vf0", "own");
  std::filesystem::create_directories(node.dir.path("root/sys/class/net/vf0/upper_own"));
  node.attach();
  CHECK(node.has("netns 1 link own "));
  node.detach_well();
  CHECK(node.has("netns 1 link own "));
}

TEST_CASE("what cannot be removed makes the device unclean, and DEL succeeds") {
  Hostile node(GENERATE(Kernels::list, Kernels::do_not));
  node.attach();
  node.world.stack(kPodNetns, "net1", "spy");
  node.world.move(kPodNetns, "spy", 99);
  node.world.promiscuous(kPodNetns, "net1", 1);
  std::filesystem::remove_all(node.dir.path("root/sys/bus/pci/drivers"));
  node.world.keeps_drivers_bound = true;
  node.detach_well();
  CHECK(node.rebinds() == 0);
  const auto unclean = read_unclean(node.dir.path("state"), "");
  REQUIRE(unclean);
  REQUIRE(unclean->contains("0000:21:10.0"));
  CHECK_THAT(unclean->at("0000:21:10.0").front(),
             Catch::Contains(node.kernel_lists_uppers ? "1 interface of a pod in net:[99]" : "promiscuous"));
  // The next ADD tries again, and refuses it with the reason.
  const auto added = node.add(kConfig);
  REQUIRE_FALSE(added);
  CHECK(added.error().id() == ErrorId::device_unclean);
  node.world.keeps_drivers_bound = false;
  CHECK(node.add(kConfig));
}

TEST_CASE("without the kernel's list, a stranger's namespace that cannot be listed costs a DEL nothing") {
  Hostile node(Kernels::do_not);
  node.attach();
  node.world.churning.insert(node.add_accomplice());
  node.detach_well();
  CHECK(node.rebinds() == 0);
  CHECK(node.world.snapshot().find("netns 1 link vf0 ") != std::string::npos);
}

TEST_CASE("a namespace whose links cannot be listed costs the DEL of a pod that has stacked a rebind") {
  Hostile node(Kernels::do_not);
  node.attach();
  // Listed first of all, as its number is the lowest.
  const int busy = node.add_accomplice();
  node.world.churning.insert(busy);
  node.world.stack(kPodNetns, "net1", "m9");
  node.world.move(kPodNetns, "m9", node.add_accomplice("78"));
  SECTION("while its own namespace lives") { node.detach_well(); }
  SECTION("when the device has to be searched for, too") {
    node.world.move(kPodNetns, "net1", node.add_accomplice("79"));
    node.detach_well();
  }
  CHECK(node.has("netns 1 link vf0 "));
  CHECK_FALSE(node.has("link m9 "));
  const auto& calls = node.world.log();
  CHECK(std::count(calls.begin(), calls.end(), "rebind 0000:21:10.0") == 1);
  CHECK(std::find(std::find(calls.begin(), calls.end(), "rebind 0000:21:10.0"), calls.end(), "links") ==
        calls.end());
}

TEST_CASE("a device whose programs may not be looked for is bound again only if pods are not trusted") {
  Hostile node;
  const bool trusted = GENERATE(true, false);
  std::string config = kConfig;
  if (!trusted) config.insert(config.size() - 1, R"(,"podNetAdmin":true)");
  node.attach(config);
  if (!trusted) node.world.attach_program(kPodNetns, "net1", "tcx7");
  node.world.bpf_error = EPERM;
  node.detach_well();
  CHECK(node.rebinds() == (trusted ? 0 : 1));
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("a device that a failed or killed rebind has left without a driver gets it by the next DEL") {
  Hostile node(Kernels::do_not);
  node.attach();
  node.world.promiscuous(kPodNetns, "net1", 1);
  SECTION("no driver wants it, which is an error") {
    node.world.probe_fails = true;
    CHECK_FALSE(node.del(kConfig));
  }
  SECTION("killed before the driver was bound") {
    node.world.probe_fails = true;
    node.after_failed_rebind = [] { throw Killed{}; };
    CHECK(killed([&] { (void)node.del(kConfig); }));
    node.after_failed_rebind = nullptr;
  }
  CHECK_FALSE(node.has("netns 1 link vf0 "));
  CHECK_FALSE(node.no_state());
  node.world.probe_fails = false;
  node.detach_well();
  CHECK(node.has("netns 1 link vf0 "));
  CHECK(node.has("netns 1 rdma mlx5_0 "));
}

TEST_CASE("a program that a pod has attached to its interface is detached") {
  Hostile node;
  node.attach();
  node.world.attach_program(kPodNetns, "net1", "xdp7");
  REQUIRE(node.has("xdp7"));
  node.detach_well();
  CHECK(node.world.snapshot() == node.before);
}

namespace {

// One device, and in the pod an interface of its kind, on the same one, with the index that the device has in
// the host.
struct Twins : Hostile {
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","device":"mv0","rings":{"rx":7}})";
  explicit Twins(const std::string& kind) {
    args = "";
    for (const char* name : {"mv0", "eth9"}) {
      world.stack(FakeWorld::kHost, "vf0", name);
      FakeLink& link = world.fake_link(FakeWorld::kHost, name);
      link.link.kind = kind;
      link.link.mac.bytes.back() = static_cast<uint8_t>(link.link.index);
      if (kind == "dummy") link.stands_on = nullptr;
    }
    world.move(FakeWorld::kHost, "eth9", kPodNetns);
    world.fake_link(kPodNetns, "eth9").link.index = world.link("mv0").index;
    before = world.snapshot();
  }
  // The first call of an ADD that begins so; it is the only thing that this node is for.
  int number_of(const std::string& call) {
    world.forget_faults();
    REQUIRE(add(config));
    const auto& calls = world.log();
    const auto at = std::find(calls.begin(), calls.end(), call);
    REQUIRE(at != calls.end());
    return static_cast<int>(at - calls.begin()) + 1;
  }
};

}  // namespace

TEST_CASE("an ADD that fails or is killed before the move never takes the pod's own interface") {
  const std::string kind = GENERATE(as<std::string>(), "macvlan", "dummy");
  CAPTURE(kind);
  Twins node(kind);
  SECTION("its driver refuses the tuning") {
    node.world.fake_link(FakeWorld::kHost, "mv0").refuses = {EthtoolGroup::rings};
    const auto added = node.add(node.config);
    REQUIRE_FALSE(added);
    CHECK_THAT(added.error().text, !Catch::Contains("rollback failed"));
  }
  SECTION("killed, and the device is not attached") {
    node.world.kill_call(Twins(kind).number_of("change_link"));
    REQUIRE(killed([&] { (void)node.add(node.config); }));
    node.world.forget_faults();
    CHECK_FALSE(node.no_state());
    SECTION("by DEL") { REQUIRE(node.del(node.config)); }
    SECTION("by the ADD of another pod") {
      node.container = "c2";
      const auto other = node.add(node.config);
      INFO((other ? "" : other.error().text));
      REQUIRE(other);
      REQUIRE(node.del(node.config));
      node.container = "c1";
      REQUIRE(node.del(node.config));
    }
  }
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.no_state());
}

TEST_CASE("an ADD that is killed anywhere takes back its device and never the pod's own interface") {
  const std::string kind = GENERATE(as<std::string>(), "macvlan", "dummy");
  CAPTURE(kind);
  for (int call = 1;; ++call) {
    Twins node(kind);
    node.world.forget_faults();
    node.world.kill_call(call);
    if (!killed([&] { (void)node.add(node.config); })) break;
    node.world.forget_faults();
    CAPTURE(call);
    REQUIRE(node.del(node.config));
    CHECK(node.world.snapshot() == node.before);
    CHECK(node.no_state());
  }
}

TEST_CASE("a record of an older version, which has an index before the move, is no reason to take another") {
  Twins node("macvlan");
  node.world.kill_call(Twins("macvlan").number_of("change_link"));
  REQUIRE(killed([&] { (void)node.add(node.config); }));
  node.world.forget_faults();
  const std::string path = node.dir.path("state/attachments/c1:net1.json");
  std::string text;
  std::getline(std::ifstream(path), text, '\0');
  REQUIRE(text.find("indexInPod") == std::string::npos);
  text.insert(text.rfind('}'), ",\"indexInPod\":" + std::to_string(node.world.link("mv0").index));
  std::ofstream(path) << text;
  REQUIRE(node.del(node.config));
  CHECK(node.world.snapshot() == node.before);
}

TEST_CASE("alternative names that a pod has given its interface are removed") {
  Hostile node;
  node.attach();
  const auto pod = node.world.open(kPodNetns);
  REQUIRE(pod->add_altname((*pod->find_link("net1"))->index, "somebody-elses-name"));
  SECTION("by DEL") { node.detach_well(); }
  SECTION("by DEL after the end of the namespace") {
    node.world.end_netns(kPod);
    node.detach_well("");
    node.world.add_veth(kPodNetns, "eth0");
  }
  CHECK(node.world.snapshot() == node.before);
}

}  // namespace vfrail::test
