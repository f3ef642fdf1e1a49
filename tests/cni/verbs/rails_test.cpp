// A unit of several devices by one ADD: each rail is an attachment, and all or none of them are made.
#include "cni/verbs/rails.h"

#include "common/container/allocated_unit.h"
#include "tests/cni/fake_node.h"

#include <set>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

struct RailsNode : TrainPod {
  RailsNode() { allocate("rdma/hca", {kFirstVf, kSecondVf}); }
  void allocate(const std::string& resource, const std::vector<std::string>& devices) const {
    AllocatedUnit unit{"bundle-0", resource, {}};
    for (const std::string& device : devices) unit.devices.push_back(*DeviceId::parse(device));
    REQUIRE(write_allocated_unit(dir.path("run"), unit));
  }
  static std::string config(const std::string& more = "", const std::string& device = "bundle-0") {
    return R"({"cniVersion":"1.0.0","name":"rails","type":"vfrail","deviceID":")" + device +
           R"(","pciBusID":")" + device + R"(","ipam":{"type":"fake-ipam"})" + more + "}";
  }
  OwnWorlds worlds() {
    return {[this](const std::string&, const std::function<Result<>(World&)>& work) { return process(work); },
            false};  // the fake kernel is for one thread
  }
  Result<> add(const std::string& text = config()) {
    return process([&](World& outside) {
      outside.print_result = [this](const AddResult& result) {
        printed = format_result(result);
        return print_fails ? Result<>(Error{Errc::system, 0, "the runtime is gone"}) : Result<>();
      };
      return add_rails(request(Command::add, text), outside, worlds());
    });
  }
  Result<> del(const std::string& text = config()) {
    return process([&](World& outside) { return del_rails(request(Command::del, text), outside, worlds()); });
  }
  Result<> check(const std::string& text) {
    return process(
        [&](World& outside) { return check_rails(request(Command::check, text), outside, worlds()); });
  }
  std::string refusal(const std::string& text) {
    const std::string before = everything();
    const auto added = add(text);
    REQUIRE_FALSE(added);
    CHECK(everything() == before);
    return added.error().text;
  }
  Link in_pod(const std::string& name) {
    const auto pod = world.open_path(kPod);
    const auto link = (*pod)->find_link(name);
    REQUIRE(link);
    REQUIRE(*link);
    return **link;
  }
  std::string everything() const {
    std::string out = world.snapshot();
    for (const char* folder : {"state/attachments", "state/devices", "leases", "run/pods"}) {
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(dir.path(folder), none))
        out += entry.path().string() + "\n";
    }
    return out;
  }

  Json printed;
  bool print_fails = false;
};

std::string with(const Json& prev_result) { return R"(,"prevResult":)" + prev_result.text(); }

}  // namespace

TEST_CASE("one ADD attaches every device of the unit, and one DEL restores them all") {
  RailsNode node;
  const std::string before = node.everything();
  REQUIRE(node.add());
  CHECK(node.in_pod("net1").parent_device == kFirstVf);
  CHECK(node.in_pod("net1r1").parent_device == kSecondVf);
  const Json& interfaces = *node.printed.find("interfaces");
  REQUIRE(interfaces.as_array()->size() == 2);
  CHECK(*(*interfaces.as_array())[1].find("name") == Json("net1r1"));
  const Json& ips = *node.printed.find("ips");
  REQUIRE(ips.as_array()->size() == 2);
  CHECK(*(*ips.as_array())[1].find("interface") == Json(1));
  CHECK(fs::exists(node.dir.path("leases/c1.net1r1")));
  CHECK_THAT(node.text("run/pods/c1/nccl.conf"), Contains("NCCL_IB_HCA==mlx5_0:1,mlx5_1:1"));
  REQUIRE(node.del());
  CHECK(node.everything() == before);
}

TEST_CASE("CHECK holds for all rails, and names the one that differs") {
  RailsNode node;
  REQUIRE(node.add());
  const std::string text = RailsNode::config(with(node.printed));
  CHECK(node.check(text));
  const auto pod = node.world.open_path(kPod);
  REQUIRE((*pod)->change_link(node.in_pod("net1r1").index, {.up = false}));
  const auto checked = node.check(text);
  REQUIRE_FALSE(checked);
  CHECK_THAT(checked.error().text, Contains("net1r1 is down") && !Contains("net1 is down"));
}

TEST_CASE("a unit of which one rail cannot be attached is not attached at all") {
  RailsNode node;
  node.allocate("rdma/hca", {kFirstVf, "0000:21:1f.7"});
  CHECK_THAT(node.refusal(RailsNode::config()), Contains("rail 1 (net1r1, 0000:21:1f.7)"));
  node.allocate("rdma/hca", {kFirstVf, kSecondVf});
  node.print_fails = true;
  CHECK_THAT(node.refusal(RailsNode::config()), Contains("the runtime is gone"));
}

TEST_CASE("an ADD of a unit that is attached already changes nothing") {
  RailsNode node;
  REQUIRE(node.add());
  const std::string before = node.everything();
  const auto again = node.add();
  REQUIRE_FALSE(again);
  CHECK(again.error().code == Errc::exists);
  CHECK(node.everything() == before);
}

TEST_CASE("each rail has the addresses, names and routing table that the network sets for it") {
  RailsNode node;
  node.install_ipam("shows",
                    "cat > $node/asked.$CNI_IFNAME; [ $CNI_COMMAND != ADD ] || echo "
                    R"('{"cniVersion":"1.0.0","ips":[{"address":"10.9.0.2/24","gateway":"10.9.0.1"}]}')");
  REQUIRE(node.add(RailsNode::config(
      R"(,"IPAM":{"type":"shows","range":"10.9.0.0/24","log":"x"},"sourceRouting":true,"rdmaName":"rdmaRAIL")"
      R"(,"runtimeConfig":{"deviceID":"bundle-0"})"
      R"(,"rails":{"ifname":"railRAIL","ipam":[{"range":"10.1.0.0/16"},{"range":"10.2.0.0/16"},{}]})")));
  CHECK(node.in_pod("rail1").parent_device == kSecondVf);
  CHECK_THAT(node.text("asked.net1"), Contains("10.1.0.0/16") && Contains(R"("log":"x")"));
  CHECK_THAT(node.text("asked.rail1"), Contains("10.2.0.0/16") && Contains(R"("log":"x")"));
  CHECK_THAT(node.text("asked.rail1"), Contains(kSecondVf) && !Contains("bundle-0"));
  CHECK(node.has("rdma0"));
  CHECK(node.has("rdma1"));
  std::set<uint32_t> tables;
  for (const IfName& name : {IfName("net1"), IfName("rail1")}) {
    const auto record = node.process([&](World& one) { return *one.store.load({node.container, name}); });
    REQUIRE(record);
    tables.insert(record->routing_table.value());
    CHECK(record->rail_of == "net1");
  }
  CHECK(tables == std::set<uint32_t>{100, 101});
}

TEST_CASE("what several interfaces cannot share is refused by its key") {
  RailsNode node;
  const std::string two = R"(,"rails":{"ipam":[{}]})";
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"mac":"02:00:00:00:00:07")")),
             Contains("mac: the unit has 2"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"rdmaName":"rdma")")),
             Contains("rdmaName") && Contains("RAIL"));
  CHECK_THAT(node.refusal(RailsNode::config(two)),
             Contains("rails.ipam: it has 1 entries, the unit has 2 rails"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"rails":{"ifname":"a-much-longer-name-RAIL"})")),
             Contains("rails.ifname"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"rails":{"ifname":"net2"})")), Contains("RAIL"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"rails":{"ipams":[]})")), Contains("rails.ipams"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"prevResult":{"cniVersion":"1.0.0"})")),
             Contains("first of its chain"));
  CHECK_THAT(node.refusal(RailsNode::config(R"(,"ipam":{"type":"static"})")), Contains("rails.ipam: static"));
  node.args = "MAC=02:00:00:00:00:07";
  CHECK_THAT(node.refusal(RailsNode::config()), Contains("mac: the unit has 2"));
}

TEST_CASE(
    "a unit that the device plugin has not allocated, or two resources have, is refused with the remedy") {
  RailsNode node;
  CHECK_THAT(node.refusal(RailsNode::config("", "bundle-7")),
             Contains("bundle-7 are not known") && Contains("Delete the pod"));
  CHECK(node.del(RailsNode::config("", "bundle-7")));
  node.allocate("rdma/other", {kSecondVf});
  CHECK_THAT(node.refusal(RailsNode::config()), Contains("rdma/hca and of rdma/other") && Contains("rails"));
  REQUIRE(node.add(RailsNode::config(R"(,"rails":{"resource":"rdma/other"})")));
  CHECK(node.in_pod("net1").parent_device == kSecondVf);
}

TEST_CASE("DEL restores the recorded rails when neither the unit nor the configuration is known any more") {
  RailsNode node;
  const std::string before = node.everything();
  REQUIRE(node.add());
  fs::remove_all(node.dir.path("run/promised"));
  const std::string text =
      GENERATE(as<std::string>(), RailsNode::config(), R"({"name":"x","type":"vfrail","cniVersion":"1.0.0"})",
               R"({"name":"rails","type":"vfrail","mtu":"wrong","ipam":{"type":"fake-ipam"}})");
  CAPTURE(text);
  CHECK(may_have_rails(node.request(Command::del, text)));
  REQUIRE(node.del(text));
  CHECK(node.everything() == before);
  CHECK_FALSE(may_have_rails(node.request(Command::del, RailsNode::config("", kFirstVf))));
}

TEST_CASE("a rail's record that is larger than any record is quarantined, as one that is damaged") {
  RailsNode node;
  REQUIRE(node.add());
  std::ofstream(node.dir.path("state/attachments/c1:net1r1.json")) << std::string(kMaxRecordBytes + 1, ' ');
  REQUIRE(node.del());
  CHECK_FALSE(node.has("net1"));
  CHECK_FALSE(node.has("net1r1"));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net1r1.corrupt")));
}

TEST_CASE("a DEL that fails for one rail restores the others, and completes when it is repeated") {
  RailsNode node;
  const std::string before = node.everything();
  REQUIRE(node.add());
  node.install_ipam("fake-ipam",
                    "[ $CNI_IFNAME = net1 ] || exit 3\nrm -f $node/leases/$CNI_CONTAINERID.$CNI_IFNAME");
  const auto failed = node.del();
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().text, Contains("net1r1: "));
  CHECK_FALSE(node.has("net1r1"));
  node.install_lease_ipam("fake-ipam", "{}");
  REQUIRE(node.del());
  CHECK(node.everything() == before);
}

TEST_CASE("GC keeps the rails of a valid attachment, and releases those of another") {
  RailsNode node;
  const std::string before = node.everything();
  REQUIRE(node.add());
  const std::string during = node.everything();
  const auto gc = [&](const std::string& valid) {
    const std::string text =
        R"({"cniVersion":"1.1.0","name":"rails","type":"vfrail","cni.dev/valid-attachments":[)" + valid +
        "]}";
    return node.process(
        [&](World& outside) { return vfrail::cni::gc(node.request(Command::gc, text), outside); });
  };
  REQUIRE(gc(R"({"containerID":"c1","ifname":"net1"})"));
  CHECK(node.everything() == during);
  REQUIRE(gc(R"({"containerID":"c2","ifname":"net1"})"));
  CHECK(node.everything() == before);
}

TEST_CASE("GC's list for the IPAM plugin has the rails of valid attachments") {
  RailsNode node;
  REQUIRE(node.add());
  node.install_ipam("fake-ipam", "cat > $node/asked.$CNI_COMMAND");
  const auto gc = [&](const std::string& container) {
    const std::string text = RailsNode::config(R"(,"cni.dev/valid-attachments":[{"containerID":")" +
                                                   container + R"(","ifname":"net1"}],"cniVersion":"1.1.0")",
                                               kFirstVf);
    return node.process(
        [&](World& outside) { return vfrail::cni::gc(node.request(Command::gc, text), outside); });
  };
  REQUIRE(gc("c1"));
  CHECK_THAT(node.text("asked.GC"),
             Contains(R"("ifname":"net1"})") && Contains(R"({"containerID":"c1","ifname":"net1r1"})"));
  REQUIRE(gc("c2"));
  CHECK_THAT(node.text("asked.GC"), !Contains("net1r1"));
}

TEST_CASE("DEL releases the address of a rail whose record is damaged, when the unit is not known any more") {
  RailsNode node;
  REQUIRE(node.add(RailsNode::config(R"(,"rails":{"ipam":[{"range":"a"},{"range":"b"}]})")));
  fs::remove_all(node.dir.path("run/promised"));
  std::ofstream(node.dir.path("state/attachments/c1:net1r1.json")) << "{ torn";
  std::ofstream(node.dir.path("state/attachments/c1:net2.json")) << "{ torn";
  node.install_ipam("fake-ipam",
                    "cat > $node/asked.$CNI_IFNAME\nrm -f $node/leases/$CNI_CONTAINERID.$CNI_IFNAME");
  REQUIRE(node.del(RailsNode::config(R"(,"rails":{"ipam":[{"range":"a"},{"range":"b"}]})")));
  CHECK(fs::is_empty(node.dir.path("leases")));
  CHECK_THAT(node.text("asked.net1r1"), Contains(R"("range":"b")"));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net1r1.corrupt")));
  CHECK(fs::exists(node.dir.path("state/attachments/c1:net2.json")));  // of another network
}

TEST_CASE("an ADD of a unit that is killed at any call of the kernel is undone by its DEL", "[sweep]") {
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    CAPTURE(call);
    RailsNode node;
    const std::string before = node.everything();
    node.world.forget_faults();
    node.world.kill_call(call);
    const bool died = killed([&] { (void)node.add(); });
    node.world.forget_faults();
    REQUIRE(node.del());
    REQUIRE(node.everything() == before);
    if (!died) break;
  }
  CHECK(points > 20);
}

TEST_CASE("an ADD of a unit in which any call of the kernel fails leaves nothing", "[sweep]") {
  int points = 0;
  for (int call = 1;; ++call, ++points) {
    CAPTURE(call);
    RailsNode node;
    const std::string before = node.everything();
    node.world.forget_faults();
    node.world.fail_call(call, EIO, FakeWorld::When::before);
    const auto added = node.add();
    const bool reached = node.world.calls() >= call;
    node.world.forget_faults();
    if (added) REQUIRE(node.del());
    REQUIRE(node.everything() == before);
    if (!reached) break;
  }
  CHECK(points > 20);
}

TEST_CASE("Of two units that share devices one is attached: the second waits for the devices of the first") {
  RailsNode node;
  node.allocate("rdma/hca", {kSecondVf, kFirstVf});
  const std::string before = node.everything();
  // An ADD of another pod, whose unit has the same devices in the opposite order, holds the first of them.
  fs::create_directories(node.dir.path("locks"));
  std::optional<FileLock> other;
  other.emplace(*FileLock::acquire(node.dir.path(std::string("locks/rail:") + kFirstVf), {}));
  const auto refused = node.add();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::busy);
  CHECK_THAT(refused.error().text, Contains(kFirstVf));
  CHECK(node.everything() == before);
  // Not yet its second one: both take them in one order.
  CHECK_FALSE(fs::exists(node.dir.path(std::string("locks/rail:") + kSecondVf)));
  other.reset();
  REQUIRE(node.add());
  CHECK(fs::is_empty(node.dir.path("locks")));
  REQUIRE(node.del());
}

}  // namespace vfrail::test
