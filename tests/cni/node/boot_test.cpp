// Which host a record is of: cni/node/boot.h.
#include "cni/node/boot.h"

#include "tests/cni/fake_node.h"

namespace vfrail::test {
using namespace cni;
namespace {

constexpr const char* kConfig = R"({"cniVersion":"1.0.0","name":"n","type":"vfrail",)"
                                R"("device":"veth0","mac":"02:00:00:00:00:42","mtu":1400})";

// An attachment of a veth, which has ended with its pod; the host has another one of its name and index.
struct SameName : FakeNode {
  SameName() {
    world.add_veth(FakeWorld::kHost, "veth0");
    const int index = world.link("veth0").index;
    world.add_veth(world.add_netns(kPod), "eth0");
    const auto added = add(kConfig);
    if (!added) FAIL(added.error().text);
    world.end_netns(kPod);
    world.add_veth(FakeWorld::kHost, "veth0");
    world.link("veth0").index = index;
    world.link("veth0").mac = *MacAddress::parse("02:00:00:00:00:99");
    before = world.snapshot();
  }
  void edit_record(const std::string& key, const Json& value) const {
    const std::string file = dir.path("state/attachments/c1:net1.json");
    Json record = *Json::parse(text("state/attachments/c1:net1.json"));
    std::ofstream(file) << record.set(key, value).pretty();
  }
  std::string before;
};

}  // namespace

TEST_CASE("a record is not of an earlier boot because it cannot be read which one this is") {
  TwoVfs node;
  const std::string before = node.world.snapshot();
  const std::string config = R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0"})";
  REQUIRE(node.add(config));
  const std::string file = node.dir.path("root/proc/sys/kernel/random/boot_id");
  std::filesystem::rename(file, file + ".away");
  const auto detached = node.del(config);
  REQUIRE_FALSE(detached);
  CHECK_THAT(detached.error().text, Catch::Contains("boot_id is not there"));
  CHECK_FALSE(node.no_state());
  std::filesystem::rename(file + ".away", file);
  REQUIRE(node.del(config));
  CHECK(node.world.snapshot() == before);
  CHECK(node.no_state());
}

TEST_CASE("a record has the namespace that the host was in") {
  SameName node;
  const auto record = Attachments(node.dir.path("state")).load({"c1", "net1"});
  REQUIRE(record);
  CHECK((*record)->host_netns == node.world.open(FakeWorld::kHost)->netns_id());
}

TEST_CASE("an interface that only has name and index of one that ended with an earlier host stays as it is") {
  SameName node;
  node.edit_record("hostNetnsId", "4:4711");
  REQUIRE(node.del(kConfig));
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.no_state());
  CHECK_FALSE(std::filesystem::exists(node.dir.path("state/baselines/netdev.veth0.json")));
}

TEST_CASE("an interface with name and index of a record's is restored, also by a record without its host") {
  SameName node;
  const bool older = GENERATE(false, true);
  CAPTURE(older);
  if (older) node.edit_record("hostNetnsId", Json());
  REQUIRE(node.del(kConfig));
  CHECK(node.world.link("veth0").mac.text() != "02:00:00:00:00:99");
  CHECK(node.no_state());
}

TEST_CASE("hardware is known by its device, so it is restored in whatever namespace the host is") {
  TwoVfs node;
  node.args.clear();
  const std::string config =
      R"({"cniVersion":"1.0.0","name":"n","type":"vfrail","deviceID":"0000:21:10.0","mtu":1400})";
  const std::string before = node.world.snapshot();
  REQUIRE(node.add(config));
  const std::string file = node.dir.path("state/attachments/c1:net1.json");
  Json record = *Json::parse(node.text("state/attachments/c1:net1.json"));
  std::ofstream(file) << record.set("hostNetnsId", "4:4711").pretty();
  const bool ended = GENERATE(false, true);
  if (ended) node.world.end_netns(kPod);
  REQUIRE(node.del(config));
  if (!ended) CHECK(node.world.snapshot() == before);
  CHECK(node.world.link("vf0").mtu == 1500);
  CHECK(node.no_state());
}

}  // namespace vfrail::test
